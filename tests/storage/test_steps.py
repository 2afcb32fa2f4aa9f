"""Steps: everything one transaction changes of a task, and how it is read again."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal

import pytest

from agent.domain import Address, Delivery, Entry, Target, Usage
from agent.errors import Conflict, NotFound
from agent.ports.listings import ApprovalSelection
from agent.ports.store import ApprovalChange, CallChange, NewArtifact, Step, TaskState
from storage.store.sql import SqlStore
from tests.clock import START, FakeClock
from tests.storage import given

REPORT = NewArtifact(name="r.md", path="reports/r.md", media_type="text/markdown", size_bytes=3, sha256="a" * 64)


async def test_a_whole_turn_is_one_step(store: SqlStore, clock: FakeClock) -> None:
    """Journal, usage, reply and end of a task are stored together, and the lease ends."""
    state = await given.claimed(store)
    clock.advance(5)
    entries = (Entry(kind="user", data={"text": "hello", "files": []}), *given.said("hi"))
    step = Step(
        entries=entries,
        usage=(Usage(model="m", input_tokens=3, output_tokens=2, cost_usd=Decimal("0.001")),),
        deliveries=(given.delivery("hi"),),
        status="done",
        answer="hi",
    )
    await store.advance(given.key(state), step)
    after = await store.load(state.task.task_id)
    now = START + timedelta(seconds=5)
    assert after.entries == tuple(replace(entry, seq=seq, at=now) for seq, entry in enumerate(entries, 1))
    assert (after.task.status, after.task.answer, after.task.lease_owner) == ("done", "hi", None)
    assert (after.task.created_at, after.task.finished_at) == (START, now)
    [delivery] = await store.due(now, 10, frozenset())
    assert (delivery.task_id, delivery.kind, delivery.to, delivery.text) == (
        after.task.task_id,
        "reply",
        given.CHAT,
        "hi",
    )
    assert await given.sql(store, "SELECT sum(input_tokens + output_tokens) FROM usage") == 5


async def test_the_journal_goes_on_where_it_ended(store: SqlStore) -> None:
    """Seqs follow one another over runs and over the changes of people."""
    state = await given.claimed(store)
    await store.advance(given.key(state), Step(entries=given.said("one", "two")))
    await store.advance(given.key(state), Step(entries=given.said("three"), status="queued"))
    await store.change(state.task.task_id, lambda _: Step(entries=given.said("four")))
    [again] = await store.claim("worker", 1)
    assert [(entry.seq, entry.data["text"]) for entry in again.entries] == [
        (1, "one"), (2, "two"), (3, "three"), (4, "four"),
    ]  # fmt: skip


async def test_a_failing_step_leaves_nothing(store: SqlStore) -> None:
    """A step that cannot be stored whole is not stored at all."""
    state = await given.parked(store)
    step = Step(entries=given.said("more"), deliveries=(given.delivery(),), new_calls=(given.call("c1"),))
    with pytest.raises(Exception, match="refused a row"):
        await store.change(state.task.task_id, lambda _: step)
    assert await store.load(state.task.task_id) == state
    assert await store.due(given.EXPIRY, 10, frozenset()) == []


async def test_a_parked_task_shows_its_card(store: SqlStore) -> None:
    """The card's items are the step's calls in the order it names them, each with its number."""
    state = await given.claimed(store)
    target = Target(path="a.md", base_sha256=None, intended_sha256="b" * 64)
    calls = (
        given.call("c1", targets=(target,), preview="+a", title="Write a.md"),
        given.call("c2", position=2),
        given.call("c3", position=3, status="proposed"),
    )
    card = given.card("c2", "c1", note="two of three")
    step = Step(
        new_calls=calls,
        approval=card,
        deliveries=(given.delivery("", kind="approval"), given.delivery("later", kind="notice")),
        status="waiting_approval",
        entries=given.said("May I?"),
    )
    await store.advance(given.key(state), step)
    after = await store.load(state.task.task_id)
    [approval] = after.approvals
    assert (approval.status, approval.note, approval.revision) == ("open", "two of three", 1)
    assert (approval.created_at, approval.expires_at) == (START, given.EXPIRY)
    assert [(item.call_id, item.item, item.approval_id) for item in approval.items] == [
        ("c2", 1, approval.approval_id), ("c1", 2, approval.approval_id),
    ]  # fmt: skip
    assert approval.items[1].targets == (target,)
    assert after.calls[2].approval_id is None
    assert await store.find_approval(approval_id=approval.approval_id) == approval
    assert await store.find_approval(token=card.token) == approval
    card_delivery, notice = await _all_due(store, 2)
    assert (card_delivery.approval_id, notice.approval_id) == (approval.approval_id, None)


async def _all_due(store: SqlStore, number: int) -> list[Delivery]:
    found = []
    for _ in range(number):
        [delivery] = await store.due(START, 10, frozenset())
        await store.delivered(delivery.delivery_id, "sent")
        found.append(delivery)
    return found


async def test_changes_touch_what_they_name(store: SqlStore) -> None:
    """None leaves a field of a call or card as it is."""
    state = await given.parked(store)
    [approval] = state.approvals
    target = Target(path="a.md", base_sha256="c" * 64, intended_sha256="d" * 64)
    first = CallChange(call_id="c1", status="approved", decided_by="bob", preview="+b", targets=(target,))
    await store.change(state.task.task_id, lambda _: Step(call_changes=(first,)))
    decided = ApprovalChange(approval_id=approval.approval_id, status="approved", decided_by="bob", decided_at=START)
    second = CallChange(call_id="c1", status="started", reason="because")
    await store.change(state.task.task_id, lambda _: Step(call_changes=(second,), approval_changes=(decided,)))
    after = await store.load(state.task.task_id)
    [call] = after.calls
    assert (call.status, call.decided_by, call.reason) == ("started", "bob", "because")
    assert (call.preview, call.targets, call.arguments) == ("+b", (target,), '{"path":"a.md"}')
    assert (after.approvals[0].status, after.approvals[0].decided_at) == ("approved", START)


async def test_a_card_issued_again_keeps_the_old_one_readable(store: SqlStore) -> None:
    """The call moves to the new card with its new preview; the superseded card still names it."""
    state = await given.parked(store)
    old = state.approvals[0]
    step = Step(
        call_changes=(CallChange(call_id="c1", status="waiting", preview="new diff"),),
        approval_changes=(ApprovalChange(approval_id=old.approval_id, status="superseded"),),
        approval=given.card("c1"),
    )
    await store.change(state.task.task_id, lambda _: step)
    before, now = (await store.load(state.task.task_id)).approvals
    assert (before.status, now.status) == ("superseded", "open")
    assert before.items == now.items
    assert now.items[0].preview == "new diff"
    assert await store.approvals(which=ApprovalSelection(status="open")) == [now]


async def test_one_of_two_presses_wins(store: SqlStore) -> None:
    """A plan sees the task as the winner left it: locked, read, decided and written in one transaction."""
    state = await given.parked(store)
    approval_id = state.approvals[0].approval_id

    def press(current: TaskState) -> Step:
        if current.approvals[0].status != "open":
            raise Conflict("too late")
        changes = (ApprovalChange(approval_id=approval_id, status="approved"),)
        return Step(entries=given.said("decided"), approval_changes=changes, status="queued")

    presses = (store.change(state.task.task_id, press) for _ in range(5))
    outcomes = await asyncio.gather(*presses, return_exceptions=True)
    assert sorted(type(outcome).__name__ for outcome in outcomes) == ["Conflict"] * 4 + ["Step"]
    assert [entry.data["text"] for entry in (await store.load(state.task.task_id)).entries] == ["May I?", "decided"]


async def test_a_plan_may_change_nothing(store: SqlStore) -> None:
    """None writes nothing; an unknown task is NotFound before any plan is asked."""
    state = await given.parked(store)
    assert await store.change(state.task.task_id, lambda _: None) is None
    assert await store.load(state.task.task_id) == state
    with pytest.raises(NotFound, match="no task 999"):
        await store.change(999, lambda _: None)


async def test_artifacts_count_their_versions(store: SqlStore) -> None:
    """A path has one line of versions in its session, over tasks; another session counts for itself."""
    first = await given.claimed(store)
    await store.advance(given.key(first), Step(artifacts=(REPORT, REPORT), entries=given.said("made")))
    await given.finish(store, first)
    second = await given.claimed(store)
    await store.advance(given.key(second), Step(artifacts=(replace(REPORT, sha256="b" * 64),), status="done"))
    other = await given.claimed(store, address=given.OTHER_CHAT)
    await store.advance(given.key(other), Step(artifacts=(REPORT,), status="done"))
    versions = [[one.version for one in await store.artifacts(s.task.task_id)] for s in (first, second, other)]
    assert versions == [[2], [3], [1]]
    assert [one.version for one in (await store.load(first.task.task_id)).artifacts] == [1, 2]


async def test_a_dedup_key_is_delivered_once(store: SqlStore) -> None:
    """The same key again, in this step or a later one, makes no second delivery."""
    state = await given.claimed(store)
    twice = given.delivery("first")
    await store.advance(given.key(state), Step(deliveries=(twice, twice)))
    await store.advance(given.key(state), Step(deliveries=(replace(twice, text="second"),)))
    assert [delivery.text for delivery in await _all_due(store, 1)] == ["first"]
    assert await store.due(START, 10, frozenset()) == []


async def test_collected_answers_need_no_sending(store: SqlStore) -> None:
    """What is fetched from the rows is sent as it is written."""
    state = await given.claimed(store, address=Address(channel="webhook", conversation="demo"))
    await store.advance(given.key(state), Step(deliveries=(given.delivery(collected=True),), status="done"))
    assert await store.due(START, 10, frozenset()) == []
    assert await given.sql(store, "SELECT status FROM deliveries") == "sent"


async def test_a_step_moves_the_sessions_window(store: SqlStore) -> None:
    """(whole_from, summary_from) belong to the session and reach its next task."""
    state = await given.claimed(store)
    await store.advance(given.key(state), Step(window=(5, 2), status="done"))
    session = (await given.claimed(store)).session
    assert (session.whole_from, session.summary_from) == (5, 2)


async def test_one_damaged_row_of_fifty(store: SqlStore) -> None:
    """B17: 49 rows are read, the bad ones are shown as damaged."""
    state = await given.claimed(store)
    await store.advance(given.key(state), Step(entries=given.said(*map(str, range(50)))))
    for seq, bad in ((7, "null"), (8, '{"text": '), (9, "")):
        await given.sql(store, "UPDATE journal SET data = :bad WHERE seq = :seq", bad=bad, seq=seq)
    entries = (await store.load(state.task.task_id)).entries
    assert len(entries) == 50
    damaged = [entry for entry in entries if entry.data == {"status": "damaged"}]
    assert [(entry.seq, entry.kind) for entry in damaged] == [(7, "status"), (8, "status"), (9, "status")]


async def test_errors_of_a_task_are_those_of_its_last_step(store: SqlStore) -> None:
    """A step that moves the task sets its error, or clears it."""
    state = await given.claimed(store)
    step = Step(status="queued", error_code="model_unavailable", error_text="try later")
    await store.advance(given.key(state), step)
    [again] = await store.claim("worker", 1)
    assert (again.task.error_code, again.task.error_text) == ("model_unavailable", "try later")
    await given.finish(store, again)
    assert (await store.load(state.task.task_id)).task.error_code is None


async def test_cancelled_callers_leave_nothing_open(store: SqlStore) -> None:
    """J3: thirty callers cancelled in the middle: every write is whole, and the next one is not held up."""
    accepted = []
    for _ in range(30):
        caller = asyncio.create_task(given.accept(store))
        await asyncio.sleep(0)
        caller.cancel()
        with pytest.raises(asyncio.CancelledError):
            await caller
        accepted.append(len(await store.tasks(limit=100)))
    assert accepted == list(range(1, 31))
    state = await store.load((await store.tasks(limit=1))[0].task_id)
    assert state.task.seq == 30
