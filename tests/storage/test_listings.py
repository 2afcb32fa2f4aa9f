"""What people page through: tasks, sessions, cards and usage, each within the workspaces of whoever looks."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from decimal import Decimal

import pytest

from agent.domain import Address, Usage
from agent.errors import Conflict, NotFound
from agent.ports.listings import (
    ApprovalSelection,
    SessionSelection,
    TaskMark,
    TaskSelection,
    UsageSelection,
    UsageSum,
)
from agent.ports.store import Step
from storage.store.sql import SqlStore
from tests.clock import START, FakeClock
from tests.storage import given

PLACE = Address(channel="console", conversation="ann", thread="a1")
USED = Usage(model="m", input_tokens=10, output_tokens=5, cached_tokens=2, cost_usd=Decimal("0.000000123456"))
UNKNOWN = replace(USED, cost_usd=None)
EVER = UsageSelection(since=START - timedelta(days=1), until=START + timedelta(days=9))
DEMO, OTHER = frozenset({"demo"}), frozenset({"sales"})


async def test_tasks_newest_first(store: SqlStore) -> None:
    """Pages go on before an id."""
    ids = await given.accept_many(store, 5)
    assert [task.task_id for task in await store.tasks(limit=2)] == ids[:2:-1]
    assert [task.task_id for task in await store.tasks(before=ids[2])] == [ids[1], ids[0]]


async def test_tasks_by_what_is_asked_for(store: SqlStore) -> None:
    """Status, session, origin, requester and workspaces, together."""
    first = await given.accept(store, sender="ann", address=PLACE, origin="console")
    second = await given.accept(store, sender="bob")
    await store.claim("worker", 1)
    for which, expected in [
        (TaskSelection(status="running"), [first.task_id]),
        (TaskSelection(session_id=second.session_id), [second.task_id]),
        (TaskSelection(origin="console", requester="ann"), [first.task_id]),
        (TaskSelection(origin="console", requester="bob"), []),
        (TaskSelection(workspaces=DEMO), [second.task_id, first.task_id]),
        (TaskSelection(workspaces=OTHER), []),
        (TaskSelection(workspaces=frozenset()), []),
    ]:
        assert [task.task_id for task in await store.tasks(which=which)] == expected


async def test_one_task_and_the_rest_of_its_journal(store: SqlStore) -> None:
    """The row alone, how far it is, and the entries after a seq."""
    state = await given.claimed(store)
    await store.advance(given.key(state), Step(entries=given.said("one", "two", "three")))
    task_id = state.task.task_id
    assert (await store.task(task_id)).status == "running"
    assert await store.task_marks([task_id, 999]) == {task_id: TaskMark(entries=3, status="running")}
    assert [entry.data["text"] for entry in await store.journal(task_id, 1)] == ["two", "three"]
    assert await store.journal(task_id, 3) == []
    with pytest.raises(NotFound, match="no task 999"):
        await store.task(999)


async def test_which_card_of_its_task(store: SqlStore) -> None:
    """Counted in each task from 1, however many other tasks have cards in between."""
    first, second = await given.parked(store), await given.parked(store, address=given.OTHER_CHAT)
    again = Step(approval=given.card("c1"), status="waiting_approval")
    await store.change(first.task.task_id, lambda _: again)
    ids = [card.approval_id for card in await store.approvals()]
    assert await store.card_numbers(ids) == {ids[2]: 1, ids[1]: 1, ids[0]: 2}
    assert await store.card_numbers([ids[0], 999]) == {ids[0]: 2}
    assert second.approvals[0].approval_id == ids[1]


async def test_sessions_are_made_listed_renamed_and_put_away(store: SqlStore) -> None:
    """A session without a task is listed as well; archived ones are a list of their own."""
    spoken = (await given.accept(store)).session_id
    made = await store.new_session(PLACE, "demo", "Invoices")
    assert [one.session.session_id for one in await store.sessions()] == [made, spoken]
    assert [one.last_task and one.last_task.prompt for one in await store.sessions()] == [None, "hello"]
    assert [one.session.session_id for one in await store.sessions(limit=1, before=made)] == [spoken]
    await store.change_session(made, title="Quotes", archived=True)
    assert (await store.session(made)).session.title == "Quotes"
    assert [one.session.session_id for one in await store.sessions()] == [spoken]
    assert [one.session.session_id for one in await store.sessions(which=SessionSelection(archived=True))] == [made]
    for change in ({"title": "x"}, {"archived": True}):
        with pytest.raises(NotFound):
            await store.change_session(999, **change)
    with pytest.raises(NotFound):
        await store.session(999)


async def test_sessions_by_what_is_asked_for(store: SqlStore) -> None:
    """By the parts of an address, an empty thread being one of them, and by workspaces."""
    mine = await store.new_session(PLACE, "demo", "")
    theirs = await store.new_session(replace(PLACE, conversation="bob", thread=None), "sales", "")
    for which, expected in [
        (SessionSelection(channel="console", thread="a1"), [mine]),
        (SessionSelection(channel="console", thread=""), [theirs]),
        (SessionSelection(channel="console"), [theirs, mine]),
        (SessionSelection(channel="console", conversation="ann"), [mine]),
        (SessionSelection(workspaces=OTHER), [theirs]),
        (SessionSelection(channel="slack"), []),
    ]:
        assert [one.session.session_id for one in await store.sessions(which=which)] == expected


async def test_a_conversation_has_one_session_at_a_time(store: SqlStore) -> None:
    """A second one is refused, and an archived one comes back only when its place is free."""
    first = await store.new_session(PLACE, "demo", "")
    with pytest.raises(Conflict):
        await store.new_session(PLACE, "demo", "")
    await store.change_session(first, archived=True)
    second = await store.new_session(PLACE, "demo", "")
    with pytest.raises(Conflict, match="newer session"):
        await store.change_session(first, archived=False)
    assert (await given.accept(store, address=PLACE)).session_id == second


async def test_cards_by_status_and_workspace(store: SqlStore) -> None:
    """With their items, newest first."""
    ids = [(await given.parked(store)).approvals[0].approval_id]
    ids.append((await given.parked(store, address=given.OTHER_CHAT)).approvals[0].approval_id)
    found = await store.approvals(which=ApprovalSelection(status="open", workspaces=DEMO))
    assert [card.approval_id for card in found] == ids[::-1]
    assert [len(card.items) for card in found] == [1, 1]
    assert [card.approval_id for card in await store.approvals(before=ids[1])] == ids[:1]
    assert await store.approvals(which=ApprovalSelection(status="approved")) == []
    assert await store.approvals(which=ApprovalSelection(workspaces=OTHER)) == []


async def test_usage_adds_up(store: SqlStore, clock: FakeClock) -> None:
    """By model, by person and by quarter of an hour, exact, the unpriced counted apart."""
    ann = await given.claimed(store, sender="ann")
    await store.advance(given.key(ann), Step(usage=(USED, UNKNOWN)))
    clock.advance(20 * 60)
    bob = await given.claimed(store, sender="bob", address=given.OTHER_CHAT)
    await store.advance(given.key(bob), Step(usage=(replace(USED, model="n"),)))
    one = UsageSum(
        calls=1, input_tokens=10, output_tokens=5, cached_tokens=2, cost_usd=Decimal("0.000000123456"), unpriced=0
    )
    two = replace(one, calls=2, input_tokens=20, output_tokens=10, cached_tokens=4, unpriced=1)
    assert await store.usage_by("requester", EVER) == {"ann": two, "bob": one}
    assert await store.usage_by("model", EVER) == {"m": two, "n": one}
    later = START + timedelta(minutes=15)
    assert await store.usage_by_quarter(EVER) == {START: two, later: one}
    assert await store.usage_by("model", replace(EVER, since=later)) == {"n": one}
    assert await store.usage_by("model", replace(EVER, until=later)) == {"m": two}
    assert await store.usage_by("model", replace(EVER, workspaces=DEMO)) == {"m": two, "n": one}
    assert await store.usage_by_quarter(replace(EVER, workspaces=OTHER)) == {}
