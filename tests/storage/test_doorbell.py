"""The bell of one process."""

from __future__ import annotations

import asyncio

import pytest

from storage.doorbell import REMEMBERED, LocalDoorbell
from tests.storage import given


@pytest.fixture
def doorbell() -> LocalDoorbell:
    return LocalDoorbell()


async def waiter(doorbell: LocalDoorbell, topic: str) -> asyncio.Task[None]:
    task = asyncio.create_task(given.rings(doorbell, topic))
    await asyncio.sleep(0)
    return task


async def test_a_ring_wakes_everybody_who_waits_for_its_topic(doorbell: LocalDoorbell) -> None:
    """And nobody else; having been heard it is over."""
    first, second, other = [await waiter(doorbell, topic) for topic in ("a", "a", "b")]
    doorbell.ring("a")
    await asyncio.gather(first, second)
    again = await waiter(doorbell, "a")
    assert (other.done(), again.done()) == (False, False)
    doorbell.ring_all()
    await asyncio.gather(other, again)


async def test_a_ring_that_nobody_heard_is_kept_once(doorbell: LocalDoorbell) -> None:
    """Work that came between a look and the wait is not missed."""
    doorbell.ring("a")
    doorbell.ring("a")
    await given.rings(doorbell, "a")
    assert not (await waiter(doorbell, "a")).done()


async def test_a_wait_ends_by_itself(doorbell: LocalDoorbell) -> None:
    """Without a ring it ends after its time, and nothing of it is left."""
    await doorbell.wait("a", 0)
    doorbell.ring("a")
    await given.rings(doorbell, "a")


async def test_a_cancelled_waiter_does_not_take_the_ring_with_him(doorbell: LocalDoorbell) -> None:
    """Rung and cancelled in the same moment: the next one hears it."""
    gone = await waiter(doorbell, "a")
    doorbell.ring("a")
    gone.cancel()
    with pytest.raises(asyncio.CancelledError):
        await gone
    await given.rings(doorbell, "a")


async def test_rings_of_ended_tasks_do_not_pile_up(doorbell: LocalDoorbell) -> None:
    """A topic per task is forgotten in the order of ringing when nobody waits for it."""
    for number in range(REMEMBERED + 1):
        doorbell.ring(f"task:{number}")
    assert not (await waiter(doorbell, "task:0")).done()
    assert (await waiter(doorbell, f"task:{REMEMBERED}")).done()
