"""Real processes on one database."""

from __future__ import annotations

import asyncio
import sys
from asyncio.subprocess import PIPE, Process
from collections import Counter
from pathlib import Path

import pytest

from storage.store.sql import SqlStore
from tests.clock import FakeClock
from tests.storage import given

ROOT = Path(__file__).parents[2]
PRELUDE = """
import asyncio, sys
from storage.store.sql import open_store
from tests.clock import FakeClock
from tests.storage import given

async def main():
    store = await open_store(sys.argv[1], clock=FakeClock())
    print("ready", flush=True)
    sys.stdin.readline()
"""
CLAIM_ALL = """
    while states := await store.claim(sys.argv[2], 2):
        assert len(states) <= 2
        print(*(state.task.task_id for state in states))
"""
ACCEPT_ONE = """
    print((await given.accept(store, dedup_key="event", text=sys.argv[2])).fresh)
"""
CLAIM_AND_HANG = """
    print(*(state.task.epoch for state in await store.claim(sys.argv[2], 1)), flush=True)
    await asyncio.sleep(600)
"""


async def begin(body: str, url: str, name: str) -> Process:
    """A process that has opened the database and waits for its line."""
    code = f"{PRELUDE}{body}    await store.close()\nasyncio.run(main())"
    child = await asyncio.create_subprocess_exec(
        sys.executable, "-c", code, url, name, cwd=ROOT, stdin=PIPE, stdout=PIPE, stderr=PIPE
    )
    assert child.stdout
    if await child.stdout.readline() != b"ready\n":
        _, problem = await child.communicate()
        pytest.fail(problem.decode())
    return child


async def together(body: str, url: str, number: int) -> list[str]:
    """What so many processes print that start at the same moment."""
    children = [await begin(body, url, f"process {place}") for place in range(number)]
    outcomes = await asyncio.gather(*(child.communicate(b"go\n") for child in children))
    assert [child.returncode for child in children] == [0] * number, outcomes
    return [printed.decode() for printed, _ in outcomes]


async def test_two_processes_claim_each_task_once(store: SqlStore, url: str) -> None:
    """J8: two processes, two tasks a claim: none is lost, none is taken twice."""
    accepted = await given.accept_many(store, 25)
    printed = await together(CLAIM_ALL, url, 2)
    taken = [int(word) for words in printed for word in words.split()]
    assert sorted(taken) == accepted


async def test_two_processes_and_one_task(store: SqlStore, url: str) -> None:
    """J8: two claimers, one row: exactly one gets it."""
    [task_id] = await given.accept_many(store, 1)
    assert "".join(await together(CLAIM_ALL, url, 2)).split() == [str(task_id)]


async def test_two_processes_accept_one_event(store: SqlStore, url: str) -> None:
    """J10: the event that two processes got at the same moment is one task."""
    printed = await together(ACCEPT_ONE, url, 2)
    assert Counter(word.strip() for word in printed) == {"True": 1, "False": 1}
    assert len(await store.tasks()) == 1


async def test_a_killed_process_loses_its_task(store: SqlStore, url: str, clock: FakeClock) -> None:
    """J5: kill -9 in the middle of a run: after the lease another worker goes on, and a boot needs not even wait."""
    await given.accept_many(store, 1)
    child = await begin(CLAIM_AND_HANG, url, "killed")
    assert child.stdin
    assert child.stdout
    child.stdin.write(b"go\n")
    assert await child.stdout.readline() == b"1\n"
    child.kill()
    await child.wait()
    await store.reap()
    assert await store.claim("other", 1) == []
    clock.advance(31)
    await given.sql(store, "UPDATE tasks SET lease_until = lease_until - 31000000")  # the clock of PostgreSQL is real
    await store.reap()
    [state] = await store.claim("other", 1)
    assert (state.task.epoch, state.task.crashes) == (2, 1)
