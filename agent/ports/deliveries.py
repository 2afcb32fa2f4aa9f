"""What leaves, what the platforms call it, and what only one process may do at a time."""

from __future__ import annotations

from datetime import datetime
from typing import Protocol

from agent.domain import Address, Delivery, DeliveryStatus


class Deliveries(Protocol):
    """The rows of the outbox, and the platforms' ids of what was sent or is shown."""

    async def due(self, now: datetime, limit: int, leased: frozenset[int]) -> list[Delivery]:
        """The oldest pending delivery of each address, due and not leased by another process."""
        ...

    async def delivered(
        self,
        delivery_id: int,
        status: DeliveryStatus,
        *,
        sent_as: str | None = None,
        next_attempt_at: datetime | None = None,
    ) -> None:
        """Record an attempt's outcome; `pending` with `next_attempt_at` is a retry."""
        ...

    async def part_sent(self, delivery_id: int, sent_as: str) -> None:
        """Note that a part of a delivery arrived, so that the next attempt, which finds it in `Delivery.parts`, goes
        on behind it. NotFound."""
        ...

    async def card_sent_as(self, approval_id: int, to: Address) -> str | None:
        """Under which platform id a card was sent to an address."""
        ...

    async def live_message(self, task_id: int, to: Address) -> str | None:
        """Under which platform id the work on a task is shown at an address; None: nothing shows it."""
        ...

    async def save_live_message(self, task_id: int, to: Address, sent_as: str | None) -> None:
        """Note what shows the work on a task at an address; None: nothing does any more."""
        ...


class Leases(Protocol):
    """What only one process may do at a time, by name; a process that dies loses its leases with their time."""

    async def lease(self, name: str, owner: str, seconds: float) -> bool:
        """Take or renew a lease; False while another owner has it. 0 seconds give it back, which is False, too."""
        ...
