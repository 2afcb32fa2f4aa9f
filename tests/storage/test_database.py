"""Transactions as functions, the same on both engines."""

from __future__ import annotations

import asyncio
import random
from functools import partial

import pytest
from sqlalchemy import Connection, text

from agent.domain import Address
from agent.errors import BadInput, StorageError
from agent.ports.store import Step
from storage.doorbell import ring
from storage.faults import Clash
from storage.store.sql import SqlStore
from tests.storage import given
from tests.storage.conftest import OpenStore

INSERT = text("INSERT INTO hooks (name, token_sha256, deliver) VALUES (:name, 'x', '[]')")
NAMES = text("SELECT name FROM hooks ORDER BY name")


def insert(connection: Connection, name: str) -> str:
    connection.execute(INSERT, {"name": name})
    return name


async def names(store: SqlStore) -> list[str]:
    return await store.database.read(lambda connection: list(connection.execute(NAMES).scalars()))


async def test_a_failing_function_is_rolled_back_alone(store: SqlStore) -> None:
    """Of many functions that share a commit each keeps or loses its own rows, and gets its own error."""

    def work(name: str, connection: Connection) -> str:
        insert(connection, name)
        if name == "b":
            raise BadInput("no b")
        if name == "c":
            insert(connection, "a")
        return name

    works = (store.database.write(partial(work, name)) for name in "abcd")
    outcomes = await asyncio.gather(*works, return_exceptions=True)
    assert [type(outcome) for outcome in outcomes] == [str, BadInput, Clash, str]
    assert await names(store) == ["a", "d"]


async def test_a_mistake_of_ours_stays_what_it_is(store: SqlStore) -> None:
    """Only a driver's errors are translated; whatever else happens, the next write works."""
    with pytest.raises(ZeroDivisionError):
        await store.database.write(given.failing(ZeroDivisionError()))
    with pytest.raises(StorageError, match="nonsense"):
        await given.sql(store, "nonsense")
    assert await store.database.write(lambda connection: insert(connection, "a")) == "a"


async def test_reading_before_writing_does_not_lose_against_another_writer(
    store: SqlStore, open_another: OpenStore
) -> None:
    """J1: functions that read first and write then, from two places at once, all succeed; none is told `locked`."""
    other = await open_another()

    def work(name: str, connection: Connection) -> None:
        connection.execute(NAMES).all()
        insert(connection, name)

    wanted = [f"{number:03}" for number in range(60)]
    await asyncio.gather(
        *((store, other)[number % 2].database.write(partial(work, name)) for number, name in enumerate(wanted))
    )
    assert await names(store) == wanted


async def test_a_cancelled_write_is_whole(store: SqlStore) -> None:
    """J3: a caller cancelled at any moment leaves no open transaction: both rows are there, or none is."""
    chance = random.Random(1)

    def work(name: str, connection: Connection) -> None:
        insert(connection, f"{name}-1")
        insert(connection, f"{name}-2")

    for number in range(30):
        caller = asyncio.create_task(store.database.write(partial(work, f"{number:02}")))
        await asyncio.sleep(chance.random() / 1_000)
        caller.cancel()
        await asyncio.wait([caller])
        found = await names(store)
        assert found == [f"{n:02}-{part}" for n in sorted({int(name[:2]) for name in found}) for part in (1, 2)]
    await store.database.write(lambda connection: insert(connection, "last"))


async def test_a_cancelled_caller_waits_for_its_transaction(store: SqlStore) -> None:
    """When the caller goes on, nothing is written behind its back; its failure is nobody's forgotten error."""
    caller = asyncio.create_task(store.database.write(given.failing(ZeroDivisionError())))
    await asyncio.sleep(0)
    caller.cancel()
    with pytest.raises(asyncio.CancelledError):
        await caller


async def test_the_bell_rings_with_the_commit_only(store: SqlStore, open_another: OpenStore) -> None:
    """A ring of a function that failed is not heard."""
    await _until_listening(store, await open_another())

    def work(topic: str, connection: Connection) -> None:
        ring(connection, topic)
        if topic == "lost":
            raise BadInput("no")

    waiting = {topic: asyncio.create_task(given.rings(store.doorbell, topic)) for topic in ("kept", "lost")}
    await asyncio.sleep(0)
    works = (store.database.write(partial(work, topic)) for topic in waiting)
    await asyncio.gather(*works, return_exceptions=True)
    await waiting["kept"]
    assert not waiting["lost"].done()
    waiting["lost"].cancel()


async def test_verbs_ring(store: SqlStore) -> None:
    """`tasks` when one became runnable, `outbox` for a delivery, `cancel`, and `task:<id>` when it stops running."""
    heard: list[str] = []

    async def listen(topic: str) -> None:
        await given.rings(store.doorbell, topic)
        heard.append(topic)

    task_id = (await given.accept(store)).task_id
    await listen("tasks")
    [state] = await store.claim("worker", 1)
    await store.request_cancel(task_id)
    await listen("cancel")
    await store.advance(given.key(state), Step(deliveries=(given.delivery(),)))
    await listen("outbox")
    await given.finish(store, state)
    await listen(f"task:{task_id}")
    assert heard == ["tasks", "cancel", "outbox", f"task:{task_id}"]


async def test_the_end_of_a_task_rings_for_the_next_of_its_session(store: SqlStore, open_another: OpenStore) -> None:
    """What waited behind it is runnable now; a session with nothing more rings nobody."""
    await _until_listening(store, await open_another())
    alone = await given.claimed(store, address=given.OTHER_CHAT)
    followed = await given.claimed(store)
    later = await given.accept(store)
    await store.doorbell.wait("tasks", 0)
    waiting = asyncio.create_task(given.rings(store.doorbell, "tasks"))
    await given.finish(store, alone)
    assert not waiting.done()
    await given.finish(store, followed)
    await waiting
    assert [again.task.task_id for again in await store.claim("worker", 1)] == [later.task_id]


async def test_another_process_is_heard(store: SqlStore, open_another: OpenStore) -> None:
    """What one process commits wakes the waiters of another."""
    other = await open_another()
    await _until_listening(store, other)
    waiting = asyncio.create_task(given.rings(store.doorbell, "tasks"))
    await given.accept(other, address=given.OTHER_CHAT)
    await waiting


async def _until_listening(store: SqlStore, other: SqlStore) -> None:
    """Ring from afar until it is heard once, then drop what is still in the air.

    A start of PostgreSQL's listener rings everything; SQLite notices commits that change something.
    """
    await given.accept(store, address=Address(channel="cli", conversation="probe"))
    heard = asyncio.create_task(given.rings(store.doorbell, "probe"))
    while not heard.done():
        await other.database.write(lambda connection: ring(connection, "probe"))
        await given.sql(other, "UPDATE sessions SET last_seq = last_seq + 1")
        await asyncio.sleep(0.05)
    await heard
    await asyncio.sleep(0.3)
    for topic in ("tasks", "probe"):
        await store.doorbell.wait(topic, 0)


async def test_a_closed_database_says_so(store: SqlStore, open_another: OpenStore) -> None:
    """Nobody waits for ever on a database that was closed."""
    other = await open_another()
    await other.close()
    with pytest.raises(StorageError, match="closed"):
        await other.tasks()
    assert await store.tasks() == []
