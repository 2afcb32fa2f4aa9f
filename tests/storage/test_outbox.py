"""The outbox: in order per address, one at a time, over processes."""

from __future__ import annotations

from datetime import timedelta

import pytest

from agent.domain import Address, Delivery
from agent.ports.store import Step
from storage.store.sql import SqlStore
from tests.clock import START, FakeClock
from tests.storage import given
from tests.storage.conftest import POSTGRES, OpenStore

OTHER = Address(channel="telegram", conversation="-100")


async def put(store: SqlStore, *texts: str, to: Address = given.CHAT) -> None:
    state = await given.claimed(store, address=Address(channel="cli", conversation=texts[0]))
    await store.advance(given.key(state), Step(deliveries=tuple(given.delivery(text, to=to) for text in texts)))


async def due(store: SqlStore, *leased: Delivery) -> list[Delivery]:
    return await store.due(store.clock.now(), 10, frozenset(one.delivery_id for one in leased))


async def test_only_the_oldest_of_each_address_is_due(store: SqlStore) -> None:
    """Addresses do not wait for one another, deliveries of one address do."""
    await put(store, "a1", "a2")
    await put(store, "b1", to=OTHER)
    heads = await due(store)
    assert [head.text for head in heads] == ["a1", "b1"]
    assert await due(store, *heads) == []
    await store.delivered(heads[0].delivery_id, "sent", sent_as="1.5")
    assert [head.text for head in await due(store, heads[1])] == ["a2"]


async def test_the_limit_counts_what_is_new(store: SqlStore) -> None:
    """What is under way does not take the place of what is not."""
    for place in range(4):
        await put(store, f"t{place}", to=Address(channel="slack", conversation=f"D{place}"))
    first = await store.due(START, 2, frozenset())
    second = await store.due(START, 2, frozenset(one.delivery_id for one in first))
    assert [one.text for one in (*first, *second)] == ["t0", "t1", "t2", "t3"]


async def test_a_postponed_delivery_holds_back_its_address(store: SqlStore, clock: FakeClock) -> None:
    """A retry keeps the order: what comes later waits with it."""
    await put(store, "a1", "a2")
    [head] = await due(store)
    await store.delivered(head.delivery_id, "pending", next_attempt_at=START + timedelta(seconds=30))
    assert await due(store) == []
    clock.advance(30)
    [again] = await due(store)
    assert (again.delivery_id, again.attempts) == (head.delivery_id, 1)


async def test_what_ended_without_being_sent_makes_way(store: SqlStore) -> None:
    """Failed, unsure and expired deliveries do not block their address."""
    await put(store, "a1", "a2", "a3", "a4")
    for status in ("failed", "unsure", "expired"):
        [head] = await due(store)
        await store.delivered(head.delivery_id, status)
    assert [head.text for head in await due(store)] == ["a4"]


async def test_a_card_is_found_again_where_it_was_sent(store: SqlStore) -> None:
    """The platform's id of a card belongs to one approval and one address."""
    state = await given.parked(store)
    approval_id = state.approvals[0].approval_id
    cards = tuple(given.delivery(kind="approval", to=to, approval_id=approval_id) for to in (given.CHAT, OTHER))
    await store.change(state.task.task_id, lambda _: Step(deliveries=cards))
    first, second = await due(store)
    await store.delivered(first.delivery_id, "sent", sent_as="1.5")
    assert await store.card_sent_as(approval_id, given.CHAT) == "1.5"
    assert await store.card_sent_as(approval_id, OTHER) is None
    await store.delivered(second.delivery_id, "sent", sent_as="77")
    assert await store.card_sent_as(approval_id, OTHER) == "77"
    assert await store.card_sent_as(approval_id + 1, OTHER) is None


@pytest.mark.parametrize("url", [POSTGRES], indirect=True)
async def test_processes_do_not_send_the_same(open_another: OpenStore, store: SqlStore) -> None:
    """A lease in the row keeps other processes away until it runs out; asking again renews it."""
    other = await open_another()
    await put(store, "a1", "a2")
    [head] = await due(store)
    assert await due(other) == []
    await given.sql(store, "UPDATE deliveries SET leased_until = 0")
    assert await due(store, head) == []  # renews
    assert await due(other) == []
    await given.sql(store, "UPDATE deliveries SET leased_until = 0")
    assert [one.text for one in await due(other)] == ["a1"]
    await store.delivered(head.delivery_id, "sent")
    assert [one.text for one in await due(other)] == ["a2"]
