"""Accepting: once per key, in the session of its address."""

from __future__ import annotations

import asyncio
from dataclasses import asdict

import pytest

from agent.domain import Address, TaskStatus
from agent.errors import Conflict, NotFound
from agent.ports.store import Accepted, NewDelivery, Step
from storage.store.sql import SqlStore
from tests.storage import given
from tests.storage.conftest import OpenStore


async def test_accept_makes_a_task_with_everything_the_message_said(store: SqlStore) -> None:
    """J4: what a verb returns can be read at any time after its transaction."""
    target = Address(channel="telegram", conversation="-100", thread="7")
    accepted = await store.accept(
        given.message(text="a\x00b", reply_to=(target,), message_id="1.5"), workspace="sales", files=("inbox/a.csv",)
    )
    state = await store.load(accepted.task_id)
    assert (accepted.fresh, accepted.status) == (True, "queued")
    assert asdict(state.task) | {"created_at": None, "run_after": None} == {
        "task_id": accepted.task_id,
        "session_id": accepted.session_id,
        "seq": 1,
        "origin": "message",
        "requester": "ann",
        "reply_to": ({"channel": "telegram", "conversation": "-100", "thread": "7"},),
        "workspace": "sales",
        "prompt": "a\N{REPLACEMENT CHARACTER}b",
        "files": ("inbox/a.csv",),
        "awaited_files": (),
        "message_id": "1.5",
        "status": "queued",
        "created_at": None,
        "run_after": None,
        "epoch": 0,
        "lease_owner": None,
        "crashes": 0,
        "cancel_requested": False,
        "follow_up_of": None,
        "model": None,
        "error_code": None,
        "error_text": None,
        "answer": None,
        "finished_at": None,
    }
    assert state.session.address == given.CHAT
    assert state.session.workspace == "sales"


async def test_answers_go_where_the_message_came_from_unless_it_says_else(store: SqlStore) -> None:
    """An empty reply_to is the address itself."""
    accepted = await given.accept(store)
    assert (await store.load(accepted.task_id)).task.reply_to == (given.CHAT,)


async def test_a_session_counts_its_tasks(store: SqlStore) -> None:
    """Messages of one address share a session and are numbered; another thread is another session."""
    first, second = await given.accept(store), await given.accept(store)
    other = await given.accept(store, address=given.OTHER_CHAT)
    assert first.session_id == second.session_id != other.session_id
    assert [(await store.load(task.task_id)).task.seq for task in (first, second, other)] == [1, 2, 1]


async def test_an_event_three_times_is_one_task(store: SqlStore, open_another: OpenStore) -> None:
    """J10: the same event three times at two processes at once makes exactly one task."""
    stores = [store, await open_another(), store]
    message = given.message()
    accepted = await asyncio.gather(*(one.accept(message, workspace="demo", files=()) for one in stores))
    assert sorted(one.fresh for one in accepted) == [False, False, True]
    assert len({one.task_id for one in accepted}) == 1
    assert len(await store.tasks()) == 1


async def test_two_bots_with_one_event_id_both_run(store: SqlStore) -> None:
    """J13: the key is the sender's whole identity of the event, so another app's event is another task."""
    accepted = [await given.accept(store, dedup_key=f"slack:{app}:T1:C1:1.0") for app in ("A1", "A2")]
    assert [one.fresh for one in accepted] == [True, True]


async def test_a_repeat_tells_how_far_the_task_is(store: SqlStore) -> None:
    """The status of a known task is today's."""
    state = await given.claimed(store, dedup_key="k")
    assert (await given.accept(store, dedup_key="k")).status == "running"
    await given.finish(store, state)
    assert (await given.accept(store, dedup_key="k")).status == "done"


async def test_a_message_tells_what_it_waits_for(store: SqlStore) -> None:
    """What the oldest open task of its session does at this moment, also when it is asked again; the head waits for
    nobody, and neither does another conversation."""
    first = await given.accept(store, dedup_key="1")
    second = await given.accept(store, dedup_key="2")
    assert (first.behind, second.behind) == (None, "queued")
    [state] = await store.claim("worker", 1)
    third = await given.accept(store, dedup_key="3")
    step = Step(
        new_calls=(given.call(),), approval=given.card("c1"), entries=given.said("?"), status="waiting_approval"
    )
    await store.advance(given.key(state), step)
    fourth = await given.accept(store, dedup_key="4")
    assert (third.behind, fourth.behind) == ("running", "waiting_approval")
    assert (await given.accept(store, address=given.OTHER_CHAT)).behind is None
    assert [(await given.accept(store, dedup_key=key)).behind for key in "1234"] == [None, *["waiting_approval"] * 3]
    await store.change(first.task_id, lambda _: Step(status="cancelled"))
    assert [(await given.accept(store, dedup_key=key)).behind for key in "1234"] == [None, None, "queued", "queued"]


async def test_whoever_waits_is_told_with_the_task(store: SqlStore) -> None:
    """Once, and with the task's own rows; the head of a session and a repeat are told nothing."""

    def told(task_id: int, status: TaskStatus) -> tuple[NewDelivery, ...]:
        return (given.delivery(f"{task_id} waits: {status}", kind="notice"),)

    async def send(key: str) -> Accepted:
        return await store.accept(given.message(dedup_key=key), workspace="demo", files=(), waits=told)

    first, second = await send("1"), await send("2")
    assert (await send("2")).task_id == second.task_id
    assert await given.sql(store, "SELECT count(*) FROM deliveries") == 1
    [notice] = await store.due(given.EXPIRY, 10, frozenset())
    assert (notice.text, notice.task_id) == (f"{second.task_id} waits: queued", second.task_id)
    assert first.behind is None


async def test_ended_tasks_hold_up_nobody(store: SqlStore) -> None:
    """A conversation that comes to its end each time is always ready; a follow-up waits in the session it joins."""
    for _ in range(2):
        accepted = await given.accept(store)
        assert accepted.behind is None
        [state] = await store.claim("worker", 1)
        await given.finish(store, state)
    running = await given.claimed(store)
    followed = await given.accept(store, address=given.OTHER_CHAT, follow_up_of=running.task.task_id)
    assert followed.behind == "running"


async def test_a_key_with_another_body_is_refused(store: SqlStore) -> None:
    """WHK-05: a key that stands for another body is a conflict, and nothing is stored."""
    await given.accept(store, dedup_key="k", fingerprint="a")
    assert not (await given.accept(store, dedup_key="k", fingerprint="a")).fresh
    assert not (await given.accept(store, dedup_key="k")).fresh  # two events of one chat message differ in their bodies
    with pytest.raises(Conflict, match="another body"):
        await given.accept(store, dedup_key="k", fingerprint="b")
    assert len(await store.tasks()) == 1


async def test_a_follow_up_joins_the_session_of_its_task(store: SqlStore) -> None:
    """Another thread of the same conversation may go on with a task."""
    first = await given.accept(store)
    second = await given.accept(store, address=given.OTHER_CHAT, follow_up_of=first.task_id)
    state = await store.load(second.task_id)
    assert second.session_id == first.session_id
    assert (state.task.seq, state.task.follow_up_of, state.task.reply_to) == (2, first.task_id, (given.OTHER_CHAT,))


@pytest.mark.parametrize(
    "address",
    [Address(channel="slack", conversation="C2"), Address(channel="webhook", conversation="C1")],
    ids=["conversation", "channel"],
)
async def test_a_follow_up_of_elsewhere_is_unknown(store: SqlStore, address: Address) -> None:
    """A foreign task id answers like one that does not exist, and stores nothing."""
    first = await given.accept(store)
    for task_id in (first.task_id, 999):
        with pytest.raises(NotFound, match=f"no task {task_id}"):
            await given.accept(store, address=address, follow_up_of=task_id)
    assert len(await store.tasks()) == 1
