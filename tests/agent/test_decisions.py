"""Deciding, as a pure function of a task's rows and of the people there are."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from agent.decisions import decision
from agent.domain import ApproverRule, ButtonPress, Member
from agent.errors import BadInput, Conflict, Forbidden
from agent.ports.store import Step, TaskState
from tests.agent.waiting import APPROVER, CHAT, LIFE, PEOPLE, call, press, waiting
from tests.clock import START

TWO = replace(APPROVER, quorum=2)
OTHER = replace(APPROVER, other=True)
ADMIN = ApproverRule(groups=(("admin",),))


def decided(state: TaskState, pressed: ButtonPress, people: dict[str, Member] | None = None) -> Step:
    """What a press that counts changes."""
    decision_ = decision(state, 7, pressed, PEOPLE if people is None else people)
    assert decision_.refusal is None, decision_.refusal
    assert [delivery.kind for delivery in decision_.step.deliveries] == ["settle"]
    return decision_.step


def refused(state: TaskState, pressed: ButtonPress, people: dict[str, Member] | None = None) -> BadInput:
    """Why a press changes nothing; that it was tried is in the journal and among what was received."""
    decision_ = decision(state, 7, pressed, PEOPLE if people is None else people)
    refusal, step = decision_.refusal, decision_.step
    assert refusal is not None
    [entry] = step.entries
    assert step == Step(entries=(entry,), received=step.received)
    assert entry.data["verdict"] == "refused"
    assert (entry.data["code"], entry.data["reason"]) == (refusal.code, str(refusal))
    assert entry.data["by"] == pressed.presser.name
    assert step.received is not None
    assert (step.received.kind, step.received.outcome) == ("press", f"refused:{refusal.code}")
    assert step.received.said == str(refusal)
    return refusal


def statuses(step: Step) -> list[tuple[str, str]]:
    return [(change.call_id, change.status) for change in step.call_changes]


# --- a verdict ---


def test_one_verdict_for_all_open_items_lets_the_task_go_on() -> None:
    """An approval without items means every item that is still open; the press itself is a row, too."""
    step = decided(waiting(call(1), call(2)), press())
    assert statuses(step) == [("c1", "approved"), ("c2", "approved")]
    assert (step.status, step.approval_changes[0].status) == ("queued", "approved")
    assert step.received is not None
    assert (step.received.dedup_key, step.received.outcome, step.received.who) == ("k", "decided", "bob")


def test_a_task_waits_until_every_item_has_its_verdict() -> None:
    """E20: each item is decided alone; the card is closed by the last verdict."""
    first = decided(waiting(call(1), call(2)), press(items=(1,)))
    assert (first.status, first.approval_changes) == (None, ())
    last = decided(waiting(call(1, "approved"), call(2)), press(items=(2,), verdict="denied", reason="no"))
    assert (last.status, last.approval_changes[0].status) == ("queued", "approved")
    assert (last.call_changes[0].status, last.call_changes[0].reason) == ("denied", "no")


def test_a_card_whose_items_are_all_denied_is_denied() -> None:
    """Nothing of it runs."""
    step = decided(waiting(call(1, "denied"), call(2)), press(verdict="denied"))
    assert step.approval_changes[0].status == "denied"


def test_a_verdict_names_what_it_was_given_for() -> None:
    """The journal holds the calls, the hash of each and who decided."""
    [entry] = decided(waiting(call(1), call(2)), press(items=(2,), reason="fine")).entries
    assert entry.data == {
        "approval_id": 7,
        "items": [2],
        "call_ids": ["c2"],
        "sha256": ["hash2"],
        "verdict": "approved",
        "by": "bob",
        "reason": "fine",
    }


def test_a_verdict_redraws_the_card_where_it_was_shown() -> None:
    """Not where the answer goes: the card may have been asked for elsewhere."""
    elsewhere = replace(CHAT, conversation="C2")
    step = decided(waiting(shown_at=(elsewhere,)), press())
    assert [delivery.to for delivery in step.deliveries] == [elsewhere]


# --- who ---


@pytest.mark.parametrize("groups", [(), ((),), (("approver",), ())])
def test_a_rule_that_names_nobody_lets_nobody_decide(groups: tuple[tuple[str, ...], ...]) -> None:
    """E15: no approver named means nobody, not everybody, the admin no more than others."""
    state = waiting(call(rule=ApproverRule(groups=groups)))
    for name in PEOPLE:
        assert isinstance(refused(state, press(name)), Forbidden)


def test_a_call_whose_rule_is_lost_is_nobodys() -> None:
    """E15: a card of an older version, or a damaged row."""
    assert refused(waiting(call(rule=None)), press()).code == "not_an_approver"


def test_somebody_without_the_role_is_refused() -> None:
    """E13: a member of the same conversation is told for whom the card is."""
    refusal = refused(waiting(), press("ann"))
    assert isinstance(refusal, Forbidden)
    assert str(refusal) == "ann may not decide approval 7; it is for approver."


def test_somebody_who_is_named_decides_without_a_role() -> None:
    """E13: by name or by role."""
    state = waiting(call(rule=ApproverRule(groups=(("ann",),))))
    assert decided(state, press("ann")).status == "queued"
    assert isinstance(refused(state, press("bob")), Forbidden)


def test_a_role_that_was_lost_counts_no_more() -> None:
    """What the people are when somebody presses decides, whoever they were when the card was made or the page drawn."""
    people = {**PEOPLE, "bob": Member(name="bob")}
    assert refused(waiting(), press("bob"), people).code == "not_an_approver"


def test_whoever_is_not_among_the_people_decides_nothing() -> None:
    """E14: somebody of an open channel, or a person who was removed, whatever roles they come with."""
    stranger = Member(name="slack:U9", roles=frozenset({"member", "approver", "admin"}))
    assert refused(waiting(), press(presser=stranger)).code == "not_an_approver"


def test_each_group_must_name_the_presser() -> None:
    """Rules that add up are conditions that add up."""
    state = waiting(call(rule=ApproverRule(groups=(("approver",), ("cid", "dora")))))
    refusal = refused(state, press("bob"))
    assert str(refusal).endswith("it is for approver and also cid or dora.")
    assert isinstance(refused(state, press("dora")), Forbidden)
    assert decided(state, press("cid")).status == "queued"


def test_another_person_than_the_requester() -> None:
    """`by: other`: an approver who asked for it is refused; without that rule they may."""
    people = {**PEOPLE, "ann": replace(PEOPLE["ann"], roles=frozenset({"approver"}))}
    assert decided(waiting(), press("ann"), people).status == "queued"
    refusal = refused(waiting(call(rule=OTHER)), press("ann"), people)
    assert str(refusal).endswith("it is for approver, but not ann, who asked.")
    assert decided(waiting(call(rule=OTHER)), press("bob"), people).status == "queued"


def test_all_means_the_items_that_this_person_may_decide() -> None:
    """The others wait for theirs."""
    state = waiting(call(1), call(2, rule=ADMIN), call(3))
    step = decided(state, press())
    assert statuses(step) == [("c1", "approved"), ("c3", "approved")]
    assert (step.status, step.approval_changes) == (None, ())
    assert step.received is not None
    assert "1 item still waits" in step.received.said
    assert refused(state, press(items=(2,))).code == "not_an_approver"
    assert refused(state, press(items=(1, 2))).code == "not_an_approver"


def test_who_has_decided_theirs_is_told_for_whom_the_rest_is() -> None:
    """Not that it is decided already: it is not."""
    state = waiting(call(1, "approved", decided_by="bob"), call(2, rule=ADMIN))
    assert str(refused(state, press())).endswith("it is for admin.")


# --- several people ---


def test_two_different_people_must_approve() -> None:
    """`by: 2`: the first approval is a vote, which changes nothing but its count; the second lets it run."""
    first = decided(waiting(call(rule=TWO)), press("bob"))
    assert (first.status, first.approval_changes) == (None, ())
    assert (first.call_changes[0].status, first.call_changes[0].votes) == ("waiting", ("bob",))
    assert first.entries[0].data["vote"] == 1
    second = decided(waiting(call(rule=TWO, votes=("bob",))), press("cid"))
    assert (second.status, second.call_changes[0].status) == ("queued", "approved")
    assert second.call_changes[0].votes == ("bob", "cid")
    assert "vote" not in second.entries[0].data


def test_the_same_person_twice_is_one() -> None:
    """The second press is told who is missing."""
    refusal = refused(waiting(call(rule=TWO, votes=("bob",))), press("bob"))
    assert isinstance(refusal, Conflict)
    assert refusal.code == "voted_already"
    assert "1 of 2: bob" in str(refusal)


def test_all_leaves_out_what_this_person_approved_before() -> None:
    """Approve all after one item alone is no mistake."""
    state = waiting(call(1, rule=TWO, votes=("bob",)), call(2, rule=TWO))
    assert [change.call_id for change in decided(state, press("bob")).call_changes] == ["c2"]
    assert refused(state, press("bob", items=(1, 2))).code == "voted_already"


def test_votes_of_different_items_are_counted_apart() -> None:
    """One press, two lines in the journal: one item has enough, the other does not."""
    state = waiting(call(1, rule=TWO, votes=("cid",)), call(2, rule=TWO))
    step = decided(state, press("bob"))
    assert statuses(step) == [("c1", "approved"), ("c2", "waiting")]
    assert [(entry.data["call_ids"], entry.data.get("vote")) for entry in step.entries] == [(["c1"], None), (["c2"], 1)]


def test_one_denial_ends_it() -> None:
    """However many have approved."""
    step = decided(waiting(call(rule=TWO, votes=("bob",))), press("cid", verdict="denied"))
    assert (step.status, step.call_changes[0].status, step.approval_changes[0].status) == ("queued", "denied", "denied")


def test_the_vote_of_somebody_who_lost_the_role_does_not_count() -> None:
    """It takes two who may approve now."""
    people = {**PEOPLE, "bob": Member(name="bob"), "eve": Member(name="eve", roles=frozenset({"approver"}))}
    step = decided(waiting(call(rule=TWO, votes=("bob",))), press("cid"), people)
    assert (step.call_changes[0].status, step.call_changes[0].votes) == ("waiting", ("cid",))


def test_a_quorum_that_cannot_be_met_is_said_and_can_be_denied() -> None:
    """Too few are left: nobody's approval could ever be enough, so none is taken."""
    people = {name: member for name, member in PEOPLE.items() if name != "cid"}
    state = waiting(call(rule=TWO))
    refusal = refused(state, press("bob"), people)
    assert isinstance(refusal, Conflict)
    assert refusal.code == "quorum_impossible"
    assert "it takes 2 of approver, and there is only bob" in str(refusal)
    assert decided(state, press("bob", verdict="denied"), people).status == "queued"


def test_an_impossible_item_does_not_hold_up_the_others() -> None:
    """All means what can be decided."""
    state = waiting(call(1), call(2, rule=replace(APPROVER, quorum=3)))
    assert statuses(decided(state, press())) == [("c1", "approved")]


# --- changes ---


def test_changes_deny_all_that_waits_and_go_back_to_the_model() -> None:
    """What was approved before stays so, and then so does the card."""
    step = decided(waiting(call(1), call(2)), press(verdict="changes", reason="by region"))
    assert statuses(step) == [("c1", "denied"), ("c2", "denied")]
    assert {change.reason for change in step.call_changes} == {"by region"}
    assert (step.status, step.approval_changes[0].status) == ("queued", "changes")
    assert step.received is not None
    assert step.received.outcome == "changes"
    partly = decided(waiting(call(1, "approved"), call(2)), press(verdict="changes", reason="by region"))
    assert (statuses(partly), partly.approval_changes[0].status) == ([("c2", "denied")], "approved")


def test_whoever_asked_may_ask_for_changes_and_for_no_more() -> None:
    """Design: a plain answer from the requester or an approver; it makes nothing run."""
    wish = {"verdict": "changes", "reason": "shorter"}
    assert decided(waiting(), press("ann", **wish)).approval_changes[0].decided_by == "ann"
    assert refused(waiting(), press("dora", **wish)).code == "not_an_approver"
    assert refused(waiting(), press("ann", verdict="denied", reason="shorter")).code == "not_an_approver"


def test_changes_close_the_items_that_are_not_the_approvers_too() -> None:
    """What one of them wants different is proposed anew as a whole."""
    state = waiting(call(1), call(2, rule=ADMIN))
    assert len(decided(state, press("bob", verdict="changes", reason="shorter")).call_changes) == 2
    rest = waiting(call(1, "denied"), call(2, rule=ADMIN))
    assert refused(rest, press("bob", verdict="changes", reason="shorter")).code == "not_an_approver"


@pytest.mark.parametrize(("fields", "field"), [({"reason": " "}, "reason"), ({"reason": "x", "items": (1,)}, "items")])
def test_changes_need_a_reason_and_are_for_the_whole_card(fields: dict[str, Any], field: str) -> None:
    """A single item is denied with a reason."""
    refusal = refused(waiting(), press(verdict="changes", **fields))
    assert (type(refusal), refusal.field) == (BadInput, field)


# --- too late, or of something else ---


def test_a_press_after_the_expiry_changes_nothing() -> None:
    """E4: a click at 61 s on a card of 60 s is answered `expired`."""
    refusal = refused(waiting(), press(pressed_at=START + timedelta(seconds=61)))
    assert isinstance(refusal, Conflict)
    assert refusal.code == "already_decided"
    assert "has expired; nothing was run" in str(refusal)
    assert decided(waiting(), press(pressed_at=START + LIFE - timedelta(microseconds=1))).status == "queued"


@pytest.mark.parametrize(
    ("status", "said"),
    [
        ("approved", "already decided by cid: approved"),
        ("denied", "already decided by cid: denied"),
        ("changes", "already decided by cid: changes"),
        ("expired", "has expired"),
        ("cancelled", "was cancelled with its task"),
    ],
)
def test_the_second_press_is_told_what_became_of_the_card(status: str, said: str) -> None:
    """E1, E21: the loser of a double press learns the winner; a press on a withdrawn card does nothing."""
    state = waiting(call(1, "approved"), status=status, decided_by="cid")
    refusal = refused(state, press())
    assert (type(refusal), refusal.code) == (Conflict, "already_decided")
    assert said in str(refusal)


def test_a_press_on_what_the_card_showed_before_is_refused() -> None:
    """E8: an edit in between means another look; a typed word takes the card as it is now."""
    state = waiting(revision=2)
    refusal = refused(state, press(revision=1))
    assert (type(refusal), refusal.code) == (Conflict, "card_changed")
    assert decided(state, press(revision=2)).status == "queued"
    assert decided(state, press()).status == "queued"


def test_an_item_that_is_decided_says_by_whom() -> None:
    """E20: the others can still be decided."""
    state = waiting(call(1, "denied", decided_by="cid"), call(2))
    assert "Item 1 was already decided by cid: denied" in str(refused(state, press(items=(1,))))


def test_an_item_that_is_not_on_the_card_is_refused() -> None:
    """The numbers that exist are named."""
    assert "items 1 to 1; 3 is none" in str(refused(waiting(), press(items=(3,))))


# --- what happened ---


@pytest.mark.parametrize(
    ("outcome", "status", "card", "answered"),
    [
        ("happened", "done", "approved", True),
        ("skip", "cancelled", "denied", True),
        ("again", "approved", "approved", False),
    ],
)
def test_an_unknown_effect_is_settled_by_what_a_person_saw(
    outcome: str, status: str, card: str, answered: bool
) -> None:
    """E2: it happened, run it again, or leave it; only `again` leaves the call to be run."""
    step = decided(waiting(call(1, "unknown")), press(outcome=outcome))
    assert (step.call_changes[0].status, step.approval_changes[0].status) == (status, card)
    assert any(entry.kind == "tool" for entry in step.entries) is answered
    assert step.status == "queued"


def test_running_it_again_takes_as_many_as_the_power_asks_for() -> None:
    """E2: to say what happened, or to leave it, takes one."""
    state = waiting(call(1, "unknown", rule=TWO))
    first = decided(state, press("bob", outcome="again"))
    assert (first.status, first.call_changes[0].status, first.call_changes[0].votes) == (None, "unknown", ("bob",))
    assert decided(state, press("bob", outcome="happened")).status == "queued"
    again = waiting(call(1, "unknown", rule=TWO, votes=("bob",)))
    assert decided(again, press("cid", outcome="again")).call_changes[0].status == "approved"


def test_an_outcome_card_is_under_the_rule_of_the_power() -> None:
    """E2: not everybody may say what happened."""
    assert refused(waiting(call(1, "unknown")), press("ann", outcome="happened")).code == "not_an_approver"


def test_an_outcome_is_for_the_card_that_asks_for_one() -> None:
    """A plain approval does not say whether it happened, and there is nothing to propose differently."""
    unknown = waiting(call(1, "unknown"))
    assert "happened, again or skip" in str(refused(unknown, press()))
    assert "only for a card that asks" in str(refused(waiting(), press(outcome="skip")))
    assert refused(unknown, press(verdict="changes", reason="x")).field == "verdict"
    assert refused(unknown, press(verdict="denied", outcome="again")).field == "verdict"
