"""What was received: once per key, whatever it did, and over processes that receive it at the same moment."""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import replace

import pytest

from agent.domain import Address, Entry, Received, TaskStatus
from agent.errors import BadInput, Conflict, LeaseLost, StorageError
from agent.ports.store import ApprovalChange, Plan, Step, TaskState
from storage.store.sql import SqlStore
from tests.clock import START
from tests.storage import given
from tests.storage.conftest import OpenStore

OTHER = Address(channel="telegram", conversation="-100")
STRANGER = given.received(
    dedup_key="k", kind="message", outcome="stranger", who="slack:U1", fingerprint="f", said="Who?"
)
REFUSED = Entry(kind="decision", data={"verdict": "refused"})


def press(key: str) -> Plan:
    """Decides an open card; too late for any other."""

    def plan(state: TaskState) -> Step:
        card = state.approvals[0]
        if card.status != "open":
            raise Conflict("too late", code="already_decided")
        decided = ApprovalChange(approval_id=card.approval_id, status="approved")
        event = given.received(dedup_key=key)
        return Step(entries=given.said("decided"), approval_changes=(decided,), status="queued", received=event)

    return plan


def refusal(key: str) -> Plan:
    event = given.received(dedup_key=key, outcome="refused:not_an_approver")
    return lambda _: Step(entries=(REFUSED,), received=event)


async def count(store: SqlStore, table: str) -> int:
    number: int = await given.sql(store, f"SELECT count(*) FROM {table}")
    return number


async def test_an_accepted_message_is_an_event(store: SqlStore) -> None:
    """With who sent it; a webhook's call is told apart, and everything else is a message."""
    accepted = await given.accept(store, dedup_key="m", fingerprint="f")
    assert await store.received("m") == Received(
        dedup_key="m", kind="message", outcome="task", who="ann", received_at=START, task_id=accepted.task_id,
        session_id=accepted.session_id, fingerprint="f",
    )  # fmt: skip
    kinds = []
    for origin in ("webhook", "cron", "console", "cli"):
        await given.accept(store, dedup_key=origin, origin=origin)
        event = await store.received(origin)
        assert event
        kinds.append(event.kind)
    assert kinds == ["webhook", "message", "message", "message"]
    assert await store.received("unknown") is None


async def test_an_event_without_a_task_is_received_once(store: SqlStore) -> None:
    """What is said to it is said once, and to nobody's task."""
    answer = given.delivery("Who are you?", kind="notice")
    assert await store.receive(STRANGER, (answer,))
    again = replace(STRANGER, outcome="command", who="somebody else")
    assert not await store.receive(again, (given.delivery("Again?", kind="notice"),))
    assert await store.received("k") == STRANGER
    [delivery] = await store.due(START, 10, frozenset())
    assert (delivery.text, delivery.task_id, delivery.approval_id) == ("Who are you?", None, None)
    assert await count(store, "deliveries") == 1


async def test_what_belongs_to_no_task_is_said_once(store: SqlStore) -> None:
    """Under one key, however often; and it rings the outbox."""
    told = given.delivery("first", kind="notice")
    waiting = asyncio.create_task(given.rings(store.doorbell, "outbox"))
    await asyncio.sleep(0)
    await store.deliver((told,))
    await waiting
    await store.deliver((replace(told, text="second"), given.delivery("other", to=OTHER, kind="notice")))
    due = await store.due(START, 10, frozenset())
    assert [(one.text, one.task_id, one.to) for one in due] == [("first", None, given.CHAT), ("other", None, OTHER)]


async def test_an_answer_rings_the_outbox(store: SqlStore) -> None:
    """It is sent at once; an event that is answered nothing wakes nobody."""
    waiting = asyncio.create_task(given.rings(store.doorbell, "outbox"))
    await asyncio.sleep(0)
    await store.receive(given.received())
    await store.receive(given.received(), (given.delivery(),))
    await waiting


async def test_a_message_after_an_event_without_a_task_is_no_task(store: SqlStore) -> None:
    """The same key was answered before; there is no task to name."""
    await store.receive(STRANGER)
    with pytest.raises(Conflict, match="made no task") as caught:
        await given.accept(store, dedup_key="k", fingerprint="f")
    assert caught.value.code == "key_reused"
    with pytest.raises(Conflict, match="another body"):
        await given.accept(store, dedup_key="k", fingerprint="other")
    assert await store.tasks() == []


async def test_a_message_that_asked_for_changes_is_known_with_its_task(store: SqlStore) -> None:
    """A repeat of it makes no task of its own: it belongs to the one whose card it answered."""
    state = await given.parked(store)
    event = given.received(dedup_key="k", kind="message", outcome="changes", who="ann")
    await store.change(state.task.task_id, lambda _: Step(status="queued", received=event), key="k")
    again = await given.accept(store, dedup_key="k")
    assert (again.task_id, again.session_id, again.fresh, again.status, again.behind) == (
        state.task.task_id, state.session.session_id, False, "queued", None,
    )  # fmt: skip
    known = await store.received("k")
    assert known == replace(event, task_id=state.task.task_id, session_id=state.session.session_id)


async def test_a_run_can_answer_an_event(store: SqlStore) -> None:
    """A step of a run writes it like any other row, and nothing of it when the run lost its task."""
    state = await given.claimed(store)
    await store.advance(given.key(state), Step(received=given.received(dedup_key="k")))
    known = await store.received("k")
    assert known
    assert known.task_id == state.task.task_id
    await store.requeue()
    with pytest.raises(LeaseLost):
        await store.advance(given.key(state), Step(received=given.received(dedup_key="late")))
    assert await store.received("late") is None


async def test_a_key_is_looked_for_before_the_plan_is_asked(store: SqlStore) -> None:
    """A repeat changes nothing and is no error, also where the plan would raise one now."""
    state = await given.parked(store)
    task_id = state.task.task_id
    assert await store.change(task_id, press("k"), key="k") is not None
    decided = await store.load(task_id)
    assert await store.change(task_id, press("k"), key="k") is None
    assert await store.load(task_id) == decided
    with pytest.raises(Conflict, match="too late"):
        await store.change(task_id, press("other"), key="other")
    assert await store.received("other") is None


async def test_a_plan_that_raises_leaves_no_event(store: SqlStore) -> None:
    """What is refused by an error was not received: who sends it again is answered again."""
    state = await given.parked(store)

    def fail(_: TaskState) -> Step:
        raise BadInput("no")

    for _ in range(2):
        with pytest.raises(BadInput):
            await store.change(state.task.task_id, fail, key="k")
    assert await store.received("k") is None


async def test_a_known_key_without_its_being_asked_for_is_refused(store: SqlStore) -> None:
    """A step whose event is known and was not looked for is an error, and nothing of the step is stored."""
    state = await given.parked(store)
    await store.receive(STRANGER)
    with pytest.raises(StorageError, match="refused a row"):
        await store.change(state.task.task_id, press("k"))
    assert await store.load(state.task.task_id) == state


async def test_a_refused_press_is_written_beside_a_run(store: SqlStore) -> None:
    """The run goes on: its lease holds, and what it writes next comes after the refusal."""
    state = await given.claimed(store)
    task_id, run = state.task.task_id, given.key(state)
    lengths = [await store.advance(run, Step(entries=given.said("one", "two")))]
    await store.change(task_id, refusal("k"), key="k")
    lengths.append(await store.advance(run, Step()))
    lengths.append(await store.advance(run, Step(entries=given.said("three"), status="done")))
    assert lengths == [2, 3, 4]
    after = await store.load(task_id)
    assert [entry.kind for entry in after.entries] == ["assistant", "assistant", "decision", "assistant"]
    assert [entry.seq for entry in after.entries] == [1, 2, 3, 4]
    assert (after.task.status, after.task.epoch) == ("done", 1)


@pytest.mark.parametrize("status", ["queued", "waiting_approval", "done", "failed", "cancelled"])
async def test_nobody_but_its_run_ends_a_run(store: SqlStore, status: TaskStatus) -> None:
    """A plan that would take the task away is refused whole, though it saw that the task runs."""
    state = await given.claimed(store)
    step = Step(entries=given.said("mine"), status=status, received=given.received())
    with pytest.raises(Conflict, match=f"Task {state.task.task_id} runs"):
        await store.change(state.task.task_id, lambda _: step)
    assert await store.load(state.task.task_id) == state
    await given.finish(store, state)


async def test_an_ended_task_takes_refusals(store: SqlStore) -> None:
    """A press that comes too late is in the journal of its task, which stays as it ended."""
    state = await given.claimed(store)
    await given.finish(store, state)
    ended = (await store.load(state.task.task_id)).task
    await store.change(ended.task_id, refusal("late"), key="late")
    after = await store.load(ended.task_id)
    assert (after.task, after.entries[-1].data) == (ended, REFUSED.data)


async def test_two_presses_with_one_key(store: SqlStore, open_another: OpenStore) -> None:
    """A double click and its repeats, at two processes: one decides, and the others hear that it is known."""
    state = await given.parked(store)
    stores = [store, await open_another()]
    presses = (stores[n % 2].change(state.task.task_id, press("k"), key="k") for n in range(8))
    outcomes = await asyncio.gather(*presses)
    assert Counter(outcome is None for outcome in outcomes) == {False: 1, True: 7}
    assert [entry.data.get("text") for entry in (await store.load(state.task.task_id)).entries] == ["May I?", "decided"]
    assert await count(store, "received WHERE dedup_key = 'k'") == 1


async def test_two_presses_with_a_key_each(store: SqlStore, open_another: OpenStore) -> None:
    """Of different people's presses one decides; each of the others sees the card as it is then."""
    state = await given.parked(store)
    stores = [store, await open_another()]
    presses = (stores[n % 2].change(state.task.task_id, press(f"k{n}"), key=f"k{n}") for n in range(8))
    outcomes = await asyncio.gather(*presses, return_exceptions=True)
    assert Counter(type(outcome).__name__ for outcome in outcomes) == {"Step": 1, "Conflict": 7}
    assert await count(store, "received WHERE kind = 'press'") == 1


async def test_one_key_for_two_tasks(store: SqlStore, open_another: OpenStore) -> None:
    """Their locks do not meet, but the key does: it is received for one of them, and the other stays as it is."""
    for attempt in range(5):
        states = [
            await given.parked(store, address=Address(channel="slack", conversation=f"{attempt}{place}"))
            for place in "ab"
        ]
        key = f"k{attempt}"
        stores = [store, await open_another()]
        outcomes = await asyncio.gather(
            *(one.change(state.task.task_id, press(key), key=key) for one, state in zip(stores, states, strict=True))
        )
        assert Counter(outcome is None for outcome in outcomes) == {False: 1, True: 1}
        after = [await store.load(state.task.task_id) for state in states]
        assert Counter(state.task.status for state in after) == {"queued": 1, "waiting_approval": 1}


async def test_a_message_and_a_change_with_one_key(store: SqlStore, open_another: OpenStore) -> None:
    """An answer to a card at one process, the same event as a new request at another: it is one of the two."""
    seen: Counter[str] = Counter()
    elsewhere = await open_another()
    for attempt in range(6):
        address = Address(channel="slack", conversation=f"D{attempt}")
        state = await given.parked(store, address=address)
        key, task_id = f"k{attempt}", state.task.task_id
        accepting = elsewhere.accept(given.message(dedup_key=key, address=address), workspace="demo", files=())
        changing = store.change(task_id, press(key), key=key)
        if attempt % 2:
            accepted, changed = await asyncio.gather(accepting, changing)
        else:
            changed, accepted = await asyncio.gather(changing, accepting)
        event = await store.received(key)
        assert event
        assert accepted.fresh == (changed is None) == (event.outcome == "task")
        assert event.task_id == accepted.task_id
        assert (event.task_id == task_id) == (changed is not None)
        seen[event.outcome] += 1
    assert seen.total() == 6


async def test_strangers_that_knock_at_once_are_answered_once(store: SqlStore, open_another: OpenStore) -> None:
    """The same event at two processes: one answers."""
    stores = [store, await open_another()]
    knocks = (stores[n % 2].receive(STRANGER, (given.delivery(),)) for n in range(8))
    assert Counter(await asyncio.gather(*knocks)) == {True: 1, False: 7}
    assert await count(store, "deliveries") == 1
