"""The queue: claims, leases, crashes. Lease times are the database's on PostgreSQL, where machines' clocks differ."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from functools import cache
from typing import Any

from sqlalchemy import (
    BigInteger,
    Connection,
    Executable,
    Update,
    bindparam,
    case,
    exists,
    literal_column,
    select,
    update,
)

from agent.ports.store import TaskState
from storage.columns import UtcTime, lease_clock
from storage.doorbell import ring
from storage.store import rows
from storage.store.state import states
from storage.tables import QUEUED, RUNNING, status_in, tasks

CRASH_LIMIT = 3
EVERY_OWNER = update(tasks).where(RUNNING)
RELEASED = {"status": "queued", "lease_owner": None, "lease_until": None}
CRASHED = {
    **RELEASED,
    "crashes": case((tasks.c.entries == tasks.c.entries_at_crash, tasks.c.crashes + 1), else_=1),
    "entries_at_crash": tasks.c.entries,
}
DRAIN = EVERY_OWNER.where(tasks.c.lease_owner == bindparam("owner")).values(RELEASED)
BOOT = EVERY_OWNER.values(CRASHED)
HOPELESS = select(tasks.c.task_id).where(QUEUED, tasks.c.crashes >= CRASH_LIMIT).order_by(tasks.c.task_id)
# RETURNING cannot join on SQLite, and a look by primary key is cheaper than one more statement. Written out, because
# SQLAlchemy leaves the table's name away in what SQLite returns, also where that makes it another column.
SESSION_OF_TASK = [
    literal_column(
        f"(SELECT {column.element} FROM sessions WHERE sessions.session_id = tasks.session_id)",  # noqa: S608
        column.type,
    ).label(column.name)
    for column in rows.SESSION
]
ASK_TO_STOP = update(tasks).where(RUNNING, tasks.c.task_id == bindparam("task")).values(cancel_requested=True)


def claim(connection: Connection, owner: str, limit: int, now: datetime, lease: int) -> list[TaskState]:
    """Take tasks for `owner`; `lease` in microseconds. Clash when another claimer was faster on the same session."""
    found = connection.execute(
        claim_statement(connection.dialect.name), {"owner": owner, "free": limit, "now": now, "lease": lease}
    ).all()
    return states(connection, sorted(found, key=lambda row: row.task_id)) if found else []


def heartbeat(connection: Connection, owner: str, task_ids: Sequence[int], now: datetime, lease: int) -> set[int]:
    values = {"owner": owner, "running": task_ids, "now": now, "lease": lease}
    found = connection.execute(_heartbeat(connection.dialect.name), values)
    return {task_id for task_id, cancel_requested in found if cancel_requested}


def reap(connection: Connection, now: datetime) -> list[int]:
    if connection.execute(_reap(connection.dialect.name), {"now": now}).rowcount:
        ring(connection, "tasks")
    return list(connection.execute(HOPELESS).scalars())


def requeue(connection: Connection, owner: str | None) -> int:
    """A drained run did nothing wrong; one that a new start finds running was there when its process died."""
    count = connection.execute(BOOT if owner is None else DRAIN, {"owner": owner}).rowcount
    if count:
        ring(connection, "tasks")
    return count


def request_cancel(connection: Connection, task_id: int) -> bool:
    if not connection.execute(ASK_TO_STOP, {"task": task_id}).rowcount:
        return False
    ring(connection, "cancel")
    return True


def _leased(dialect: str) -> dict[str, Any]:
    return {"lease_until": lease_clock(dialect) + bindparam("lease", type_=BigInteger)}


@cache
def claim_statement(dialect: str) -> Executable:
    """At most :free rows, also under concurrency: the CTE is evaluated once and its rows stay locked.

    Written as `IN (SELECT … LIMIT n FOR UPDATE SKIP LOCKED)` PostgreSQL may run the subquery again and take more.
    """
    head, older = tasks.alias("head"), tasks.alias("older")
    unfinished = exists().where(
        older.c.session_id == head.c.session_id,
        older.c.seq < head.c.seq,
        status_in(older, "queued", "running", "waiting_approval"),
    )
    picked = (
        select(head.c.task_id)
        .where(status_in(head, "queued"), head.c.run_after <= bindparam("now", type_=UtcTime), ~unfinished)
        .order_by(head.c.task_id)
        .limit(bindparam("free"))
        .with_for_update(of=head, skip_locked=True)
        .cte("picked")
        .prefix_with("MATERIALIZED")
    )
    return (
        update(tasks)
        .where(tasks.c.task_id == picked.c.task_id)
        .values(status="running", epoch=tasks.c.epoch + 1, lease_owner=bindparam("owner"), **_leased(dialect))
        .returning(*rows.TASK, tasks.c.entries, *SESSION_OF_TASK)
    )


@cache
def _heartbeat(dialect: str) -> Update:
    return (
        update(tasks)
        .where(
            RUNNING,
            tasks.c.lease_owner == bindparam("owner"),
            tasks.c.task_id.in_(bindparam("running", expanding=True)),
        )
        .values(_leased(dialect))
        .returning(tasks.c.task_id, tasks.c.cancel_requested)
    )


@cache
def _reap(dialect: str) -> Update:
    return EVERY_OWNER.where(tasks.c.lease_until < lease_clock(dialect)).values(CRASHED)
