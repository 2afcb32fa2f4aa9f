"""What only one process may do at a time."""

from __future__ import annotations

import asyncio

import pytest

from storage.store.sql import SqlStore
from tests.clock import FakeClock
from tests.storage import given
from tests.storage.conftest import POSTGRES, OpenStore
from tests.storage.test_processes import together

TAKE = """
    print(await store.lease("poll", sys.argv[2], 60))
"""
PAST = "UPDATE leases SET until = 0"


async def test_one_has_it_the_others_stand_by(store: SqlStore, open_another: OpenStore) -> None:
    """Its owner renews it as often as they like; another name is another lease."""
    other = await open_another()
    assert await store.lease("poll", "one", 30)
    assert await store.lease("poll", "one", 30)
    assert not await other.lease("poll", "two", 30)
    assert await other.lease("poll:other bot", "two", 30)
    assert not await store.lease("poll:other bot", "one", 30)


async def test_given_back_it_is_anybodys(store: SqlStore) -> None:
    """At once; nobody gives back what is not theirs, and giving back nothing does nothing."""
    assert await store.lease("poll", "one", 30)
    assert not await store.lease("poll", "two", 0)
    assert not await store.lease("poll", "two", 30)
    assert not await store.lease("poll", "one", 0)
    assert not await store.lease("poll", "one", 0)
    assert await store.lease("poll", "two", 30)
    assert not await store.lease("poll", "one", 30)


async def test_whoever_died_loses_it(store: SqlStore) -> None:
    """With its time; who comes back late finds that it is another's."""
    assert await store.lease("poll", "one", 30)
    await given.sql(store, PAST)
    assert await store.lease("poll", "two", 30)
    assert not await store.lease("poll", "one", 30)


@pytest.mark.parametrize("url", ["sqlite"], indirect=True)
async def test_on_sqlite_by_the_clock_of_the_process(store: SqlStore, clock: FakeClock) -> None:
    """Not before the last second is over; a renewal counts from when it is made."""
    assert await store.lease("poll", "one", 30)
    clock.advance(20)
    assert await store.lease("poll", "one", 30)
    clock.advance(30)
    assert not await store.lease("poll", "two", 30)
    clock.advance(0.001)
    assert await store.lease("poll", "two", 0.5)
    clock.advance(0.6)
    assert await store.lease("poll", "one", 30)


@pytest.mark.parametrize("url", [POSTGRES], indirect=True)
async def test_on_postgres_by_the_clock_of_the_server(store: SqlStore, clock: FakeClock) -> None:
    """A machine whose own clock runs ahead takes nothing away from others."""
    assert await store.lease("poll", "one", 3600)
    clock.advance(86_400)
    assert not await store.lease("poll", "two", 3600)
    assert await store.lease("other", "one", 0.2)
    await asyncio.sleep(0.3)
    assert await store.lease("other", "two", 0.2)


async def test_of_many_who_reach_for_it_one_gets_it(store: SqlStore, open_another: OpenStore) -> None:
    """Two stores at the same moment, when there is none and when it has run out."""
    stores = [store, await open_another()]
    for _ in range(5):
        taken = await asyncio.gather(*(stores[number % 2].lease("poll", f"{number}", 60) for number in range(8)))
        assert sum(taken) == 1
        await given.sql(store, PAST)


async def test_two_processes_reach_for_it(store: SqlStore, url: str) -> None:
    """One of them polls, the other stands by instead of fighting."""
    assert sorted(word.strip() for word in await together(TAKE, url, 2)) == ["False", "True"]
