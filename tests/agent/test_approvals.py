"""Deciding, as a pure function of a task's rows."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from agent.approvals import cancellation, decision, expiry
from agent.domain import OPERATOR, Address, Approval, ButtonPress, Call, CallStatus, Member, Session, Task
from agent.errors import BadInput, Conflict, Forbidden
from agent.ports.store import TaskState
from tests.clock import START

CHAT = Address(channel="chat", conversation="C1")
GUEST = Member(name="guest")


def call(item: int, status: CallStatus = "waiting") -> Call:
    return Call(
        call_id=f"c{item}",
        task_id=1,
        turn=1,
        position=item,
        tool="write_file",
        capability="file:write",
        arguments="{}",
        sha256=f"hash{item}",
        status=status,
        item=item,
        title=f"Write {item}.md",
    )


def waiting(*calls: Call, approvers: tuple[str, ...] = ("approver",)) -> TaskState:
    """A task that waits for one card with the given items."""
    task = Task(
        task_id=1,
        session_id=1,
        seq=1,
        origin="message",
        requester="ann",
        reply_to=(CHAT,),
        workspace="demo",
        prompt="please",
        files=(),
        status="waiting_approval",
        created_at=START,
        run_after=START,
    )
    card = Approval(
        approval_id=7,
        task_id=1,
        token="t",
        kind="outcome" if calls[0].status == "unknown" else "change",
        status="open",
        approvers=approvers,
        created_at=START,
        expires_at=START + timedelta(seconds=60),
        items=calls,
    )
    session = Session(session_id=1, address=CHAT, workspace="demo")
    return TaskState(task=task, session=session, calls=calls, approvals=(card,))


def press(**fields: object) -> ButtonPress:
    defaults = {"presser": OPERATOR, "verdict": "approved", "pressed_at": START + timedelta(seconds=5)}
    return ButtonPress(**{**defaults, **fields})  # type: ignore[arg-type]


def test_one_verdict_for_all_open_items_lets_the_task_go_on() -> None:
    """An approval without items means every item that is still open."""
    step = decision(waiting(call(1), call(2)), 7, press())
    assert [(change.call_id, change.status) for change in step.call_changes] == [("c1", "approved"), ("c2", "approved")]
    assert (step.status, step.approval_changes[0].status) == ("queued", "approved")


def test_a_task_waits_until_every_item_has_its_verdict() -> None:
    """E20: each item is decided alone; the card is settled by the last verdict."""
    first = decision(waiting(call(1), call(2)), 7, press(items=(1,)))
    assert (first.status, first.approval_changes) == (None, ())
    last = decision(waiting(call(1, "approved"), call(2)), 7, press(items=(2,), verdict="denied", reason="no"))
    assert (last.status, last.approval_changes[0].status) == ("queued", "approved")
    assert (last.call_changes[0].status, last.call_changes[0].reason) == ("denied", "no")


def test_an_empty_list_of_approvers_lets_nobody_decide() -> None:
    """E15: no approver named means nobody, not everybody; the answer says what an admin must do."""
    with pytest.raises(Forbidden, match=r"Nobody may approve.*agent\.policy"):
        decision(waiting(call(1), approvers=()), 7, press())


def test_somebody_without_the_role_is_refused() -> None:
    """Only those named by role or name decide."""
    with pytest.raises(Forbidden, match="guest may not decide"):
        decision(waiting(call(1)), 7, press(presser=GUEST))
    named = waiting(call(1), approvers=("guest",))
    assert decision(named, 7, press(presser=GUEST)).status == "queued"


def test_a_press_after_the_expiry_changes_nothing() -> None:
    """E4: a click at 61 s on a card of 60 s is answered `expired`."""
    with pytest.raises(Conflict, match="has expired; nothing was run"):
        decision(waiting(call(1)), 7, press(pressed_at=START + timedelta(seconds=61)))


def test_the_second_press_is_told_who_decided() -> None:
    """E1: the loser of a double press learns the winner."""
    state = waiting(call(1, "approved"))
    settled = replace(state, approvals=(replace(state.approvals[0], status="approved", decided_by="ann"),))
    with pytest.raises(Conflict, match="already decided by ann"):
        decision(settled, 7, press())


def test_an_item_that_is_not_on_the_card_is_refused() -> None:
    """The numbers that exist are named."""
    with pytest.raises(BadInput, match=r"items 1 to 1; 3 is none"):
        decision(waiting(call(1)), 7, press(items=(3,)))


@pytest.mark.parametrize(
    ("outcome", "status", "answered"),
    [("happened", "done", True), ("skip", "cancelled", True), ("again", "approved", False)],
)
def test_an_unknown_effect_is_settled_by_what_a_person_saw(outcome: str, status: str, answered: bool) -> None:
    """E2: it happened, run it again, or leave it; only `again` leaves the call to be run."""
    step = decision(waiting(call(1, "unknown")), 7, press(outcome=outcome))
    assert step.call_changes[0].status == status
    assert any(entry.kind == "tool" for entry in step.entries) is answered
    assert step.status == "queued"


def test_an_outcome_card_needs_an_outcome() -> None:
    """A plain approval does not say whether it happened."""
    with pytest.raises(BadInput, match="happened, again or skip"):
        decision(waiting(call(1, "unknown")), 7, press())
    with pytest.raises(BadInput, match="only for a card that asks"):
        decision(waiting(call(1)), 7, press(outcome="skip"))


def test_an_expired_card_ends_its_task_with_a_legal_history() -> None:
    """E5: the call's result says that it expired and was not run."""
    state = waiting(call(1))
    assert expiry(state, 7, START) is None
    step = expiry(state, 7, START + timedelta(seconds=61))
    assert step is not None
    assert (step.status, step.error_code) == ("expired", "approval_expired")
    assert "Expired, not run" in step.entries[0].data["text"]
    assert [delivery.kind for delivery in step.deliveries] == ["reply", "settle"]


def test_a_cancelled_task_takes_its_card_and_all_its_calls_with_it() -> None:
    """E21, B5: the card is withdrawn and every waiting call gets a result."""
    step = cancellation(waiting(call(1), call(2)), START)
    assert step is not None
    assert step.approval_changes[0].status == "cancelled"
    assert [entry.data["call_id"] for entry in step.entries if entry.kind == "tool"] == ["c1", "c2"]


def test_a_running_task_is_asked_to_stop_and_an_ended_one_cannot_be() -> None:
    """Only a task at rest is ended from outside."""
    state = waiting(call(1))
    assert cancellation(replace(state, task=replace(state.task, status="running")), START) is None
    with pytest.raises(Conflict, match="has ended already: done"):
        cancellation(replace(state, task=replace(state.task, status="done")), START)
