"""Cards and their calls: rules, votes, edits, revisions, reminders, and what a card that was replaced had shown."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import Connection, Select, text

from agent.domain import Address, Approval, ApprovalStatus, ApproverRule, Call
from agent.ports.store import ApprovalChange, CallChange, KeptItem, Step, TaskState
from agent.tool import digest
from storage.store import lookups
from storage.store.sql import SqlStore
from tests.clock import START
from tests.storage import given

RULE = ApproverRule(
    groups=(("approver", "Bob Müller"), ("admin",)), other=True, quorum=2, expires_seconds=3_600, always_ask=True
)
CHANNEL = Address(channel="slack", conversation="C9")
REMINDER = START + timedelta(hours=18)


async def parked(store: SqlStore, *calls: Call, **card: Any) -> TaskState:
    """A task that waits for a word on these calls."""
    state = await given.claimed(store)
    waiting = given.card(*(call.call_id for call in calls), **card)
    step = Step(entries=given.said("May I?"), new_calls=calls, approval=waiting, status="waiting_approval")
    await store.advance(given.key(state), step)
    return await store.load(state.task.task_id)


async def change(store: SqlStore, state: TaskState, *calls: CallChange, **card: Any) -> TaskState:
    """What the rows are after a change of calls and of the first card."""
    fields: dict[str, Any] = {"approval_id": state.approvals[0].approval_id, "status": "open"}
    cards = (ApprovalChange(**fields | card),) if card else ()
    await store.change(state.task.task_id, lambda _: Step(call_changes=calls, approval_changes=cards))
    return await store.load(state.task.task_id)


@pytest.mark.parametrize("rule", [RULE, ApproverRule(), ApproverRule(groups=()), None])
async def test_a_rule_comes_back_as_it_was(store: SqlStore, rule: ApproverRule | None) -> None:
    """From when the call is made or from later; votes begin empty."""
    state = await parked(store, given.call("c1", rule=rule), given.call("c2", position=2))
    assert [(call.rule, call.votes) for call in state.calls] == [(rule, ()), (None, ())]
    after = await change(store, state, CallChange(call_id="c2", status="waiting", rule=rule))
    assert [call.rule for call in after.calls] == [rule, rule]
    assert after.approvals[0].items == after.calls


async def test_votes_are_counted_and_cleared(store: SqlStore) -> None:
    """None leaves them, nothing takes them away."""
    state = await parked(store, given.call("c1", rule=RULE, votes=("Ann",)))
    seen = [state.calls[0].votes]
    for votes in (("Ann", "Bob"), None, ()):
        state = await change(store, state, CallChange(call_id="c1", status="waiting", votes=votes))
        seen.append(state.calls[0].votes)
    assert seen == [("Ann",), ("Ann", "Bob"), ("Ann", "Bob"), ()]
    assert state.calls[0].rule == RULE


async def test_an_edit_replaces_what_will_run(store: SqlStore) -> None:
    """The model's own arguments stay beside it; a later change of state touches neither."""
    state = await parked(store, given.call("c1", preview="old diff"))
    mine, own = '{"path":"b\x00.md"}', state.calls[0].arguments
    edit = CallChange(
        call_id="c1", status="waiting", arguments=mine, sha256="1" * 64, original=own, edited_by="Bob", preview="new"
    )
    edited = (await change(store, state, edit, revised=True)).calls[0]
    assert (edited.arguments, edited.sha256) == (mine.replace("\x00", "\N{REPLACEMENT CHARACTER}"), "1" * 64)
    assert (edited.original, edited.edited_by, edited.preview) == (own, "Bob", "new")
    later = (await change(store, state, CallChange(call_id="c1", status="approved", decided_by="Ann"))).calls[0]
    assert later == replace(edited, status="approved", decided_by="Ann")


async def test_a_revision_counts_what_a_card_shows(store: SqlStore) -> None:
    """Only a change that says so counts up, and each one counts."""
    state = await parked(store, given.call("c1"))
    revisions = [state.approvals[0].revision]
    for revised in (True, False, True):
        state = await change(store, state, revised=revised)
        revisions.append(state.approvals[0].revision)
    assert revisions == [1, 2, 2, 3]


async def test_a_card_knows_where_it_was_shown(store: SqlStore) -> None:
    """In the order it was sent, with and without a thread; a change leaves it."""
    state = await parked(store, given.call("c1"), shown_at=(given.CHAT, CHANNEL))
    assert state.approvals[0].shown_at == (given.CHAT, CHANNEL)
    after = await change(store, state, status="approved", revised=True)
    assert after.approvals[0].shown_at == (given.CHAT, CHANNEL)


async def test_a_card_is_brought_to_mind_once(store: SqlStore) -> None:
    """From its time on, as long as it is open and nobody has been reminded."""
    state = await parked(store, given.call("c1"), remind_at=REMINDER)
    card = state.approvals[0]
    assert card.remind_at == REMINDER
    assert await store.approvals_to_remind(REMINDER - timedelta(microseconds=1)) == []
    assert await store.approvals_to_remind(REMINDER) == [card]
    assert (await change(store, state, revised=True)).approvals[0].remind_at == REMINDER
    reminded = await change(store, state, reminded=True)
    assert reminded.approvals[0].remind_at is None
    assert await store.approvals_to_remind(given.EXPIRY) == []


@pytest.mark.parametrize("remind_at", [None, REMINDER])
@pytest.mark.parametrize("status", ["approved", "denied", "changes", "expired", "cancelled", "superseded"])
async def test_a_closed_card_reminds_of_nothing(
    store: SqlStore, status: ApprovalStatus, remind_at: datetime | None
) -> None:
    """Whatever it was closed as, and though nobody was reminded before."""
    state = await parked(store, given.call("c1"), remind_at=remind_at)
    assert len(await store.approvals_to_remind(given.EXPIRY)) == (remind_at is not None)
    await change(store, state, status=status)
    assert await store.approvals_to_remind(given.EXPIRY) == []


async def test_a_replaced_card_keeps_what_it_showed(store: SqlStore) -> None:
    """Shown anew with other arguments on a newer card, an item stays on the older one as people saw it there."""
    state = await parked(store, given.call("c1", title="Write a.md", preview="+a"), given.call("c2", position=2))
    old = state.approvals[0]
    kept = KeptItem(
        call_id="c2", arguments='{"path":"a.md"}', title="Then", preview="as seen", status="approved", decided_by="Ann"
    )
    step = Step(
        call_changes=(
            CallChange(call_id="c2", status="waiting", arguments='{"path":"new.md"}', sha256="2" * 64, preview="now"),
        ),
        approval_changes=(ApprovalChange(approval_id=old.approval_id, status="superseded", kept=(kept,)),),
        approval=given.card("c2"),
    )
    await store.change(state.task.task_id, lambda _: step)
    before, now = (await store.load(state.task.task_id)).approvals
    assert before.items[0] == state.calls[0]
    seen = before.items[1]
    assert (seen.preview, seen.status, seen.decided_by) == ("as seen", "approved", "Ann")
    assert seen.sha256 == digest("write_file", seen.arguments) == digest("write_file", '{"path":"a.md"}')
    again = now.items[0]
    assert (again.preview, again.arguments, again.status) == ("now", '{"path":"new.md"}', "waiting")
    assert [(item.approval_id, item.item) for item in (seen, again)] == [(old.approval_id, 2), (now.approval_id, 1)]


async def test_what_a_card_keeps_adds_up(store: SqlStore) -> None:
    """Item after item; the others show what is now. A card without a call any more still shows the rest."""
    state = await parked(store, *(given.call(f"c{n}", position=n) for n in (1, 2, 3)))
    for call_id in ("c3", "c1"):
        kept = KeptItem(
            call_id=call_id, arguments="{}", title=f"was {call_id}", preview="", status="denied", decided_by=None
        )
        state = await change(store, state, kept=(kept,))
    assert [item.title for item in state.approvals[0].items] == ["was c1", "", "was c3"]
    await given.sql(store, "DELETE FROM calls WHERE call_id = 'c1'")
    found = await store.find_approval(approval_id=state.approvals[0].approval_id)
    assert [(item.call_id, item.item) for item in found.items] == [("c2", 2), ("c3", 3)]


async def test_a_conversation_waits_for_its_card(store: SqlStore) -> None:
    """The open card of exactly this address, while it is open."""
    assert await store.waiting(given.CHAT) is None
    state = await given.parked(store)
    await given.parked(store, address=given.OTHER_CHAT)
    assert await store.waiting(given.CHAT) == state.approvals[0]
    assert await store.waiting(replace(given.CHAT, thread=None)) is None
    assert await store.waiting(replace(given.CHAT, channel="console")) is None
    await change(store, state, status="approved")
    assert await store.waiting(given.CHAT) is None
    assert await store.waiting(given.OTHER_CHAT) is not None


async def test_a_conversation_without_a_thread_waits_too(store: SqlStore) -> None:
    """A direct message has none."""
    state = await given.parked(store, address=CHANNEL)
    assert await store.waiting(CHANNEL) == state.approvals[0]


async def test_a_session_put_away_waits_for_nothing(store: SqlStore) -> None:
    """Its conversation has begun anew; the card can still be decided by its buttons."""
    state = await given.parked(store)
    await store.change_session(state.session.session_id, archived=True)
    assert await store.waiting(given.CHAT) is None
    anew = await given.parked(store)
    assert anew.session.session_id != state.session.session_id
    assert await store.waiting(given.CHAT) == anew.approvals[0]


async def test_the_newest_card_is_waited_for(store: SqlStore) -> None:
    """One that was issued again is not what people see."""
    state = await given.parked(store)
    old = ApprovalChange(approval_id=state.approvals[0].approval_id, status="superseded")
    await store.change(state.task.task_id, lambda _: Step(approval_changes=(old,), approval=given.card("c1")))
    waiting = await store.waiting(given.CHAT)
    assert waiting == (await store.load(state.task.task_id)).approvals[1]


PLACE = {"to_channel": "slack", "to_conversation": "C1", "to_thread": "1.0"}


@pytest.mark.parametrize(
    ("query", "values", "index"),
    [
        (lookups.LATE_CARDS, {"now": START}, "ix_approvals_open"),
        (lookups.REMINDABLE_CARDS, {"now": START}, "ix_approvals_remind"),
        (lookups.CARDS_AT, PLACE, "uq_tasks_active"),
    ],
    ids=["late", "to remind", "of a conversation"],
)
async def test_decided_cards_cost_a_look_nothing(
    store: SqlStore, query: Select[Any], values: dict[str, Any], index: str
) -> None:
    """5,000 decided cards in one conversation: what is asked every second and for every message uses small indexes."""
    state = await given.parked(store)

    def explained(connection: Connection) -> str:
        _many_decided(connection, state.approvals[0], 5_000)
        plan = "EXPLAIN QUERY PLAN" if connection.dialect.name == "sqlite" else "EXPLAIN (COSTS OFF)"
        if connection.dialect.name == "postgresql":
            connection.execute(text("ANALYZE"))
        with given.explaining(connection, plan):
            return "\n".join(str(row) for row in connection.execute(query, values))

    plan = await store.database.write(explained)
    assert index in plan
    assert "SCAN approvals" not in plan
    assert "Seq Scan on approvals" not in plan


def _many_decided(connection: Connection, card: Approval, number: int) -> None:
    """Each of an ended task of its own in the session of this card."""
    connection.execute(
        text(
            "INSERT INTO tasks (session_id, seq, origin, requester, reply_to, workspace, prompt, files, status,"
            " created_at, run_after) SELECT session_id, 1 + :number, origin, requester, reply_to, workspace, prompt,"
            " files, 'done', created_at, run_after FROM tasks WHERE task_id = :task"
        ),
        [{"number": place, "task": card.task_id} for place in range(1, number + 1)],
    )
    connection.execute(
        text(
            "INSERT INTO approvals (task_id, token, kind, status, call_ids, note, created_at, expires_at, remind_at)"
            " SELECT tasks.task_id, 't' || tasks.task_id, 'change', 'approved', '[]', '', 0, tasks.task_id, 0"
            " FROM tasks WHERE status = 'done'"
        )
    )
