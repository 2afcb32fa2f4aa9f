"""Accepting a message: its key, its session and its task become durable together."""

from __future__ import annotations

from dataclasses import asdict
from datetime import datetime
from functools import cache

from sqlalchemy import Connection, Executable, bindparam, insert, select, update

from agent.domain import IncomingMessage, Received, TaskStatus
from agent.errors import Conflict, NotFound
from agent.ports.store import Accepted, Waits
from storage.doorbell import ring
from storage.store.records import NEW_EVENT, deliver
from storage.store.rows import AnyRow
from storage.store.upserts import upsert
from storage.tables import LIVE, OPEN, received, sessions, tasks

KNOWN = (
    select(received.c.fingerprint, received.c.task_id, received.c.session_id, tasks.c.status)
    .outerjoin(tasks, tasks.c.task_id == received.c.task_id)
    .where(received.c.dedup_key == bindparam("key"))
)
_own = tasks.alias("own")
HEAD_BEFORE = (
    select(tasks.c.status)
    .join(_own, _own.c.session_id == tasks.c.session_id)
    .where(_own.c.task_id == bindparam("task"), tasks.c.seq < _own.c.seq, OPEN)
    .order_by(tasks.c.seq)
    .limit(1)
)
FOLLOWED = (
    select(tasks.c.session_id, sessions.c.channel, sessions.c.conversation)
    .join(sessions, sessions.c.session_id == tasks.c.session_id)
    .where(tasks.c.task_id == bindparam("followed"))
)
NEXT_SEQ = (
    update(sessions)
    .where(sessions.c.session_id == bindparam("session"))
    .values(last_seq=sessions.c.last_seq + 1)
    .returning(sessions.c.session_id, sessions.c.last_seq)
)
NEW_TASK = insert(tasks).returning(tasks.c.task_id)


def accept(
    connection: Connection,
    message: IncomingMessage,
    *,
    workspace: str,
    files: tuple[str, ...],
    waits: Waits | None,
    now: datetime,
) -> Accepted:
    """Clash when another process accepts the same key at this moment: nothing is stored, ask again."""
    if known := connection.execute(KNOWN, {"key": message.dedup_key}).first():
        return _repeated(connection, known, message)
    session_id, seq = _place(connection, message, workspace)
    task = {
        "session_id": session_id,
        "seq": seq,
        "origin": message.origin,
        "requester": message.sender,
        "reply_to": message.reply_to or (message.address,),
        "workspace": workspace,
        "prompt": message.text,
        "files": files,
        "awaited_files": message.awaited_files,
        "message_id": message.message_id,
        "status": "queued",
        "created_at": now,
        "run_after": now,
        "follow_up_of": message.follow_up_of,
    }
    task_id: int = connection.execute(NEW_TASK, task).scalar_one()
    event = Received(
        dedup_key=message.dedup_key,
        kind="webhook" if message.origin == "webhook" else "message",
        outcome="task",
        who=message.sender,
        received_at=message.received_at,
        task_id=task_id,
        session_id=session_id,
        fingerprint=message.fingerprint,
    )
    connection.execute(NEW_EVENT, asdict(event))
    ring(connection, "tasks")
    behind = _behind(connection, task_id) if seq > 1 else None
    if behind is not None and waits is not None and (told := waits(task_id, behind)):
        deliver(connection, told, now, task_id=task_id)
    return Accepted(task_id=task_id, session_id=session_id, fresh=True, status="queued", behind=behind)


def _behind(connection: Connection, task_id: int) -> TaskStatus | None:
    """What the first task that has not ended is doing, when it is an older one."""
    status: TaskStatus | None = connection.execute(HEAD_BEFORE, {"task": task_id}).scalar()
    return status


def _repeated(connection: Connection, known: AnyRow, message: IncomingMessage) -> Accepted:
    """A sender that gives no fingerprint (two events of one chat message) repeats whatever the body is."""
    if message.fingerprint is not None and message.fingerprint != known.fingerprint:
        raise Conflict("This key was used before with another body; use a new key.", code="key_reused")
    if known.task_id is None:
        raise Conflict("This event was answered before, and made no task.", code="key_reused")
    return Accepted(
        task_id=known.task_id,
        session_id=known.session_id,
        fresh=False,
        # A task that retention removed had ended, one way or another.
        status=known.status or "done",
        behind=_behind(connection, known.task_id) if known.status == "queued" else None,
    )


def _place(connection: Connection, message: IncomingMessage, workspace: str) -> tuple[int, int]:
    """The session a message belongs to and its number in it."""
    if message.follow_up_of is not None:
        found = connection.execute(NEXT_SEQ, {"session": _followed(connection, message)}).one()
    else:
        session = {
            "channel": message.address.channel,
            "conversation": message.address.conversation,
            "thread": message.address.thread or "",
            "workspace": workspace,
            "last_seq": 1,
        }
        found = connection.execute(_session_of_address(connection.dialect.name), session).one()
    return found.session_id, found.last_seq


def _followed(connection: Connection, message: IncomingMessage) -> int:
    found = connection.execute(FOLLOWED, {"followed": message.follow_up_of}).first()
    if found is None or (found.channel, found.conversation) != (message.address.channel, message.address.conversation):
        raise NotFound(f"There is no task {message.follow_up_of} to follow up.", field="follow_up_of")
    session_id: int = found.session_id
    return session_id


@cache
def _session_of_address(dialect: str) -> Executable:
    """Makes the session or joins it. PostgreSQL locks the row until the commit, so that seqs follow one another."""
    statement = upsert(dialect, sessions)
    joined = statement.on_conflict_do_update(
        index_elements=["channel", "conversation", "thread"],
        index_where=LIVE,
        set_={"last_seq": sessions.c.last_seq + 1, "workspace": statement.excluded.workspace},
    )
    return joined.returning(sessions.c.session_id, sessions.c.last_seq)
