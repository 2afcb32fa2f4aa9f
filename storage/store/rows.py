"""Rows as the nouns of the domain."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import orjson
from sqlalchemy import Row

from agent.domain import (
    Address,
    Approval,
    ApproverRule,
    Artifact,
    AwaitedFile,
    Call,
    Delivery,
    Entry,
    Hook,
    Received,
    Session,
    Target,
    Task,
)
from agent.ports.store import KeptItem
from agent.tool import digest
from storage import tables
from storage.columns import Damaged

TASK = [tables.tasks.c[name] for name in Task.__dataclass_fields__]
SESSION = [
    column.label(f"session_{column.name}")
    for column in tables.sessions.c
    if column.name not in {"session_id", "last_seq"}
]
"""A session's columns beside those of its task."""
ARTIFACT = [tables.artifacts.c[name] for name in Artifact.__dataclass_fields__]
DAMAGED = {"status": "damaged"}
AnyRow = Row[*tuple[Any, ...]]


def task(row: AnyRow) -> Task:
    """From the columns TASK."""
    return Task(
        task_id=row.task_id,
        session_id=row.session_id,
        seq=row.seq,
        origin=row.origin,
        requester=row.requester,
        reply_to=tuple(Address(**address) for address in row.reply_to),
        workspace=row.workspace,
        prompt=row.prompt,
        files=tuple(row.files),
        awaited_files=tuple(AwaitedFile(**file) for file in row.awaited_files),
        message_id=row.message_id,
        status=row.status,
        created_at=row.created_at,
        run_after=row.run_after,
        epoch=row.epoch,
        lease_owner=row.lease_owner,
        crashes=row.crashes,
        cancel_requested=row.cancel_requested,
        follow_up_of=row.follow_up_of,
        model=row.model,
        error_code=row.error_code,
        error_text=row.error_text,
        answer=row.answer,
        finished_at=row.finished_at,
    )


def session(row: AnyRow) -> Session:
    """From the columns SESSION, beside a task's."""
    return Session(
        session_id=row.session_id,
        address=Address(
            channel=row.session_channel, conversation=row.session_conversation, thread=row.session_thread or None
        ),
        workspace=row.session_workspace,
        title=row.session_title,
        model=row.session_model,
        archived=row.session_archived,
        whole_from=row.session_whole_from,
        summary_from=row.session_summary_from,
    )


def entry(row: AnyRow) -> Entry:
    """A journal row; what cannot be read is shown as damaged, and the others still are."""
    try:
        data = orjson.loads(row.data)
    except orjson.JSONDecodeError:
        data = None
    if not isinstance(data, dict):
        return Entry(kind="status", data=DAMAGED, seq=row.seq, at=row.at)
    return Entry(kind=row.kind, data=data, seq=row.seq, at=row.at)


def call(row: AnyRow) -> Call:
    fields = row._asdict()
    fields["targets"] = tuple(Target(**target) for target in row.targets)
    fields["votes"] = tuple(row.votes)
    fields["rule"] = None if row.rule is None else _rule(row.rule)
    return Call(**fields)


def _rule(stored: Any) -> ApproverRule:
    """One that cannot be read names nobody."""
    if isinstance(stored, Damaged):
        return ApproverRule()
    return ApproverRule(**stored | {"groups": tuple(tuple(group) for group in stored["groups"])})


def approval(row: AnyRow, calls: Iterable[Call]) -> Approval:
    """With its items out of the task's calls, in the order of the card; those it keeps as it showed them."""
    fields = row._asdict()
    by_id = {item.call_id: item for item in calls}
    kept = {item.call_id: item for item in (KeptItem(**item) for item in fields.pop("kept"))}
    fields["items"] = tuple(
        _as_shown(by_id[call_id], kept[call_id], row.approval_id, number) if call_id in kept else by_id[call_id]
        for number, call_id in enumerate(fields.pop("call_ids"), 1)
        if call_id in by_id
    )
    fields["shown_at"] = tuple(Address(**address) for address in row.shown_at)
    return Approval(**fields)


def _as_shown(now: Call, kept: KeptItem, approval_id: int, number: int) -> Call:
    return replace(
        now,
        arguments=kept.arguments,
        sha256=digest(now.tool, kept.arguments),
        title=kept.title,
        preview=kept.preview,
        status=kept.status,
        decided_by=kept.decided_by,
        votes=tuple(kept.votes),
        approval_id=approval_id,
        item=number,
    )


def artifact(row: AnyRow) -> Artifact:
    """From the columns ARTIFACT."""
    return Artifact(**row._asdict())


def delivery(row: AnyRow) -> Delivery:
    fields = row._asdict()
    thread = fields.pop("thread") or None
    fields["to"] = Address(channel=fields.pop("channel"), conversation=fields.pop("conversation"), thread=thread)
    fields["parts"] = tuple(row.parts)
    del fields["leased_until"]
    return Delivery(**fields)


def received(row: AnyRow) -> Received:
    return Received(**row._asdict())


def hook(row: AnyRow) -> Hook:
    fields = row._asdict()
    fields["deliver"] = tuple(row.deliver)
    return Hook(**fields)


def damaged(*found: AnyRow) -> bool:
    """Whether something in these rows cannot be read."""
    return any(isinstance(value, Damaged) for row in found for value in row)


def by_task(rows: Sequence[AnyRow]) -> dict[int, list[AnyRow]]:
    """Rows of several tasks, apart."""
    groups: dict[int, list[AnyRow]] = defaultdict(list)
    for row in rows:
        groups[row.task_id].append(row)
    return groups
