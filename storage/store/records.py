"""The rows that hang on a task: journal, calls, cards, artifacts, deliveries, usage."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from functools import cache

import orjson
from sqlalchemy import Boolean, Connection, Executable, bindparam, case, func, insert, select, update

from agent.domain import Call, Entry, Usage
from agent.ports.store import ApprovalChange, CallChange, NewApproval, NewArtifact, NewDelivery, Step
from storage.columns import Json, Prose, UtcTime
from storage.doorbell import ring
from storage.store.access import record_act
from storage.store.upserts import upsert
from storage.tables import approvals, artifacts, calls, deliveries, journal, received, sessions, tasks, usage

NEW_ENTRY = insert(journal)
NEW_CALL = insert(calls)
NEW_CARD = insert(approvals).returning(approvals.c.approval_id)
NEW_USAGE = insert(usage)
NEW_EVENT = insert(received)
THIS_CALL = update(calls).where(calls.c.task_id == bindparam("of_task"), calls.c.call_id == bindparam("of_call"))
ON_CARD = THIS_CALL.values(approval_id=bindparam("card"), item=bindparam("number"))
CALL_CHANGED = THIS_CALL.values(
    status=bindparam("new_status"),
    reason=func.coalesce(bindparam("new_reason", type_=Prose), calls.c.reason),
    decided_by=func.coalesce(bindparam("by"), calls.c.decided_by),
    title=func.coalesce(bindparam("new_title", type_=Prose), calls.c.title),
    preview=func.coalesce(bindparam("new_preview", type_=Prose), calls.c.preview),
    targets=func.coalesce(bindparam("new_targets", type_=Json), calls.c.targets),
    rule=func.coalesce(bindparam("new_rule", type_=Json), calls.c.rule),
    votes=func.coalesce(bindparam("new_votes", type_=Json), calls.c.votes),
    arguments=func.coalesce(bindparam("new_arguments", type_=Prose), calls.c.arguments),
    sha256=func.coalesce(bindparam("new_sha256"), calls.c.sha256),
    original=func.coalesce(bindparam("new_original", type_=Prose), calls.c.original),
    edited_by=func.coalesce(bindparam("new_edited_by"), calls.c.edited_by),
)
THIS_CARD = approvals.c.task_id == bindparam("of_task"), approvals.c.approval_id == bindparam("card")
CARD_CHANGED = (
    update(approvals)
    .where(*THIS_CARD)
    .values(
        status=bindparam("new_status"),
        decided_by=func.coalesce(bindparam("by"), approvals.c.decided_by),
        decided_at=func.coalesce(bindparam("moment", type_=UtcTime), approvals.c.decided_at),
        revision=approvals.c.revision + bindparam("more"),
        remind_at=case((bindparam("reminded", type_=Boolean), None), else_=approvals.c.remind_at),
    )
)
KEPT = select(approvals.c.kept).where(*THIS_CARD)
KEEP = update(approvals).where(*THIS_CARD).values(kept=bindparam("all_kept", type_=Json))
FETCHED = (
    update(tasks)
    .where(tasks.c.task_id == bindparam("of_task"))
    .values(files=bindparam("paths", type_=Json), awaited_files=())
)
LAST_VERSION = (
    select(func.coalesce(func.max(artifacts.c.version), 0))
    .where(artifacts.c.session_id == bindparam("of_session"), artifacts.c.path == bindparam("of_path"))
    .scalar_subquery()
)
NEW_ARTIFACT = insert(artifacts).values(version=LAST_VERSION + 1)
NEW_WINDOW = (
    update(sessions)
    .where(sessions.c.session_id == bindparam("of_session"))
    .values(whole_from=bindparam("whole"), summary_from=bindparam("summary"))
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Owner:
    """What the rows of a step are filed under."""

    task_id: int
    session_id: int
    requester: str
    first_seq: int
    now: datetime


def record(connection: Connection, owner: Owner, step: Step) -> None:
    """Write everything of a step but the task's own row."""
    if step.entries:
        _entries(connection, owner, step.entries)
    if step.new_calls:
        _calls(connection, owner, step.new_calls)
    if step.call_changes:
        _call_changes(connection, owner, step.call_changes)
    card = _card(connection, owner, step.approval) if step.approval else None
    if step.approval_changes:
        _card_changes(connection, owner, step.approval_changes)
    for artifact in step.artifacts:
        _artifact(connection, owner, artifact)
    if step.usage:
        _usage(connection, owner, step.usage)
    if step.deliveries:
        deliver(connection, step.deliveries, owner.now, task_id=owner.task_id, card=card)
    _event(connection, owner, step)
    if step.files is not None:
        connection.execute(FETCHED, {"of_task": owner.task_id, "paths": step.files})
    _window(connection, owner, step.window)


def _event(connection: Connection, owner: Owner, step: Step) -> None:
    if step.received:
        event = replace(step.received, task_id=owner.task_id, session_id=owner.session_id)
        connection.execute(NEW_EVENT, asdict(event))
    if step.audit:
        record_act(connection, step.audit)


def _window(connection: Connection, owner: Owner, window: tuple[int, int] | None) -> None:
    if window is not None:
        whole, summary = window
        connection.execute(NEW_WINDOW, {"of_session": owner.session_id, "whole": whole, "summary": summary})


def _entries(connection: Connection, owner: Owner, entries: Sequence[Entry]) -> None:
    connection.execute(
        NEW_ENTRY,
        [
            {
                "task_id": owner.task_id,
                "seq": seq,
                "kind": entry.kind,
                "data": orjson.dumps(entry.data).decode(),
                "at": entry.at or owner.now,
            }
            for seq, entry in enumerate(entries, owner.first_seq)
        ],
    )


def _calls(connection: Connection, owner: Owner, new: Sequence[Call]) -> None:
    connection.execute(
        NEW_CALL,
        [{column.name: getattr(call, column.name) for column in calls.c} | {"task_id": owner.task_id} for call in new],
    )


def _call_changes(connection: Connection, owner: Owner, changes: Sequence[CallChange]) -> None:
    connection.execute(
        CALL_CHANGED,
        [
            {
                "of_task": owner.task_id,
                "of_call": change.call_id,
                "new_status": change.status,
                "new_reason": change.reason,
                "by": change.decided_by,
                "new_title": change.title,
                "new_preview": change.preview,
                "new_targets": change.targets,
                "new_rule": change.rule,
                "new_votes": change.votes,
                "new_arguments": change.arguments,
                "new_sha256": change.sha256,
                "new_original": change.original,
                "new_edited_by": change.edited_by,
            }
            for change in changes
        ],
    )


def _card(connection: Connection, owner: Owner, new: NewApproval) -> int:
    values = {
        "task_id": owner.task_id,
        "token": new.token,
        "kind": new.kind,
        "status": "open",
        "call_ids": new.call_ids,
        "note": new.note,
        "created_at": owner.now,
        "expires_at": new.expires_at,
        "shown_at": new.shown_at,
        "remind_at": new.remind_at,
    }
    card: int = connection.execute(NEW_CARD, values).scalar_one()
    connection.execute(
        ON_CARD,
        [
            {"of_task": owner.task_id, "of_call": call_id, "card": card, "number": number}
            for number, call_id in enumerate(new.call_ids, 1)
        ],
    )
    return card


def _card_changes(connection: Connection, owner: Owner, changes: Sequence[ApprovalChange]) -> None:
    connection.execute(
        CARD_CHANGED,
        [
            {
                "of_task": owner.task_id,
                "card": change.approval_id,
                "new_status": change.status,
                "by": change.decided_by,
                "moment": change.decided_at,
                "more": int(change.revised),
                "reminded": change.reminded,
            }
            for change in changes
        ],
    )
    for change in changes:
        if change.kept:
            card = {"of_task": owner.task_id, "card": change.approval_id}
            kept = [*connection.execute(KEPT, card).scalar_one(), *change.kept]
            connection.execute(KEEP, {**card, "all_kept": kept})


def _artifact(connection: Connection, owner: Owner, new: NewArtifact) -> None:
    connection.execute(
        NEW_ARTIFACT,
        {
            "task_id": owner.task_id,
            "session_id": owner.session_id,
            "name": new.name,
            "path": new.path,
            "media_type": new.media_type,
            "size_bytes": new.size_bytes,
            "sha256": new.sha256,
            "created_at": owner.now,
            "of_session": owner.session_id,
            "of_path": new.path,
        },
    )


def _usage(connection: Connection, owner: Owner, used: Sequence[Usage]) -> None:
    connection.execute(
        NEW_USAGE,
        [
            {
                "task_id": owner.task_id,
                "requester": owner.requester,
                "at": owner.now,
                "model": one.model,
                "kind": one.kind,
                "input_tokens": one.input_tokens,
                "output_tokens": one.output_tokens,
                "cached_tokens": one.cached_tokens,
                "cost_usd": one.cost_usd,
            }
            for one in used
        ],
    )


def deliver(
    connection: Connection,
    new: Sequence[NewDelivery],
    now: datetime,
    *,
    task_id: int | None = None,
    card: int | None = None,
) -> None:
    """Put into the outbox. Cards and settles without an approval of their own speak of `card`, which the step made."""
    connection.execute(
        _new_delivery(connection.dialect.name),
        [
            {
                "task_id": task_id,
                "kind": delivery.kind,
                "channel": delivery.to.channel,
                "conversation": delivery.to.conversation,
                "thread": delivery.to.thread or "",
                "text": delivery.text,
                "approval_id": delivery.approval_id or (card if delivery.kind in {"approval", "settle"} else None),
                "dedup_key": delivery.dedup_key,
                "status": "sent" if delivery.collected else "pending",
                "next_attempt_at": now,
                "expires_at": delivery.expires_at,
            }
            for delivery in new
        ],
    )
    if not all(delivery.collected for delivery in new):
        ring(connection, "outbox")


@cache
def _new_delivery(dialect: str) -> Executable:
    """A key that is there already has its delivery."""
    return upsert(dialect, deliveries).on_conflict_do_nothing(index_elements=["dedup_key"])
