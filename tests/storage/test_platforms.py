"""What chat platforms keep in the rows: files to be fetched, parts that were sent, what shows a task at work."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from pathlib import Path

import pytest

from agent.domain import Address, AwaitedFile, Delivery
from agent.errors import NotFound
from agent.ports.store import Step
from storage.blobs import FileBlobs
from storage.retention import Retention, RetentionSettings
from storage.store.sql import SqlStore
from tests.clock import START, FakeClock
from tests.storage import given
from tests.storage.conftest import OpenStore

PHOTO = AwaitedFile(channel="slack", reference="F1", name="photo.png", size_bytes=12)
NOTE = AwaitedFile(channel="slack", reference="F2", name="Notiz 好.txt")
THREAD, CHANNEL = given.CHAT, Address(channel="slack", conversation="C1")


async def sent(store: SqlStore) -> Delivery:
    """A delivery that is due."""
    state = await given.claimed(store)
    await store.advance(given.key(state), Step(deliveries=(given.delivery(),)))
    [delivery] = await store.due(START, 10, frozenset())
    return delivery


# --- files to be fetched ---


async def test_a_task_knows_what_it_awaits(store: SqlStore, open_another: OpenStore) -> None:
    """In order, with the request's own id on the platform, for whoever claims or looks; most tasks await nothing."""
    accepted = await given.accept(store, awaited_files=(PHOTO, NOTE), message_id="1.5")
    [claimed] = await store.claim("worker", 1)
    elsewhere = await (await open_another()).load(accepted.task_id)
    for state in (claimed, elsewhere):
        assert (state.task.awaited_files, state.task.message_id, state.task.files) == ((PHOTO, NOTE), "1.5", ())
    plain = (await given.claimed(store, address=given.OTHER_CHAT)).task
    assert (plain.awaited_files, plain.message_id) == ((), None)


async def test_files_that_were_fetched_are_awaited_no_more(store: SqlStore) -> None:
    """With the step that writes the request down; other steps leave them as they are."""
    state = await given.claimed(store, awaited_files=(PHOTO, NOTE))
    run = given.key(state)
    await store.advance(run, Step(entries=given.said("…")))
    assert (await store.load(run.task_id)).task.awaited_files == (PHOTO, NOTE)
    await store.advance(run, Step(files=("inbox/photo.png",)))
    task = (await store.load(run.task_id)).task
    assert (task.files, task.awaited_files) == (("inbox/photo.png",), ())
    await store.advance(run, Step(entries=given.said("bye"), status="done"))
    assert (await store.load(run.task_id)).task.files == ("inbox/photo.png",)


async def test_of_which_none_could_be_had(store: SqlStore) -> None:
    """Nothing is there, and nothing is awaited."""
    state = await given.claimed(store, awaited_files=(PHOTO,))
    await store.advance(given.key(state), Step(files=()))
    task = (await store.load(state.task.task_id)).task
    assert (task.files, task.awaited_files) == ((), ())


async def test_somebody_elses_files_stay(store: SqlStore) -> None:
    """Of another task that waits for its own."""
    state = await given.claimed(store, awaited_files=(PHOTO,))
    other = await given.claimed(store, awaited_files=(NOTE,), address=given.OTHER_CHAT)
    await store.advance(given.key(state), Step(files=()))
    assert (await store.load(other.task.task_id)).task.awaited_files == (NOTE,)


# --- parts of a delivery ---


async def test_the_next_attempt_knows_what_arrived(store: SqlStore, clock: FakeClock) -> None:
    """In the order in which it was sent; what the last attempt answers stands beside it."""
    delivery = await sent(store)
    assert delivery.parts == ()
    for part in ("1.1", "1.2"):
        await store.part_sent(delivery.delivery_id, part)
    await store.delivered(delivery.delivery_id, "pending", next_attempt_at=START + timedelta(seconds=5))
    clock.advance(5)
    [again] = await store.due(clock.now(), 10, frozenset())
    assert (again.parts, again.attempts, again.sent_as) == (("1.1", "1.2"), 1, None)


async def test_parts_that_are_sent_at_once_are_all_known(store: SqlStore, open_another: OpenStore) -> None:
    """Also over two processes: none overwrites another."""
    delivery, other = await sent(store), await open_another()
    parts = [f"F{number}" for number in range(12)]
    await asyncio.gather(
        *((store, other)[number % 2].part_sent(delivery.delivery_id, part) for number, part in enumerate(parts))
    )
    await store.delivered(delivery.delivery_id, "pending")
    [again] = await store.due(START, 10, frozenset())
    assert sorted(again.parts) == sorted(parts)


async def test_a_part_of_nothing(store: SqlStore) -> None:
    """A delivery that retention removed."""
    with pytest.raises(NotFound, match="no delivery 77"):
        await store.part_sent(77, "1.1")


# --- what shows a task at work ---


async def test_what_shows_a_task_is_found_again(store: SqlStore, open_another: OpenStore) -> None:
    """One message for each task and place; a newer one takes its place, and it can be taken away."""
    one, two = [(await given.accept(store, address=place)).task_id for place in (THREAD, given.OTHER_CHAT)]
    assert await store.live_message(one, THREAD) is None
    for task_id, place, message in ((one, THREAD, "1"), (one, CHANNEL, "2"), (two, THREAD, "3"), (one, THREAD, "4")):
        await store.save_live_message(task_id, place, message)
    elsewhere = await open_another()
    assert [await elsewhere.live_message(one, place) for place in (THREAD, CHANNEL, given.OTHER_CHAT)] == [
        "4",
        "2",
        None,
    ]
    await elsewhere.save_live_message(one, THREAD, None)
    await elsewhere.save_live_message(one, THREAD, None)
    assert await store.live_message(one, THREAD) is None
    assert await store.live_message(one, CHANNEL) == "2"
    assert await store.live_message(two, THREAD) == "3"


async def test_two_that_show_the_same_task_at_once(store: SqlStore, open_another: OpenStore) -> None:
    """One of them counts and nobody fails."""
    task_id, other = (await given.accept(store)).task_id, await open_another()
    await asyncio.gather(
        *((store, other)[number % 2].save_live_message(task_id, THREAD, f"{number}") for number in range(10))
    )
    assert await store.live_message(task_id, THREAD) in {f"{number}" for number in range(10)}


async def test_it_goes_with_its_task(store: SqlStore, clock: FakeClock, tmp_path: Path) -> None:
    """When retention removes that."""
    state = await given.claimed(store)
    await given.finish(store, state)
    await store.save_live_message(state.task.task_id, THREAD, "1")
    clock.advance(200 * 86_400)
    blobs = FileBlobs(tmp_path / "blobs")
    await Retention(settings=RetentionSettings(), database=store.database, blobs=blobs, clock=clock).sweep()
    assert await given.sql(store, "SELECT count(*) FROM live_messages") == 0
