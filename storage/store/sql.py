"""The store over SQL: each verb is one function of a connection, run in one transaction."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from pathlib import Path

from sqlalchemy import Connection

from agent.domain import Address, Approval, Artifact, Delivery, DeliveryStatus, Hook, IncomingMessage, Received, Session
from agent.ports.access import NewAudit
from agent.ports.clock import Clock
from agent.ports.store import Accepted, Earlier, NewDelivery, Plan, RunKey, Step, TaskOutcome, TaskState, Waits
from storage.database import Database, open_database
from storage.doorbell import LocalDoorbell
from storage.faults import Clash
from storage.store import earlier, events, hooks, intake, leases, lookups, outbox, queue, records, state, steps
from storage.store.sql_listings import SqlListings

LEASE_SECONDS = 30.0
CLAIM_TRIES = 3
"""A claimer that was faster on one session undoes the claim of all; the next look finds the others."""


async def open_store(url: str | Path, *, clock: Clock) -> SqlStore:
    """Open the database (a path, `sqlite:///path` or `postgresql+asyncpg://…`) and its rows; ConfigError."""
    return SqlStore(await open_database(url), clock)


@dataclass(frozen=True, slots=True)
class SqlStore(SqlListings):
    """Implements Store, Queries, Leases, Listings and Hooks."""

    database: Database
    clock: Clock
    lease_seconds: float = LEASE_SECONDS

    async def close(self) -> None:
        """Finish what is under way and release the database."""
        await self.database.close()

    @property
    def doorbell(self) -> LocalDoorbell:
        return self.database.doorbell

    @property
    def _lease(self) -> int:
        return int(self.lease_seconds * 1_000_000)

    # --- the queue ---

    async def accept(
        self, message: IncomingMessage, *, workspace: str, files: tuple[str, ...], waits: Waits | None = None
    ) -> Accepted:
        def work(connection: Connection) -> Accepted:
            now = self.clock.now()
            return intake.accept(connection, message, workspace=workspace, files=files, waits=waits, now=now)

        try:
            return await self.database.write(work)
        except Clash:
            return await self.database.write(work)

    async def claim(self, owner: str, limit: int) -> list[TaskState]:
        for _ in range(CLAIM_TRIES):
            with suppress(Clash):
                return await self.database.write(
                    lambda connection: queue.claim(connection, owner, limit, self.clock.now(), self._lease)
                )
        return []

    async def heartbeat(self, owner: str, task_ids: Sequence[int]) -> set[int]:
        return await self.database.write(
            lambda connection: queue.heartbeat(connection, owner, task_ids, self.clock.now(), self._lease)
        )

    async def reap(self) -> list[int]:
        return await self.database.write(lambda connection: queue.reap(connection, self.clock.now()))

    async def requeue(self, owner: str | None = None) -> int:
        return await self.database.write(lambda connection: queue.requeue(connection, owner))

    async def request_cancel(self, task_id: int) -> bool:
        return await self.database.write(lambda connection: queue.request_cancel(connection, task_id))

    # --- one task ---

    async def load(self, task_id: int) -> TaskState:
        return await self.database.read(lambda connection: state.load(connection, task_id))

    async def earlier(self, session: Session, before_seq: int, after_seq: int = 0) -> Earlier:
        if before_seq <= session.summary_from:
            return Earlier(tasks=[])
        return await self.database.read(lambda connection: earlier.earlier(connection, session, before_seq, after_seq))

    async def advance(self, run: RunKey, step: Step) -> int:
        return await self.database.write(lambda connection: steps.advance(connection, run, step, self.clock.now()))

    async def change(self, task_id: int, plan: Plan, key: str | None = None) -> Step | None:
        def work(connection: Connection) -> Step | None:
            return steps.change(connection, task_id, plan, self.clock.now(), key)

        try:
            return await self.database.write(work)
        except Clash:  # the event was received for something else at this moment
            if key is None:
                raise
            return await self.database.write(work)

    async def receive(
        self, event: Received, deliveries: Sequence[NewDelivery] = (), audit: NewAudit | None = None
    ) -> bool:
        return await self.database.write(
            lambda connection: events.receive(connection, event, deliveries, audit, self.clock.now())
        )

    async def deliver(self, deliveries: Sequence[NewDelivery]) -> None:
        await self.database.write(lambda connection: records.deliver(connection, deliveries, self.clock.now()))

    async def received(self, key: str) -> Received | None:
        return await self.database.read(lambda connection: events.received(connection, key))

    async def waiting(self, address: Address) -> Approval | None:
        return await self.database.read(lambda connection: lookups.waiting(connection, address))

    async def find_approval(self, *, approval_id: int | None = None, token: str | None = None) -> Approval:
        return await self.database.read(lambda connection: lookups.find_approval(connection, approval_id, token))

    async def expired_approvals(self, now: datetime) -> list[Approval]:
        return await self.database.read(lambda connection: lookups.expired_approvals(connection, now))

    async def approvals_to_remind(self, now: datetime) -> list[Approval]:
        return await self.database.read(lambda connection: lookups.approvals_to_remind(connection, now))

    # --- the outbox ---

    async def due(self, now: datetime, limit: int, leased: frozenset[int]) -> list[Delivery]:
        if self.database.shared:
            return await self.database.write(lambda connection: outbox.lease_due(connection, now, limit, leased))
        return await self.database.read(lambda connection: outbox.due(connection, now, limit, leased))

    async def delivered(
        self,
        delivery_id: int,
        status: DeliveryStatus,
        *,
        sent_as: str | None = None,
        next_attempt_at: datetime | None = None,
    ) -> None:
        await self.database.write(
            lambda connection: outbox.delivered(connection, delivery_id, status, sent_as, next_attempt_at)
        )

    async def card_sent_as(self, approval_id: int, to: Address) -> str | None:
        return await self.database.read(lambda connection: outbox.card_sent_as(connection, approval_id, to))

    async def part_sent(self, delivery_id: int, sent_as: str) -> None:
        await self.database.write(lambda connection: outbox.part_sent(connection, delivery_id, sent_as))

    async def live_message(self, task_id: int, to: Address) -> str | None:
        return await self.database.read(lambda connection: outbox.live_message(connection, task_id, to))

    async def save_live_message(self, task_id: int, to: Address, sent_as: str | None) -> None:
        await self.database.write(lambda connection: outbox.save_live_message(connection, task_id, to, sent_as))

    async def lease(self, name: str, owner: str, seconds: float) -> bool:
        return await self.database.write(
            lambda connection: leases.lease(connection, name, owner, seconds, self.clock.now())
        )

    # --- money ---

    async def spent_usd(self, since: datetime, requester: str | None = None) -> Decimal:
        return await self.database.read(lambda connection: lookups.spent_usd(connection, since, requester))

    async def cost_usd(self, task_id: int) -> Decimal | None:
        return await self.database.read(lambda connection: lookups.cost_usd(connection, task_id))

    # --- what people look at ---

    async def outcome(self, task_id: int) -> TaskOutcome:
        return await self.database.read(lambda connection: lookups.outcome(connection, task_id))

    async def artifacts(self, task_id: int) -> list[Artifact]:
        return await self.database.read(lambda connection: lookups.newest_artifacts(connection, task_id))

    async def artifact(self, artifact_id: int) -> Artifact:
        return await self.database.read(lambda connection: lookups.artifact(connection, artifact_id))

    # --- webhooks ---

    async def hook(self, name: str) -> Hook | None:
        return await self.database.read(lambda connection: hooks.hook(connection, name))

    async def hooks(self) -> list[Hook]:
        return await self.database.read(hooks.all_hooks)

    async def save_hook(self, hook: Hook) -> None:
        await self.database.write(lambda connection: hooks.save_hook(connection, hook))
