"""What buttons carry, the forms behind them, and what a press means."""

from __future__ import annotations

import json
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.buttons import AskAgain, Value, Verb, edited_arguments, form, meant, parse
from agent.cards import card
from agent.domain import ButtonPress, Edit
from agent.errors import BadInput, Conflict
from agent.ports.channels import ChannelPress
from tests.agent.waiting import CHAT, PEOPLE, SOON, call, waiting

TELEGRAM_BYTES = 64


def pressed(value: Value, **fields: str) -> ChannelPress:
    return ChannelPress(
        dedup_key="k", address=CHAT, identity="chat:U1", value=str(value), pressed_at=SOON, fields=fields
    )


def value(verb: Verb, item: int | None = None, revision: int = 1) -> Value:
    return Value(token="t", revision=revision, verb=verb, item=item)


def decided(verb: Verb, item: int | None = None, **fields: str) -> Any:
    """What bob's press means."""
    return meant(
        waiting(call(1), call(2)).approvals[0], value(verb, item), pressed(value(verb, item), **fields), PEOPLE["bob"]
    )


@given(
    st.text(alphabet="abcXYZ019_-", min_size=16, max_size=16),
    st.integers(0, 10**6),
    st.sampled_from(get_args(Verb)),
    st.none() | st.integers(1, 512),
)
def test_a_value_is_read_back_and_fits_every_platform(token: str, revision: int, verb: Verb, item: int | None) -> None:
    """At most 64 bytes, whatever the card."""
    made = Value(token=token, revision=revision, verb=verb, item=item)
    assert len(str(made).encode()) <= TELEGRAM_BYTES
    assert parse(str(made)) == made


STRANGE = [
    "", "t", "t:1", "t:1:dance", "t:x:approve", ":1:approve", "t:1:approve:", "t:1:approve:1:2", "t:١:approve",
    "t:1:approve\n",
]  # fmt: skip


@pytest.mark.parametrize("text", STRANGE)
def test_what_no_button_carries_is_refused(text: str) -> None:
    """A value comes from outside like everything else."""
    with pytest.raises(BadInput, match="not from Signoff"):
        parse(text)


def test_every_button_of_a_card_can_be_read() -> None:
    """The card's token and revision, and for an item its number."""
    state = waiting(call(1), call(2), revision=3)
    made = card(state.approvals[0], state.task, PEOPLE)
    values = [parse(button.value) for button in (*made.buttons, *made.items[1].buttons)]
    assert {(one.token, one.revision) for one in values} == {("t", 3)}
    assert [(one.verb, one.item) for one in values] == [
        ("approve", None), ("deny", None), ("changes", None), ("approve", 2), ("deny", 2), ("edit", 2),
    ]  # fmt: skip
    forms = [button.form for button in (*made.buttons, *made.items[1].buttons)]
    assert forms == [False, True, True, False, True, True]


# --- a press ---


@pytest.mark.parametrize(
    ("verb", "item", "fields", "wanted"),
    [
        ("approve", None, {}, {"verdict": "approved"}),
        ("approve", 2, {}, {"verdict": "approved", "items": (2,)}),
        ("deny", None, {}, {"verdict": "denied"}),
        ("deny", 1, {"reason": " wrong "}, {"verdict": "denied", "items": (1,), "reason": "wrong"}),
        ("changes", None, {"reason": "by region"}, {"verdict": "changes", "reason": "by region"}),
        ("happened", None, {}, {"verdict": "approved", "outcome": "happened"}),
        ("again", None, {}, {"verdict": "approved", "outcome": "again"}),
        ("skip", None, {}, {"verdict": "approved", "outcome": "skip"}),
    ],
)
def test_a_verdict_by_button(verb: Verb, item: int | None, fields: dict[str, str], wanted: dict[str, Any]) -> None:
    """With the revision of what the button was shown on."""
    assert decided(verb, item, **fields) == ButtonPress(
        dedup_key="k", presser=PEOPLE["bob"], pressed_at=SOON, token="t", approval_id=7, revision=1, **wanted
    )


def test_an_edit_by_button() -> None:
    """The fields of its form are the arguments."""
    made = decided("edit", 2, content="better")
    assert isinstance(made, Edit)
    assert (made.approval_id, made.item, made.revision, made.editor) == (7, 2, 1, PEOPLE["bob"])
    assert json.loads(made.arguments) == {"path": "2.md", "content": "better"}
    with pytest.raises(BadInput, match="9 is none of them"):
        decided("edit", 9)


def test_asking_again_by_button() -> None:
    """An expired card's only button."""
    assert decided("ask") == AskAgain(approval_id=7)


# --- forms ---


def test_a_form_for_a_denial_and_one_for_changes() -> None:
    """A reason helps the model, and without one there is nothing to change."""
    approval = waiting(call(1), call(2)).approvals[0]
    deny, wish = form(approval, value("deny", 2)), form(approval, value("changes"))
    assert (deny.title, deny.fields[0].required) == ("Deny approval 7, item 2", False)
    assert (wish.title, wish.fields[0].required) == ("Changes to approval 7", True)
    assert parse(deny.value) == value("deny", 2)


def test_the_form_of_an_edit_has_a_field_for_each_argument() -> None:
    """Texts as they are, in several lines when they are long; anything else as JSON."""
    arguments = json.dumps({"path": "a.md", "content": "one\ntwo", "rows": [1, 2], "note": "x" * 100, "empty": ""})
    made = form(waiting(call(arguments=arguments)).approvals[0], value("edit", 1))
    assert [(field.name, field.value, field.multiline, field.required) for field in made.fields] == [
        ("path", "a.md", False, False),
        ("content", "one\ntwo", True, False),
        ("rows", "[1, 2]", False, True),
        ("note", "x" * 100, True, False),
        ("empty", "", False, False),
    ]


@pytest.mark.parametrize(
    ("card_", "pressed_", "kind", "code"),
    [
        ({"revision": 2}, value("edit", 1), Conflict, "card_changed"),
        ({"status": "approved", "decided_by": "bob"}, value("deny"), Conflict, "already_decided"),
        ({}, value("edit", 9), BadInput, "unknown_item"),
        ({}, value("approve"), BadInput, "invalid"),
    ],
)
def test_a_form_that_cannot_be_opened_says_why(
    card_: dict[str, Any], pressed_: Value, kind: type[BadInput], code: str
) -> None:
    """Before somebody types into it for nothing."""
    with pytest.raises(kind) as refusal:
        form(waiting(**card_).approvals[0], pressed_)
    assert refusal.value.code == code


# --- edited arguments ---


def test_texts_stay_texts_and_values_are_json() -> None:
    """A17: what looks like JSON in a text is text; a field that was not sent stays as it is."""
    one = call(arguments='{"content": "x", "limit": 5, "path": "a"}')
    made = edited_arguments(one, {"content": '{"a": 1}', "limit": "[6]", "unknown": "x"})
    assert json.loads(made) == {"content": '{"a": 1}', "limit": [6], "path": "a"}
    with pytest.raises(BadInput, match="limit: write the value as JSON") as refusal:
        edited_arguments(one, {"limit": "five"})
    assert (refusal.value.code, refusal.value.field) == ("bad_arguments", "limit")


def test_line_ends_are_not_changed_by_a_browser() -> None:
    """A form sends CRLF; a text that has such line ends already keeps what was sent."""
    assert json.loads(edited_arguments(call(arguments='{"t": "a\\nb"}'), {"t": "a\r\nc"})) == {"t": "a\nc"}
    assert json.loads(edited_arguments(call(arguments='{"t": "a\\r\\nb"}'), {"t": "a\r\nc"})) == {"t": "a\r\nc"}


@given(st.dictionaries(st.text(max_size=5), st.text(max_size=20) | st.integers() | st.lists(st.booleans()), max_size=4))
def test_a_form_sent_back_as_it_was_changes_nothing(arguments: dict[str, Any]) -> None:
    """Whatever the arguments are; as a browser sends it, too."""
    one = call(arguments=json.dumps(arguments))
    fields = {field.name: field.value for field in form(waiting(one).approvals[0], value("edit", 1)).fields}
    assert json.loads(edited_arguments(one, fields)) == arguments
