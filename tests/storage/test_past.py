"""What is kept of earlier conversation is what the database holds, whoever wrote it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from agent import history
from agent.domain import Entry, TaskStatus
from agent.history import Ended
from agent.past import LIMIT_BYTES, Past
from agent.ports.store import Step, TaskState
from storage.blobs import FileBlobs
from storage.retention import Retention, RetentionSettings
from storage.store.sql import SqlStore
from tests.agent.journal import MODEL, result, says, user
from tests.clock import FakeClock
from tests.storage import given
from tests.storage.conftest import OpenStore

CONTEXT_TOKENS = 3_000
ENDS: list[TaskStatus] = ["done", "done", "failed", "cancelled"]


async def agree(past: Past, store: SqlStore, state: TaskState) -> list[Ended]:
    """The prompt from what is kept is the prompt from what is stored, byte for byte."""
    kept = await past.before(state)
    read = [Ended(one) for one in (await store.earlier(state.session, state.task.seq)).tasks]
    for model in (MODEL, "groq/other"):
        assert history.messages(state, kept, model) == history.messages(state, read, model)
    assert history.next_window(state, kept, CONTEXT_TOKENS) == history.next_window(state, read, CONTEXT_TOKENS)
    return kept


def journal(random: Random) -> tuple[Entry, ...]:
    turns = [
        entry
        for _ in range(random.randrange(3))
        for entry in (
            says("", (f"c{random.randrange(9)}", "grep", "{}"), reasoning="R"),
            result(f"c{random.randrange(9)}", "r" * random.randrange(300)),
        )
    ]
    return user(), *turns, *([says("ä 😀")] * random.randrange(2))


@pytest.mark.parametrize("limit", [LIMIT_BYTES, 20_000])
@pytest.mark.parametrize("seed", range(4))
async def test_prompts_are_the_same_with_and_without(
    open_another: OpenStore, clock: FakeClock, tmp_path: Path, seed: int, limit: int
) -> None:
    """Two processes take turns in one session: tool turns, failures, waiting, stops, jumps of the window, retention."""
    random = Random(seed)
    stores = [await open_another(), await open_another()]
    pasts = [Past(store, limit) for store in stores]
    blobs = FileBlobs(tmp_path / "blobs")
    for number in range(50):
        which = random.randrange(2)
        store, past = stores[which], pasts[which]
        clock.advance(86_400)
        if random.random() < 0.15:
            settings = RetentionSettings.model_validate({"tasks": f"{random.randrange(1, 10)}d"})
            await Retention(settings=settings, database=store.database, blobs=blobs, clock=clock).sweep()
        state = await given.claimed(store, owner=f"worker {which}", text=f"Request {number}\x00")
        rows = journal(random)
        state = replace(state, entries=rows)
        kept = await agree(past, store, state)
        window = history.next_window(state, kept, CONTEXT_TOKENS)
        status: TaskStatus = random.choice(ENDS)
        answer = "a\x00" * random.randrange(200)
        await store.advance(given.key(state), Step(entries=rows, status=status, answer=answer, window=window))


async def test_a_task_that_comes_back_has_the_same_past(store: SqlStore) -> None:
    """Claimed again after a drain, nothing that ended is missing and its own rows are not among them."""
    past = Past(store)
    await given.finish(store, await given.claimed(store))
    await given.accept(store)
    for _ in range(2):
        [state] = await store.claim("worker", 1)
        assert [one.past.task.seq for one in await agree(past, store, state)] == [1]
        await store.requeue("worker")


async def test_only_so_many_bytes_are_kept(store: SqlStore) -> None:
    """The session that was used longest ago is given up first; one that is too large is not kept at all."""
    past = Past(store, 2 * history.TASK_WEIGHT + 4 * history.ENTRY_WEIGHT)
    first: dict[str, list[Ended]] = {}
    for thread in "abc":
        address = replace(given.CHAT, thread=thread)
        await given.finish(store, await given.claimed(store, address=address))
        state = await given.claimed(store, address=address)
        first[thread] = await past.before(state)
        await store.requeue("worker")
    states = {state.session.address.thread: state for state in await store.claim("worker", 9)}
    same = {thread: (await past.before(states[thread]))[0] is first[thread][0] for thread in "cba"}
    assert same == {"c": True, "b": True, "a": False}
