"""Presses of anybody in whatever order never let something run that not enough people approved."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from agent.decisions import decision
from agent.domain import Approval, ApproverRule, ButtonPress, Call, Member
from agent.policy import fits
from agent.ports.store import Step, TaskState
from tests.agent.waiting import PEOPLE, SOON, call, waiting

NAMES = st.sampled_from([*PEOPLE, "mallory"])
RULES = st.builds(
    ApproverRule,
    groups=st.lists(st.sampled_from([("approver",), ("admin", "cid"), ("member",), ()]), min_size=1, max_size=2).map(
        tuple
    ),
    other=st.booleans(),
    quorum=st.integers(1, 3),
)
PRESSES = st.lists(
    st.builds(
        ButtonPress,
        dedup_key=st.just("k"),
        presser=NAMES.map(lambda name: PEOPLE.get(name, Member(name=name, roles=frozenset({"approver", "admin"})))),
        verdict=st.sampled_from(["approved", "denied", "changes"]),
        pressed_at=st.just(SOON),
        items=st.sampled_from([(), (1,), (2,), (1, 2)]),
        reason=st.sampled_from(["", "no"]),
    ),
    max_size=8,
)


def apply(state: TaskState, step: Step) -> TaskState:
    """The rows after a step, as far as cards need them."""
    changes = {change.call_id: change for change in step.call_changes}

    def now(one: Call) -> Call:
        change = changes.get(one.call_id)
        if change is None:
            return one
        return replace(one, status=change.status, votes=one.votes if change.votes is None else change.votes)

    calls = tuple(now(one) for one in state.calls)
    card: Approval = replace(state.approvals[0], items=calls)
    for change in step.approval_changes:
        card = replace(card, status=change.status, decided_by=change.decided_by)
    task = state.task if step.status is None else replace(state.task, status=step.status)
    return replace(state, task=task, calls=calls, approvals=(card,), entries=state.entries + step.entries)


@given(st.tuples(RULES, RULES), PRESSES)
def test_nothing_runs_that_not_enough_people_approved(
    rules: tuple[ApproverRule, ApproverRule], presses: list[ButtonPress]
) -> None:
    """E1, E13: an item is approved only when as many different people as its rule asks for approved it, each of whom
    may; a card is closed exactly when nothing on it waits; every press is written down."""
    state = waiting(call(1, rule=rules[0]), call(2, rule=rules[1]))
    yes: dict[int, set[str]] = {1: set(), 2: set()}
    for number, pressed in enumerate(presses, 1):
        outcome = decision(state, 7, pressed, PEOPLE)
        before = state
        state = apply(state, outcome.step)
        assert len(state.entries) >= number
        assert outcome.step.received is not None
        if outcome.refusal is not None:
            assert (state.calls, state.approvals) == (before.calls, before.approvals)
        elif pressed.verdict == "approved":
            for item in pressed.items or (1, 2):
                yes[item].add(pressed.presser.name)
        for one in state.calls:
            assert one.rule is not None
            assert one.item is not None
            able = {name for name in yes[one.item] if name in PEOPLE and fits(PEOPLE[name], one.rule, "ann")}
            assert one.status != "approved" or len(able) >= one.rule.quorum
        card = state.approvals[0]
        assert (card.status == "open") == any(one.status == "waiting" for one in card.items)
        assert (card.status == "open") == (state.task.status == "waiting_approval")
