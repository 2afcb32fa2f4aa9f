"""The reads behind commands, pages, cards and budgets."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal

from sqlalchemy import Connection, bindparam, func, select

from agent.domain import Address, Approval, Artifact
from agent.errors import NotFound
from agent.ports.store import TaskOutcome
from storage.columns import Usd, UtcTime
from storage.store import rows
from storage.store.state import ONE_TASK, cards
from storage.tables import ACTIVE, LIVE, UNDECIDED, approvals, artifacts, sessions, tasks, usage

BY_ID = select(approvals).where(approvals.c.approval_id == bindparam("card"))
BY_TOKEN = select(approvals).where(approvals.c.token == bindparam("card_token"))
UNDECIDED_CARDS = select(approvals).where(UNDECIDED)
OPEN_OF_TASK = UNDECIDED_CARDS.where(approvals.c.task_id == bindparam("task")).order_by(approvals.c.approval_id)
NOW = bindparam("now", type_=UtcTime)
# In the order of an index of open cards: by id, SQLite would look at every card there ever was.
LATE_CARDS = UNDECIDED_CARDS.where(approvals.c.expires_at <= NOW).order_by(approvals.c.expires_at).limit(1_000)
REMINDABLE_CARDS = UNDECIDED_CARDS.where(approvals.c.remind_at <= NOW).order_by(approvals.c.remind_at).limit(1_000)
CARDS_AT = (
    UNDECIDED_CARDS.join_from(approvals, tasks)
    .join(sessions, sessions.c.session_id == tasks.c.session_id)
    .where(
        LIVE,
        ACTIVE,
        sessions.c.channel == bindparam("to_channel"),
        sessions.c.conversation == bindparam("to_conversation"),
        sessions.c.thread == bindparam("to_thread"),
    )
    .order_by(approvals.c.approval_id)
)
OF_TASK = select(*rows.ARTIFACT).where(artifacts.c.task_id == bindparam("task")).order_by(artifacts.c.artifact_id)
ONE_ARTIFACT = select(*rows.ARTIFACT).where(artifacts.c.artifact_id == bindparam("artifact"))
KNOWN_COST = func.sum(usage.c.cost_usd, type_=Usd)
SPENT = select(KNOWN_COST).where(usage.c.at >= bindparam("since", type_=UtcTime))
SPENT_BY = SPENT.where(usage.c.requester == bindparam("who"))
COST = select(KNOWN_COST, func.count(), func.count(usage.c.cost_usd)).where(usage.c.task_id == bindparam("task"))


def find_approval(connection: Connection, approval_id: int | None, token: str | None) -> Approval:
    if token is not None:
        found = cards(connection, BY_TOKEN, {"card_token": token})
    else:
        found = cards(connection, BY_ID, {"card": approval_id})
    if not found:
        raise NotFound(f"There is no approval {approval_id}." if token is None else "There is no such card.")
    return found[0]


def expired_approvals(connection: Connection, now: datetime) -> list[Approval]:
    return cards(connection, LATE_CARDS, {"now": now})


def approvals_to_remind(connection: Connection, now: datetime) -> list[Approval]:
    return cards(connection, REMINDABLE_CARDS, {"now": now})


def waiting(connection: Connection, address: Address) -> Approval | None:
    """A session has one task at a time that can wait, and that has one open card."""
    place = {"to_channel": address.channel, "to_conversation": address.conversation, "to_thread": address.thread or ""}
    found = cards(connection, CARDS_AT, place)
    return found[-1] if found else None


def outcome(connection: Connection, task_id: int) -> TaskOutcome:
    row = connection.execute(ONE_TASK, {"task": task_id}).first()
    if row is None:
        raise NotFound(f"There is no task {task_id}.")
    return TaskOutcome(
        task=rows.task(row),
        address=rows.session(row).address,
        approvals=tuple(cards(connection, OPEN_OF_TASK, {"task": task_id})),
        artifacts=tuple(newest_artifacts(connection, task_id)),
        cost_usd=cost_usd(connection, task_id),
    )


def newest_artifacts(connection: Connection, task_id: int) -> list[Artifact]:
    made = [rows.artifact(row) for row in connection.execute(OF_TASK, {"task": task_id})]
    return list({artifact.path: artifact for artifact in made}.values())


def artifact(connection: Connection, artifact_id: int) -> Artifact:
    row = connection.execute(ONE_ARTIFACT, {"artifact": artifact_id}).first()
    if row is None:
        raise NotFound(f"There is no artifact {artifact_id}.")
    return rows.artifact(row)


def spent_usd(connection: Connection, since: datetime, requester: str | None) -> Decimal:
    query, values = (SPENT, {}) if requester is None else (SPENT_BY, {"who": requester})
    spent: Decimal | None = connection.execute(query, {"since": since, **values}).scalar()
    return spent or Decimal(0)


def cost_usd(connection: Connection, task_id: int) -> Decimal | None:
    cost, model_calls, priced = connection.execute(COST, {"task": task_id}).one()
    return cost if model_calls and priced == model_calls else None
