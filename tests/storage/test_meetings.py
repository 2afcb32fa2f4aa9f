"""PostgreSQL, where two transactions can meet half-way: one waits for the other's commit and then goes on from it."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from dataclasses import replace
from typing import Any, TypeVar

import pytest
from sqlalchemy import text
from sqlalchemy.ext.asyncio import create_async_engine

from agent.errors import Conflict
from agent.ports.store import Step, TaskState
from storage.store.people import SqlRoster
from storage.store.sql import SqlStore
from tests.storage import given
from tests.storage.conftest import POSTGRES
from tests.storage.test_people import ANN, KNOCK, act, link

pytestmark = [
    pytest.mark.postgres,
    pytest.mark.xdist_group("postgres"),
    pytest.mark.parametrize("url", [POSTGRES], indirect=True),
]
T = TypeVar("T")
PRESS = "INSERT INTO received (dedup_key, kind, outcome, who, received_at) VALUES ('k', 'press', 'command', 'bob', 0)"
ASKED = (
    "INSERT INTO pairings SELECT 'slack:U' || n, '', 'c' || n, asked_at, expires_at FROM generate_series(2, 3) AS n,"
    " (SELECT asked_at, expires_at FROM pairings LIMIT 1) AS first"
)


@pytest.fixture
def roster(store: SqlStore) -> SqlRoster:
    return SqlRoster(store.database)


async def meet(store: SqlStore, url: str, statements: tuple[str, ...], work: Coroutine[Any, Any, T]) -> T:
    """What `work` does when it comes in its way to rows that another process has written and not committed yet."""
    engine = create_async_engine(url)
    async with engine.connect() as other:
        for statement in statements:
            await other.execute(text(statement))
        working = asyncio.ensure_future(work)
        while not await given.sql(store, "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"):
            assert not working.done(), "It did not meet the other."
        await other.commit()
    await engine.dispose()
    return await working


async def test_a_press_meets_itself(store: SqlStore, url: str) -> None:
    """The key was not there when it looked, and is when it writes: nothing of its step is stored."""
    state = await given.parked(store)
    asked = []

    def plan(current: TaskState) -> Step:
        asked.append(current)
        return Step(entries=given.said("decided"), status="queued", received=given.received(dedup_key="k"))

    assert await meet(store, url, (PRESS,), store.change(state.task.task_id, plan, key="k")) is None
    assert asked == [state]
    assert await store.load(state.task.task_id) == state


async def test_a_message_meets_a_press(store: SqlStore, url: str) -> None:
    """A message whose key is being received for something else makes no task, and says so."""
    with pytest.raises(Conflict, match="made no task"):
        await meet(store, url, (PRESS,), given.accept(store, dedup_key="k"))
    assert await store.tasks() == []


async def test_a_message_meets_a_change(store: SqlStore, url: str) -> None:
    """It belongs to the task whose card it answered at another process."""
    state = await given.parked(store)
    answered = PRESS.replace("received_at)", "received_at, task_id, session_id)").replace(
        " 0)", f" 0, {state.task.task_id}, {state.session.session_id})"
    )
    accepted = await meet(store, url, (answered,), given.accept(store, dedup_key="k", address=given.OTHER_CHAT))
    assert (accepted.task_id, accepted.fresh, accepted.status) == (state.task.task_id, False, "waiting_approval")
    assert len(await store.tasks()) == 1


async def test_a_knock_meets_itself(store: SqlStore, url: str) -> None:
    """It is answered by one of the two."""
    event = given.received(dedup_key="k", outcome="stranger")
    assert not await meet(store, url, (PRESS,), store.receive(event, (given.delivery(),)))
    assert await given.sql(store, "SELECT count(*) FROM deliveries") == 0


async def test_a_stranger_meets_the_last_one_let_in(store: SqlStore, roster: SqlRoster, url: str) -> None:
    """Who asks while others are asking counts them."""
    await roster.ask_pairing(KNOCK, 3)
    fourth = replace(KNOCK, identity="slack:U4", code="c4")
    assert await meet(store, url, (ASKED,), roster.ask_pairing(fourth, 3)) is None


async def test_an_admission_meets_another(store: SqlStore, roster: SqlRoster, url: str) -> None:
    """The code is gone when it gets there: nobody is added."""
    await roster.ask_pairing(KNOCK, 3)
    used = ("DELETE FROM pairings",)
    assert not await meet(store, url, used, roster.admit(KNOCK, ANN, link(), act("pairing_admitted")))
    assert (await roster.persons(), await roster.links()) == ([], [])


async def test_a_name_meets_itself(store: SqlStore, roster: SqlRoster, url: str) -> None:
    """Written in capitals by another admin at this moment."""
    taken = "INSERT INTO persons (folded, name, roles, added_at, added_by) VALUES ('ann', 'ANN', '[]', 0, 'x')"
    with pytest.raises(Conflict, match="take another name"):
        await meet(store, url, (taken,), roster.add_person(ANN, act()))
