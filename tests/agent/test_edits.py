"""Arguments that a person puts in place of the model's: what an edit changes, and who may make it. Pure."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta

import pytest

from agent.decisions import Decided
from agent.domain import ApproverRule, Call, Edit, Member, Target
from agent.edits import DIFF_CHARACTERS, Draft, edition, told
from agent.errors import BadInput, Conflict, Forbidden
from agent.ports.store import TaskState
from agent.tool import Preview, digest
from tests.agent.waiting import APPROVER, CHAT, PEOPLE, call, edit, waiting
from tests.clock import START

ARGUMENTS = '{"path": "1.md", "content": "better"}'
DRAFT = Draft(
    arguments=ARGUMENTS,
    sha256=digest("write_file", ARGUMENTS),
    preview=Preview(
        title="Replace 1.md",
        text="+better",
        targets=(Target(path="1.md", base_sha256="a", intended_sha256="b"),),
    ),
    revision=1,
)
STRANGER = Member(name="slack:U9", roles=frozenset({"approver"}))
DORAS = ApproverRule(groups=(("dora",),))


def edited(state: TaskState, made: Edit, draft: Draft | BadInput = DRAFT) -> Decided:
    return edition(state, made, draft, PEOPLE)


def test_an_edit_changes_what_will_run_and_asks_everybody_again() -> None:
    """E8: the new arguments, their hash and preview; votes are gone, the model's own are kept, buttons go stale."""
    two = replace(APPROVER, quorum=2)
    state = waiting(call(1, rule=two, votes=("cid",)), call(2))
    outcome = edited(state, edit())
    assert outcome.refusal is None
    [change] = outcome.step.call_changes
    assert (change.call_id, change.status, change.votes) == ("c1", "waiting", ())
    assert (change.arguments, change.sha256) == (ARGUMENTS, DRAFT.sha256)
    assert (change.title, change.preview, change.targets) == ("Replace 1.md", "+better", DRAFT.preview.targets)
    assert (change.original, change.edited_by) == (state.calls[0].arguments, "bob")
    [card] = outcome.step.approval_changes
    assert (card.status, card.revised) == ("open", True)
    assert outcome.step.status is None
    assert [(delivery.kind, delivery.to) for delivery in outcome.step.deliveries] == [("settle", CHAT)]


def test_an_edit_is_told_with_both_versions() -> None:
    """The journal has the arguments before and after, the row of the event that it was an edit."""
    step = edited(waiting(), edit()).step
    [entry] = step.entries
    assert (entry.data["verdict"], entry.data["by"], entry.data["call_ids"]) == ("edited", "bob", ["c1"])
    assert (entry.data["before"], entry.data["after"]) == (call().arguments, ARGUMENTS)
    assert entry.data["sha256"] == [DRAFT.sha256]
    assert step.received is not None
    assert (step.received.kind, step.received.outcome, step.received.who) == ("edit", "edited", "bob")


def test_a_second_edit_keeps_what_the_model_wanted() -> None:
    """Not what the first person wanted."""
    state = waiting(call(1, original='{"path": "1.md", "content": "first"}', edited_by="cid"))
    [change] = edited(state, edit()).step.call_changes
    assert (json.loads(change.original or "")["content"], change.edited_by) == ("first", "bob")


@pytest.mark.parametrize(
    ("state", "made", "draft", "kind", "code"),
    [
        (waiting(), edit("ann"), DRAFT, Forbidden, "not_an_approver"),
        (
            waiting(),
            edit(editor=STRANGER),
            DRAFT,
            Forbidden,
            "not_an_approver",
        ),
        (
            waiting(call(1, rule=DORAS), call(2)),
            edit(),
            DRAFT,
            Forbidden,
            "not_an_approver",
        ),
        (waiting(call(rule=None)), edit(), DRAFT, Forbidden, "not_an_approver"),
        (waiting(), edit(edited_at=START + timedelta(seconds=61)), DRAFT, Conflict, "already_decided"),
        (waiting(status="denied"), edit(), DRAFT, Conflict, "already_decided"),
        (waiting(call(1, "approved"), call(2)), edit(), DRAFT, Conflict, "already_decided"),
        (waiting(), edit(item=2), DRAFT, BadInput, "unknown_item"),
        (waiting(revision=2), edit(revision=1), DRAFT, Conflict, "card_changed"),
        (waiting(revision=2), edit(), DRAFT, Conflict, "card_changed"),
        (waiting(call(1, "unknown")), edit(), DRAFT, BadInput, "invalid"),
        (waiting(call(arguments=ARGUMENTS)), edit(), DRAFT, Conflict, "not_changed"),
        (waiting(), edit(), BadInput("It leaves.", code="bad_arguments"), BadInput, "bad_arguments"),
    ],
)
def test_an_edit_that_may_not_be_changes_nothing(
    state: TaskState, made: Edit, draft: Draft | BadInput, kind: type[BadInput], code: str
) -> None:
    """It is written down as tried: with its code in the journal and among what was received."""
    outcome = edited(state, made, draft)
    assert (type(outcome.refusal), outcome.refusal and outcome.refusal.code) == (kind, code)
    step = outcome.step
    assert (step.call_changes, step.approval_changes, step.deliveries) == ((), (), ())
    [entry] = step.entries
    assert (entry.data["verdict"], entry.data["tried"], entry.data["code"]) == ("refused", "edited", code)
    assert step.received is not None
    assert (step.received.kind, step.received.outcome) == ("edit", f"refused:{code}")


# --- what the model is told ---


def told_of(original: dict[str, object], arguments: dict[str, object]) -> str:
    return told(call(original=json.dumps(original), arguments=json.dumps(arguments), edited_by="bob"))


def test_the_model_is_told_who_changed_what() -> None:
    """A line for a short argument, a diff for a text of several lines, and nothing for what stayed."""
    text = told_of(
        {"path": "a.md", "content": "one\ntwo\n", "rows": [1]}, {"path": "b.md", "content": "one\n2\n", "rows": [1]}
    )
    assert text.startswith("[bob changed the arguments of this call before approving it:]\n")
    assert 'path: "a.md" → "b.md"' in text
    assert "--- content" in text
    assert "-two\n+2" in text
    assert "rows" not in text


def test_an_argument_that_came_or_went_is_said() -> None:
    """It is not the same as an empty one."""
    text = told_of({"path": "a"}, {"path": "a", "limit": 5})
    assert "limit: (not given) → 5" in text
    assert "limit: 5 → (not given)" in told_of({"path": "a", "limit": 5}, {"path": "a"})


def test_hidden_characters_in_a_change_are_visible() -> None:
    """E22: the model's own text may be what somebody else wrote."""
    assert "\\u202e" in told_of({"path": "a"}, {"path": "a\u202eb"})


def test_a_long_change_is_cut() -> None:
    """The result that follows must keep its room."""
    text = told_of({"content": "a\n" * 5_000}, {"content": "b\n" * 5_000})
    assert len(text) < DIFF_CHARACTERS + 200
    assert "characters in all" in text


@pytest.mark.parametrize(
    "unchanged", [call(), call(original=call().arguments, edited_by="bob")], ids=["never edited", "edited back"]
)
def test_a_call_that_runs_as_the_model_wrote_it_is_told_without_a_word(unchanged: Call) -> None:
    """Also when somebody changed it and changed it back."""
    assert told(unchanged) == ""
