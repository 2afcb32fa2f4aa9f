"""The lists that people page through, and the sessions they make and put away."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import BigInteger, Connection, Select, bindparam, cast, func, insert, literal_column, select, update

from agent.domain import Address, Approval, Entry, Task
from agent.errors import NotFound
from agent.ports.listings import (
    ApprovalSelection,
    ListedSession,
    SessionSelection,
    TaskMark,
    TaskSelection,
    UsageSelection,
    UsageSum,
)
from storage.columns import EPOCH, MICROSECOND, Usd
from storage.store import rows
from storage.store.state import cards
from storage.tables import approvals, journal, sessions, tasks, usage

QUARTER = 15 * 60 * 1_000_000
"""Microseconds. Every time zone in use today is a multiple of a quarter of an hour away from UTC."""
ONE_TASK = select(*rows.TASK).where(tasks.c.task_id == bindparam("task"))
MARKS = select(tasks.c.task_id, tasks.c.entries, tasks.c.status).where(
    tasks.c.task_id.in_(bindparam("tasks", expanding=True))
)
LATER = (
    select(journal)
    .where(journal.c.task_id == bindparam("task"), journal.c.seq > bindparam("after"))
    .order_by(journal.c.seq)
)
SESSION_ROW = select(sessions.c.session_id, *rows.SESSION)
ONE_SESSION = SESSION_ROW.where(sessions.c.session_id == bindparam("of_session"))
LAST_TASKS = select(*rows.TASK).where(
    tasks.c.task_id.in_(
        select(func.max(tasks.c.task_id))
        .where(tasks.c.session_id.in_(bindparam("of_sessions", expanding=True)))
        .group_by(tasks.c.session_id)
    )
)
EARLIER = approvals.alias()
CARD_NUMBERS = (
    select(approvals.c.approval_id, func.count().label("number"))
    .join(EARLIER, (EARLIER.c.task_id == approvals.c.task_id) & (EARLIER.c.approval_id <= approvals.c.approval_id))
    .where(approvals.c.approval_id.in_(bindparam("cards", expanding=True)))
    .group_by(approvals.c.approval_id)
)
NEW_SESSION = insert(sessions).returning(sessions.c.session_id)
THIS_SESSION = update(sessions).where(sessions.c.session_id == bindparam("of_session"))
SUMS = (
    func.count().label("calls"),
    func.sum(usage.c.input_tokens).label("input_tokens"),
    func.sum(usage.c.output_tokens).label("output_tokens"),
    func.sum(usage.c.cached_tokens).label("cached_tokens"),
    func.sum(func.coalesce(usage.c.cost_usd, literal_column("0")), type_=Usd).label("cost_usd"),
    (func.count() - func.count(usage.c.cost_usd)).label("unpriced"),
)


def task(connection: Connection, task_id: int) -> Task:
    row = connection.execute(ONE_TASK, {"task": task_id}).first()
    if row is None:
        raise NotFound(f"There is no task {task_id}.")
    return rows.task(row)


def newest_tasks(connection: Connection, limit: int, before: int | None, which: TaskSelection) -> list[Task]:
    query = _page(select(*rows.TASK), tasks.c.task_id, limit, before)
    for column, wanted in (
        (tasks.c.status, which.status),
        (tasks.c.session_id, which.session_id),
        (tasks.c.origin, which.origin),
        (tasks.c.requester, which.requester),
    ):
        if wanted is not None:
            query = query.where(column == wanted)
    if which.workspaces is not None:
        query = query.where(tasks.c.workspace.in_(which.workspaces))
    return [rows.task(row) for row in connection.execute(query)]


def task_marks(connection: Connection, task_ids: Collection[int]) -> dict[int, TaskMark]:
    found = connection.execute(MARKS, {"tasks": list(task_ids)})
    return {row.task_id: TaskMark(entries=row.entries, status=row.status) for row in found}


def entries_after(connection: Connection, task_id: int, after: int) -> list[Entry]:
    return [rows.entry(row) for row in connection.execute(LATER, {"task": task_id, "after": after})]


def session(connection: Connection, session_id: int) -> ListedSession:
    found = connection.execute(ONE_SESSION, {"of_session": session_id}).all()
    if not found:
        raise NotFound(f"There is no conversation {session_id}.")
    return _listed(connection, found)[0]


def newest_sessions(
    connection: Connection, limit: int, before: int | None, which: SessionSelection
) -> list[ListedSession]:
    query = _page(SESSION_ROW, sessions.c.session_id, limit, before).where(sessions.c.archived.is_(which.archived))
    if which.workspaces is not None:
        query = query.where(sessions.c.workspace.in_(which.workspaces))
    if which.channel is not None:
        query = query.where(sessions.c.channel == which.channel)
    if which.conversation is not None:
        query = query.where(sessions.c.conversation == which.conversation)
    if which.thread is not None:
        query = query.where(sessions.c.thread == which.thread)
    return _listed(connection, connection.execute(query).all())


def new_session(connection: Connection, address: Address, workspace: str, title: str) -> int:
    values = {
        "channel": address.channel,
        "conversation": address.conversation,
        "thread": address.thread or "",
        "workspace": workspace,
        "title": title,
        "last_seq": 0,
    }
    session_id: int = connection.execute(NEW_SESSION, values).scalar_one()
    return session_id


def change_session(connection: Connection, session_id: int, **wanted: str | bool | None) -> None:
    changes = {name: value for name, value in wanted.items() if value is not None}
    if changes and not connection.execute(THIS_SESSION.values(changes), {"of_session": session_id}).rowcount:
        raise NotFound(f"There is no conversation {session_id}.")


def newest_approvals(
    connection: Connection, limit: int, before: int | None, which: ApprovalSelection
) -> list[Approval]:
    query = _page(select(approvals), approvals.c.approval_id, limit, before)
    if which.status is not None:
        query = query.where(approvals.c.status == which.status)
    if which.workspaces is not None:
        query = query.join(tasks, tasks.c.task_id == approvals.c.task_id)
        query = query.where(tasks.c.workspace.in_(which.workspaces))
    return cards(connection, query, {})


def card_numbers(connection: Connection, approval_ids: Collection[int]) -> dict[int, int]:
    found = connection.execute(CARD_NUMBERS, {"cards": list(approval_ids)})
    return {row.approval_id: row.number for row in found}


def usage_by(connection: Connection, column: str, which: UsageSelection) -> dict[str, UsageSum]:
    key = usage.c[column]
    query = _usage(select(key.label("key"), *SUMS).group_by(key).order_by(key), which)
    return {row.key: _sum(row) for row in connection.execute(query)}


def usage_by_quarter(connection: Connection, which: UsageSelection) -> dict[datetime, UsageSum]:
    # Integer division of both engines; the column's own type would bind the divisor as a time.
    quarter = (cast(usage.c.at, BigInteger).op("/")(literal_column(str(QUARTER)))).label("quarter")
    query = _usage(select(quarter, *SUMS).group_by(quarter).order_by(quarter), which)
    return {EPOCH + row.quarter * QUARTER * MICROSECOND: _sum(row) for row in connection.execute(query)}


def _usage(query: Select[Any], which: UsageSelection) -> Select[Any]:
    query = query.where(usage.c.at >= which.since, usage.c.at < which.until)
    if which.workspaces is None:
        return query
    return query.join(tasks, tasks.c.task_id == usage.c.task_id).where(tasks.c.workspace.in_(which.workspaces))


def _sum(row: rows.AnyRow) -> UsageSum:
    """PostgreSQL adds integers up to a numeric."""
    return UsageSum(
        calls=row.calls,
        input_tokens=int(row.input_tokens),
        output_tokens=int(row.output_tokens),
        cached_tokens=int(row.cached_tokens),
        cost_usd=row.cost_usd,
        unpriced=row.unpriced,
    )


def _page(query: Select[Any], key: Any, limit: int, before: int | None) -> Select[Any]:
    query = query.order_by(key.desc()).limit(limit)
    return query if before is None else query.where(key < before)


def _listed(connection: Connection, found: Sequence[rows.AnyRow]) -> list[ListedSession]:
    """With the newest task of each."""
    if not found:
        return []
    newest = connection.execute(LAST_TASKS, {"of_sessions": [row.session_id for row in found]})
    last = {row.session_id: rows.task(row) for row in newest}
    return [ListedSession(session=rows.session(row), last_task=last.get(row.session_id)) for row in found]
