"""Deliveries while the database fails: nothing is lost, and nobody is told the same thing over and over."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

from agent.domain import Address, Delivery, DeliveryStatus
from agent.errors import NotFound, StorageError
from agent.outbox import Outbox
from agent.people import People
from agent.ports.channels import Feature, Outgoing, Shown
from agent.ports.store import TaskState
from storage.database import open_database
from storage.store.people import SqlRoster
from storage.store.sql import SqlStore
from tests.clock import FakeClock
from tests.storage import given

HERE = Address(channel="chat", conversation="C1")
LEFT = text("SELECT count(*) FROM deliveries WHERE status = 'pending'")


class Told:
    """A channel that counts what it was given."""

    name = "chat"
    features: frozenset[Feature] = frozenset()

    def __init__(self) -> None:
        self.texts: list[str] = []

    async def start(self) -> None: ...

    async def stop(self) -> None: ...

    async def send(self, outgoing: Outgoing) -> str | None:
        self.texts.append(outgoing.text)
        return "1"

    async def settle(self, outgoing: Outgoing, sent_as: str) -> None: ...

    async def progress(self, to: Address, shown: Shown) -> None: ...

    async def download(self, reference: str) -> bytes:
        raise NotFound(reference)

    def routes(self) -> Sequence[Any]:
        return ()


@dataclass(frozen=True, slots=False)
class FailingStore(SqlStore):
    """A store whose database is away now and then: `failures` holds how often each verb fails first."""

    failures: Counter[str] = field(default_factory=Counter)

    async def due(self, now: datetime, limit: int, leased: frozenset[int]) -> list[Delivery]:
        self._fail("due")
        return await super().due(now, limit, leased)

    async def delivered(self, delivery_id: int, status: DeliveryStatus, **outcome: Any) -> None:
        self._fail("delivered")
        await super().delivered(delivery_id, status, **outcome)

    async def load(self, task_id: int) -> TaskState:
        self._fail("load")
        return await super().load(task_id)

    def _fail(self, verb: str) -> None:
        if self.failures[verb]:
            self.failures[verb] -= 1
            raise StorageError("The disk is full.")


@pytest.mark.parametrize("verb", ["due", "delivered", "load"])
async def test_a_database_that_is_away_delays_a_message_and_repeats_none(tmp_path: Path, verb: str) -> None:
    """Three failures of a verb, a second apart: the message goes out once, and is known as sent."""
    clock, told = FakeClock(), Told()
    store = FailingStore(await open_database(tmp_path / "rows.sqlite3"), clock)
    outbox = Outbox(store, {"chat": told}, People([], SqlRoster(store.database)), clock)
    state = await given.claimed(store)
    await given.finish(store, state, deliveries=(given.delivery("hello", to=HERE),))
    store.failures[verb] = 3
    outbox.start()
    while await store.database.read(lambda connection: connection.execute(LEFT).scalar()):
        clock.advance(1)
        await asyncio.sleep(0.01)
    await outbox.stop()
    await store.close()
    assert (told.texts, store.failures[verb]) == (["hello"], 0)


async def test_stopping_does_not_wait_for_a_database_that_is_away(tmp_path: Path) -> None:
    """What is left goes out after the next start."""
    clock, told = FakeClock(), Told()
    store = FailingStore(await open_database(tmp_path / "rows.sqlite3"), clock)
    store.failures["due"] = 1_000_000
    await Outbox(store, {"chat": told}, People([], SqlRoster(store.database)), clock).stop()
    await store.close()
