"""Everything that was received, by its key."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime
from functools import cache

from sqlalchemy import Connection, Executable, bindparam, select

from agent.domain import Received
from agent.ports.access import NewAudit
from agent.ports.store import NewDelivery
from storage import tables
from storage.store import records, rows
from storage.store.access import record_act
from storage.store.upserts import upsert

ONE_EVENT = select(tables.received).where(tables.received.c.dedup_key == bindparam("key"))


def received(connection: Connection, key: str) -> Received | None:
    row = connection.execute(ONE_EVENT, {"key": key}).first()
    return rows.received(row) if row else None


def receive(
    connection: Connection,
    event: Received,
    deliveries: Sequence[NewDelivery],
    audit: NewAudit | None,
    now: datetime,
) -> bool:
    """An event without a task, with what is said to it; False when its key is known."""
    if not connection.execute(_unless_known(connection.dialect.name), asdict(event)).rowcount:
        return False
    if deliveries:
        records.deliver(connection, deliveries, now)
    if audit:
        record_act(connection, audit)
    return True


@cache
def _unless_known(dialect: str) -> Executable:
    return upsert(dialect, tables.received).on_conflict_do_nothing(index_elements=["dedup_key"])
