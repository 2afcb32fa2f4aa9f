"""Retention: what is old goes, what is open or needed stays."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest

from agent.domain import Target, Usage
from agent.ports.store import CallChange, NewArtifact, Step
from storage import retention
from storage.blobs import FileBlobs
from storage.retention import Removed, Retention, RetentionSettings
from storage.store.sql import SqlStore
from tests.clock import START, FakeClock
from tests.storage import given

DAY = 24 * 60 * 60
TABLES = ("tasks", "sessions", "journal", "calls", "approvals", "artifacts", "deliveries", "usage", "received")


@pytest.fixture
def blobs(tmp_path: Path) -> FileBlobs:
    return FileBlobs(tmp_path / "blobs")


@pytest.fixture
def keeper(store: SqlStore, blobs: FileBlobs, clock: FakeClock) -> Retention:
    settings = RetentionSettings.model_validate({"tasks": "10d", "blobs": "5d", "undo": "2d"})
    return Retention(settings=settings, database=store.database, blobs=blobs, clock=clock)


async def put(blobs: FileBlobs, content: bytes) -> str:
    """As old as the fake clock's start."""
    sha256 = await blobs.put(content)
    path = blobs.path(sha256)
    assert path
    os.utime(path, (START.timestamp(), START.timestamp()))
    return sha256


async def counts(store: SqlStore) -> dict[str, int]:
    return {table: await given.sql(store, f"SELECT count(*) FROM {table}") for table in TABLES}


async def ended(store: SqlStore) -> int:
    """A task that has a row in every table."""
    state = await given.parked(store)
    artifact = NewArtifact(name="a", path="a", media_type="text/plain", size_bytes=1, sha256="a" * 64)
    step = Step(
        artifacts=(artifact,),
        deliveries=(given.delivery(),),
        usage=(Usage(model="m", input_tokens=1, output_tokens=1),),
        status="done",
    )
    await store.change(state.task.task_id, lambda _: step)
    return state.task.task_id


async def test_an_old_task_goes_with_everything(store: SqlStore, keeper: Retention, clock: FakeClock) -> None:
    """All of its rows and its empty session; its key stays known for 30 days, and a repeat makes no new task."""
    await ended(store)
    assert set((await counts(store)).values()) == {1}
    clock.advance(10 * DAY)
    assert (await keeper.sweep()).tasks == 0
    clock.advance(1)
    assert await keeper.sweep() == Removed(tasks=1, keys=0, blobs=0)
    assert await counts(store) == dict.fromkeys(TABLES, 0) | {"received": 1}
    key = await given.sql(store, "SELECT dedup_key FROM received")
    repeated = await given.accept(store, dedup_key=key)
    assert (repeated.fresh, repeated.status) == (False, "done")
    clock.advance(20 * DAY)
    assert (await keeper.sweep()).keys == 1


async def test_a_key_stays_as_long_as_its_task(store: SqlStore, blobs: FileBlobs, clock: FakeClock) -> None:
    """Longer than 30 days when the task is kept longer; what was answered without a task goes then."""
    await ended(store)
    await store.receive(given.received(outcome="stranger"))
    keeper = Retention(settings=RetentionSettings(), database=store.database, blobs=blobs, clock=clock)
    clock.advance(30 * DAY)
    assert await keeper.sweep() == Removed(tasks=0, keys=0, blobs=0)
    clock.advance(1)
    assert await keeper.sweep() == Removed(tasks=0, keys=1, blobs=0)
    clock.advance(70 * DAY)
    assert await keeper.sweep() == Removed(tasks=0, keys=0, blobs=0)
    assert await given.sql(store, "SELECT outcome FROM received") == "task"


async def test_open_tasks_stay(store: SqlStore, keeper: Retention, clock: FakeClock) -> None:
    """A session's open task keeps the session, and the old ended one beside it goes."""
    first = await ended(store)
    second = await given.parked(store)
    clock.advance(1_000 * DAY)
    assert (await keeper.sweep()).tasks == 1
    assert [task.task_id for task in await store.tasks()] == [second.task.task_id] != [first]
    assert (await given.claimed(store, address=given.OTHER_CHAT)).task.seq == 1
    assert (await store.load((await given.accept(store)).task_id)).task.seq == 3


async def test_many_go_in_small_batches(store: SqlStore, keeper: Retention, clock: FakeClock) -> None:
    """More than a batch holds, over several sessions."""
    many = retention.BATCH + 1
    for _ in await given.accept_many(store, many):
        [state] = await store.claim("worker", 1)
        await given.finish(store, state)
    clock.advance(31 * DAY)
    assert await keeper.sweep() == Removed(tasks=many, keys=many, blobs=0)
    assert set((await counts(store)).values()) == {0}


async def test_blobs_go_by_what_they_are_for(
    store: SqlStore, keeper: Retention, clock: FakeClock, blobs: FileBlobs
) -> None:
    """Undo bytes after `undo`, artifacts after `blobs`, bytes that no row names after a day."""
    undo, file, stray = [await put(blobs, content) for content in (b"undo", b"file", b"stray")]
    state = await given.claimed(store)
    target = Target(path="a", base_sha256=undo, intended_sha256=file)
    artifact = NewArtifact(name="a", path="a", media_type="text/plain", size_bytes=4, sha256=file)
    step = Step(new_calls=(given.call(targets=(target,), status="done"),), artifacts=(artifact,), status="done")
    await store.advance(given.key(state), step)
    left = []
    for seconds in (DAY, 1, DAY, 3 * DAY):
        clock.advance(seconds)
        await keeper.sweep()
        left.append({name for name in (undo, file, stray) if blobs.path(name)})
    assert left == [{undo, file, stray}, {undo, file}, {file}, set()]
    assert hashlib.sha256(b"file").hexdigest() == file
    assert len(await store.artifacts(state.task.task_id)) == 1


async def test_an_open_tasks_undo_bytes_stay(
    store: SqlStore, keeper: Retention, clock: FakeClock, blobs: FileBlobs
) -> None:
    """However long it waits."""
    undo = await put(blobs, b"undo")
    state = await given.parked(store)
    target = Target(path="a", base_sha256=undo, intended_sha256=None)
    change = CallChange(call_id="c1", status="waiting", targets=(target,))
    await store.change(state.task.task_id, lambda _: Step(call_changes=(change,)))
    clock.advance(1_000 * DAY)
    await keeper.sweep()
    assert blobs.path(undo)
