"""What a channel is told about a delivery that somebody may have sent before."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from agent.domain import Address
from agent.errors import ChannelUnavailable
from agent.outbox import Outbox
from agent.people import People
from agent.ports.channels import Outgoing
from agent.ports.store import Step
from storage.store.people import SqlRoster
from storage.store.sql import SqlStore, open_store
from tests.clock import FakeClock
from tests.flows.platform import HERE, Platform
from tests.storage import given


class Shaky(Platform):
    """Sends a part and loses the connection, so often as it is told."""

    def __init__(self, store: SqlStore, failures: int = 0) -> None:
        super().__init__()
        self.store = store
        self.failures = failures

    async def send(self, outgoing: Outgoing) -> str | None:
        sent = await super().send(outgoing)
        if self.failures:
            self.failures -= 1
            await self.store.part_sent(outgoing.delivery.delivery_id, f"part {len(self.sent)}")
            raise ChannelUnavailable("connection lost", retry_after=1)
        return sent

    @property
    def told(self) -> list[tuple[str, bool, tuple[str, ...]]]:
        """Of each attempt: the text, whether it may have arrived, and what did."""
        return [(one.text, one.may_have_arrived, one.delivery.parts) for one in self.sent]


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
async def store(tmp_path: Path, clock: FakeClock) -> AsyncIterator[SqlStore]:
    store = await open_store(tmp_path / "rows.sqlite3", clock=clock)
    yield store
    await store.close()


def outbox(store: SqlStore, channel: Platform) -> Outbox:
    return Outbox(store, {"chat": channel}, People([], SqlRoster(store.database)), store.clock)


async def put(store: SqlStore, *texts: str) -> None:
    state = await given.claimed(store, address=Address(channel="cli", conversation=texts[0]))
    await given.finish(store, state, deliveries=tuple(given.delivery(text, to=HERE) for text in texts))


async def test_what_is_new_was_never_sent(store: SqlStore, clock: FakeClock) -> None:
    """Nobody looks for it on the platform, which would cost every message a call more."""
    channel = Shaky(store)
    sending = outbox(store, channel)
    clock.advance(60)
    await put(store, "one", "two")
    await sending.flush()
    assert channel.told == [("one", False, ()), ("two", False, ())]


async def test_a_second_attempt_may_find_it_there(store: SqlStore, clock: FakeClock) -> None:
    """With what arrived of it; the next delivery is new again."""
    channel = Shaky(store, failures=2)
    sending = outbox(store, channel)
    await put(store, "one", "two")
    for _ in range(3):
        await sending.flush()
        clock.advance(1)
    assert channel.told == [
        ("one", False, ()),
        ("one", True, ("part 1",)),
        ("one", True, ("part 1", "part 2")),
        ("two", False, ()),
    ]


async def test_what_a_dead_process_had_under_way_may_be_there(store: SqlStore, clock: FakeClock) -> None:
    """It was due before this one began, and no row says whether it was sent."""
    await put(store, "one")
    clock.advance(0.001)
    channel = Shaky(store)
    await outbox(store, channel).flush()
    assert channel.told == [("one", True, ())]


async def test_what_nobody_sent_for_long_may_be_there(store: SqlStore, clock: FakeClock) -> None:
    """Another process may have begun on it and died: then it is late by that one's lease."""
    channel = Shaky(store)
    sending = outbox(store, channel)
    await put(store, "one")
    clock.advance(31)
    await sending.flush()
    assert channel.told == [("one", True, ())]


async def test_a_reply_brings_the_steps_of_its_task(store: SqlStore) -> None:
    """So that what showed the work can be brought to its end, also after a restart."""
    state = await given.claimed(store)
    call = {"id": "c1", "name": "read_file", "arguments": '{"path": "a.md"}'}
    entries = (*given.said("…"), given.said("")[0])
    entries[1].data["calls"] = [call]
    await store.advance(given.key(state), Step(entries=entries, new_calls=(given.call(status="cancelled"),)))
    await given.finish(store, state, deliveries=(given.delivery("bye", to=HERE),))
    channel = Shaky(store)
    await outbox(store, channel).flush()
    [outgoing] = channel.sent
    assert [(step.call_id, step.label, step.target) for step in outgoing.steps] == [("c1", "Reading", "a.md")]
    assert outgoing.task is not None
    assert outgoing.task.status == "done"
