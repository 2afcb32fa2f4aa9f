"""Where the policy wants another person than whoever is behind a change: who that is, in every shape it takes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from agent.cards import card
from agent.decisions import decision
from agent.domain import Member
from agent.errors import BadInput
from agent.ports.store import Step, TaskState
from tests.agent.waiting import APPROVER, PEOPLE, call, press, waiting

OTHER = replace(APPROVER, other=True)


def step_of(state: TaskState, by: str, people: Mapping[str, Member] = PEOPLE, **fields: Any) -> Step:
    """What a press that counts changes."""
    decided = decision(state, 7, replace(press(**fields), presser=people[by]), people)
    assert decided.refusal is None, decided.refusal
    return decided.step


def refusal_of(state: TaskState, by: str, people: Mapping[str, Member] = PEOPLE) -> BadInput:
    """Why an approval does not count."""
    refusal = decision(state, 7, replace(press(), presser=people[by]), people).refusal
    assert refusal is not None
    return refusal


def written_by(name: str) -> TaskState:
    """A card of one item that this person has edited."""
    return waiting(call(rule=OTHER, original="{}", edited_by=name))


def test_whoever_edited_an_item_does_not_sign_it_off() -> None:
    """`by: other`: or one person alone would write what they like and approve it; they can still deny it."""
    assert refusal_of(written_by("bob"), "bob").code == "own_edit"
    assert step_of(written_by("bob"), "cid").call_changes[0].status == "approved"
    assert step_of(written_by("bob"), "bob", verdict="denied").call_changes[0].status == "denied"


def test_nobody_is_left_when_the_only_other_person_edited_it() -> None:
    """The card and the refusal say who asked and who edited."""
    people = {name: PEOPLE[name] for name in ("ann", "bob")}
    state = written_by("bob")
    refusal = refusal_of(state, "bob", people)
    assert refusal.code == "quorum_impossible"
    assert "not ann, who asked, nor bob, who edited it" in str(refusal)
    assert "nor bob, who edited it" in card(state.approvals[0], state.task, people).footer


def test_an_edit_is_signed_off_by_its_author_where_no_other_person_is_asked_for() -> None:
    """As is one that was taken back."""
    edited = waiting(call(original="{}", edited_by="bob"))
    assert step_of(edited, "bob").call_changes[0].status == "approved"
    two = waiting(call(rule=replace(OTHER, quorum=2), original="{}", edited_by="bob", votes=("cid",)))
    assert step_of(two, "bob").call_changes[0].status == "approved", "two people stand behind it"
    back = call(rule=OTHER, edited_by="bob")
    back = replace(back, original=back.arguments)
    assert step_of(waiting(back), "bob").call_changes[0].status == "approved"


def test_whoever_asked_as_a_guest_is_the_same_person_once_known() -> None:
    """A guest is named by an identity; linked to somebody later, it is still that one who asked."""
    people = {**PEOPLE, "bob": replace(PEOPLE["bob"], identities=frozenset({"chat:B1"}))}
    state = waiting(call(rule=OTHER))
    asked = replace(state, task=replace(state.task, requester="chat:B1"))
    assert refusal_of(asked, "bob", people).code == "not_an_approver"
    wish = step_of(asked, "bob", people, verdict="changes", reason="shorter")
    assert wish.call_changes[0].status == "denied"
    assert step_of(asked, "cid", people).call_changes[0].status == "approved"
