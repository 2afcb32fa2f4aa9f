"""The one way out: deliveries leave in order per address, at least once, each until it is sent or given up."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from typing import Protocol

import structlog

from agent import cards
from agent.decisions import card_of, number_of
from agent.domain import Delivery, DeliveryStatus
from agent.errors import BadInput, ChannelUnavailable, DeliveryRefused, DeliveryUnsure, StorageError
from agent.people import People
from agent.ports.channels import Channel, Outgoing
from agent.ports.clock import Clock
from agent.ports.store import Queries, Store, TaskState
from agent.rounds import repeated
from agent.steps import steps

log = structlog.get_logger()

AT_ONCE = 50
"""Deliveries under way at a time, over all addresses."""
SLOW_ATTEMPT = timedelta(seconds=30)
"""After which it is thought that another process may have begun on a delivery and died."""
STORAGE_PAUSE = 1.0
"""Seconds before the database is tried again."""
LONGEST_PAUSE = 300.0
"""Seconds between two tries at the most; a channel's own `retry_after` is obeyed whatever it says."""


class Rows(Store, Queries, Protocol):
    """What the outbox reads and writes."""


class Outbox:
    """Sends what is due, one delivery at a time for each address."""

    def __init__(self, rows: Rows, channels: Mapping[str, Channel], people: People, clock: Clock) -> None:
        self._rows = rows
        self._channels = channels
        self._people = people
        self._clock = clock
        self._sending: dict[int, asyncio.Task[None]] = {}
        self._loop: asyncio.Task[None] | None = None
        self._began = clock.now()

    def start(self) -> None:
        """Send in the background until `stop`."""
        self._loop = asyncio.create_task(repeated(self._begin_and_wait, self._clock), name="outbox")

    async def stop(self, grace_seconds: float = 5.0) -> None:
        """Try what is due once more, wait for what is under way, then end."""
        if self._loop is not None:
            self._loop.cancel()
            await asyncio.wait([self._loop])
        try:
            async with asyncio.timeout(grace_seconds):
                await self.flush()
        except TimeoutError:
            log.warning("outbox_left_deliveries", count=len(self._sending))
        except StorageError as error:
            log.warning("outbox_not_flushed", reason=str(error))
        for task in self._sending.values():
            task.cancel()

    async def flush(self) -> None:
        """Send everything that is due now and return when it is done."""
        while await self._begin() or self._sending:
            await asyncio.wait(self._sending.values(), return_when=asyncio.FIRST_COMPLETED)

    async def _begin_and_wait(self) -> None:
        await self._begin()
        await self._rows.doorbell.wait("outbox", 1.0)

    async def _begin(self) -> int:
        """Start sending what is due and not under way; how many."""
        room = AT_ONCE - len(self._sending)
        due = await self._rows.due(self._clock.now(), room, frozenset(self._sending)) if room > 0 else []
        for delivery in due:
            task = asyncio.create_task(self._deliver(delivery), name=f"delivery {delivery.delivery_id}")
            self._sending[delivery.delivery_id] = task
            task.add_done_callback(partial(self._sent, delivery.delivery_id))
        return len(due)

    def _sent(self, delivery_id: int, _: asyncio.Task[None]) -> None:
        del self._sending[delivery_id]
        self._rows.doorbell.ring("outbox")

    async def _deliver(self, delivery: Delivery) -> None:
        """The delivery border: whatever a channel raises, the delivery's row says what became of it."""
        try:
            await self._attempt(delivery)
        except ChannelUnavailable as error:
            await self._retry(delivery, str(error), error.retry_after)
        except StorageError as error:  # what it says could not be read, so nothing was sent
            await self._retry(delivery, str(error), None)
        except (DeliveryRefused, BadInput) as error:
            log.warning(
                "delivery_refused", delivery=delivery.delivery_id, channel=delivery.to.channel, reason=str(error)
            )
            await self._record(delivery, "failed")
        except DeliveryUnsure as error:
            log.warning(
                "delivery_unsure", delivery=delivery.delivery_id, channel=delivery.to.channel, reason=str(error)
            )
            await self._record(delivery, "unsure")
        except Exception:
            log.exception("delivery_failed_unexpectedly", delivery=delivery.delivery_id, channel=delivery.to.channel)
            await self._retry(delivery, "unexpected error", None)

    async def _attempt(self, delivery: Delivery) -> None:
        if delivery.expires_at <= self._clock.now():
            log.warning("delivery_expired", delivery=delivery.delivery_id, channel=delivery.to.channel)
            await self._record(delivery, "expired")
            return
        channel = self._channels.get(delivery.to.channel)
        if channel is None:
            raise ChannelUnavailable(f"The channel {delivery.to.channel} is not running here.", retry_after=60)
        outgoing = replace(await self._rendered(delivery), may_have_arrived=self._may_have_arrived(delivery))
        await self._record(delivery, "sent", sent_as=await self._sent_as(channel, outgoing))

    async def _sent_as(self, channel: Channel, outgoing: Outgoing) -> str | None:
        """Send, or redraw a card; a channel that cannot change what it sent gets a message more."""
        if outgoing.delivery.kind != "settle" or "edits" not in channel.features:
            return await channel.send(outgoing)
        card = outgoing.approval
        sent_as = await self._rows.card_sent_as(card.approval_id, outgoing.delivery.to) if card else None
        if sent_as is not None:
            await channel.settle(outgoing, sent_as)
        return sent_as

    def _may_have_arrived(self, delivery: Delivery) -> bool:
        """Whether somebody may have sent it before: an earlier attempt, or a process that died while it did."""
        waited = self._clock.now() - delivery.next_attempt_at
        return delivery.attempts > 0 or delivery.next_attempt_at < self._began or waited > SLOW_ATTEMPT

    async def _rendered(self, delivery: Delivery) -> Outgoing:
        """The delivery with what it carries; a card is drawn from its rows as they are now."""
        if delivery.task_id is None:
            return Outgoing(delivery=delivery, text=delivery.text)
        state = await self._rows.load(delivery.task_id)
        done = steps(state.entries, state.task.status)
        if delivery.approval_id is not None:
            return replace(await self._card(delivery, state, delivery.approval_id), steps=done)
        made = await self._rows.artifacts(delivery.task_id) if delivery.kind == "reply" else []
        return Outgoing(delivery=delivery, text=delivery.text, artifacts=tuple(made), task=state.task, steps=done)

    async def _card(self, delivery: Delivery, state: TaskState, approval_id: int) -> Outgoing:
        approval = card_of(state, approval_id)
        card = cards.card(approval, state.task, await self._people.by_name(), number_of(state, approval_id))
        text = cards.text(approval, card, cards.place(delivery.to), again=delivery.kind == "settle")
        return Outgoing(delivery=delivery, text=text, task=state.task, approval=approval, card=card)

    async def _retry(self, delivery: Delivery, reason: str, retry_after: float | None) -> None:
        pause = min(2.0**delivery.attempts, LONGEST_PAUSE) if retry_after is None else retry_after
        log.info("delivery_postponed", delivery=delivery.delivery_id, seconds=pause, reason=reason)
        at: datetime = self._clock.now() + timedelta(seconds=pause)
        await self._record(delivery, "pending", next_attempt_at=at)

    async def _record(
        self,
        delivery: Delivery,
        status: DeliveryStatus,
        *,
        sent_as: str | None = None,
        next_attempt_at: datetime | None = None,
    ) -> None:
        """Write down what became of a delivery, however long the database takes: until then it is not sent again."""
        while True:
            try:
                await self._rows.delivered(
                    delivery.delivery_id, status, sent_as=sent_as, next_attempt_at=next_attempt_at
                )
            except StorageError as error:
                log.warning("delivery_not_recorded", delivery=delivery.delivery_id, reason=str(error))
                await self._clock.sleep(STORAGE_PAUSE)
            else:
                return
