"""Deliveries: the head of each address, once at a time over all processes."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import Connection, bindparam, delete, func, or_, select, update

from agent.domain import Address, Delivery, DeliveryStatus
from agent.errors import NotFound
from storage.columns import SERVER_CLOCK, Json, UtcTime
from storage.store import rows
from storage.store.upserts import upsert
from storage.tables import PENDING, deliveries, live_messages

LEASE_SECONDS = 60
"""Longer than one upload takes; the outbox asks again every second, and with that renews what it has under way."""
ADDRESS = (deliveries.c.channel, deliveries.c.conversation, deliveries.c.thread)
NOW = bindparam("now", type_=UtcTime)
LEASE_END = SERVER_CLOCK + LEASE_SECONDS * 1_000_000
HEADS = select(func.min(deliveries.c.delivery_id)).where(PENDING).group_by(*ADDRESS)
DUE = (
    select(deliveries)
    .where(PENDING, deliveries.c.delivery_id.in_(HEADS), deliveries.c.next_attempt_at <= NOW)
    .order_by(deliveries.c.delivery_id)
    .limit(bindparam("limit"))
)
LEASABLE = (
    DUE.with_only_columns(deliveries.c.delivery_id)
    .where(or_(deliveries.c.leased_until.is_(None), deliveries.c.leased_until < SERVER_CLOCK))
    .with_for_update(skip_locked=True)
    .cte("leasable")
    .prefix_with("MATERIALIZED")
)
LEASE = (
    update(deliveries)
    .where(deliveries.c.delivery_id == LEASABLE.c.delivery_id)
    .values(leased_until=LEASE_END)
    .returning(*deliveries.c)
)
RENEW = (
    update(deliveries)
    .where(deliveries.c.delivery_id.in_(bindparam("leased", expanding=True)))
    .values(leased_until=LEASE_END)
)
ATTEMPTED = (
    update(deliveries)
    .where(deliveries.c.delivery_id == bindparam("delivery"))
    .values(
        status=bindparam("new_status"),
        attempts=deliveries.c.attempts + 1,
        sent_as=func.coalesce(bindparam("message_id"), deliveries.c.sent_as),
        next_attempt_at=func.coalesce(bindparam("retry_at", type_=UtcTime), deliveries.c.next_attempt_at),
        leased_until=None,
    )
)
CARD = (
    select(deliveries.c.sent_as)
    .where(
        deliveries.c.approval_id == bindparam("card"),
        deliveries.c.kind == "approval",
        deliveries.c.sent_as.is_not(None),
        *(column == bindparam(f"to_{column.name}") for column in ADDRESS),
    )
    .order_by(deliveries.c.delivery_id.desc())
)
PARTS = select(deliveries.c.parts).where(deliveries.c.delivery_id == bindparam("delivery")).with_for_update()
NEW_PARTS = (
    update(deliveries)
    .where(deliveries.c.delivery_id == bindparam("delivery"))
    .values(parts=bindparam("all_parts", type_=Json))
)
_HERE = tuple(live_messages.c[column.name] == bindparam(f"to_{column.name}") for column in ADDRESS)
LIVE_MESSAGE = select(live_messages.c.sent_as).where(live_messages.c.task_id == bindparam("task"), *_HERE)
NO_LIVE_MESSAGE = delete(live_messages).where(live_messages.c.task_id == bindparam("task"), *_HERE)


def due(connection: Connection, now: datetime, limit: int, leased: frozenset[int]) -> list[Delivery]:
    """One process: a delivery under way is still the head of its address, so it is enough to leave it out."""
    found = connection.execute(DUE, {"now": now, "limit": limit + len(leased)}).all()
    return [rows.delivery(row) for row in found if row.delivery_id not in leased][:limit]


def lease_due(connection: Connection, now: datetime, limit: int, leased: frozenset[int]) -> list[Delivery]:
    """Many processes: the rows say who is at it. Asking again renews what this process has under way."""
    if leased:
        connection.execute(RENEW, {"leased": leased})
    found = connection.execute(LEASE, {"now": now, "limit": limit}).all()
    return sorted((rows.delivery(row) for row in found), key=lambda delivery: delivery.delivery_id)


def delivered(
    connection: Connection,
    delivery_id: int,
    status: DeliveryStatus,
    sent_as: str | None,
    next_attempt_at: datetime | None,
) -> None:
    values = {"delivery": delivery_id, "new_status": status, "message_id": sent_as, "retry_at": next_attempt_at}
    connection.execute(ATTEMPTED, values)


def card_sent_as(connection: Connection, approval_id: int, to: Address) -> str | None:
    sent_as: str | None = connection.execute(CARD, {"card": approval_id, **_address(to)}).scalar()
    return sent_as


def part_sent(connection: Connection, delivery_id: int, sent_as: str) -> None:
    parts = connection.execute(PARTS, {"delivery": delivery_id}).scalar()
    if parts is None:
        raise NotFound(f"There is no delivery {delivery_id}.")
    connection.execute(NEW_PARTS, {"delivery": delivery_id, "all_parts": [*parts, sent_as]})


def live_message(connection: Connection, task_id: int, to: Address) -> str | None:
    sent_as: str | None = connection.execute(LIVE_MESSAGE, {"task": task_id, **_address(to)}).scalar()
    return sent_as


def save_live_message(connection: Connection, task_id: int, to: Address, sent_as: str | None) -> None:
    if sent_as is None:
        connection.execute(NO_LIVE_MESSAGE, {"task": task_id, **_address(to)})
        return
    place = {"channel": to.channel, "conversation": to.conversation, "thread": to.thread or ""}
    new = upsert(connection.dialect.name, live_messages).values(task_id=task_id, sent_as=sent_as, **place)
    key = list(live_messages.primary_key)
    connection.execute(new.on_conflict_do_update(index_elements=key, set_={"sent_as": new.excluded.sent_as}))


def _address(to: Address) -> dict[str, str]:
    return {"to_channel": to.channel, "to_conversation": to.conversation, "to_thread": to.thread or ""}
