"""Forms by answered messages: what is asked, and how an answer is read."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.errors import BadInput
from agent.ports.channels import Form, FormField
from channels.telegram.forms import answered, asked_by, question
from channels.telegram.text import MESSAGE_UNITS, units
from channels.telegram.updates import Sender
from tests.servers.telegram.formats import cut

VALUE = "token:1:edit:1"
REASON = Form(
    value="token:1:deny",
    title="Deny approval 12",
    fields=(FormField(name="reason", label="Reason", multiline=True, required=False),),
    submit="Deny",
)
WISH = Form(
    value="token:1:changes",
    title="Changes to approval 12",
    fields=(FormField(name="reason", label="What should be different?", multiline=True),),
    submit="Request changes",
)
EDIT = Form(
    value=VALUE,
    title="Edit approval 12",
    fields=(
        FormField(name="content", label="content", value="one\ntwo", multiline=True, required=False),
        FormField(name="path", label="path", value="a.md", required=False),
    ),
    submit="Show the new card",
)
NUMBER = Form(
    value=VALUE, title="Edit approval 12", fields=(FormField(name="count", label="count", value="3"),), submit="Show"
)


@pytest.mark.parametrize(
    ("form", "text", "fields"),
    [
        pytest.param(REASON, "wrong quarter", {"reason": "wrong quarter"}, id="a reason"),
        pytest.param(REASON, " - ", {"reason": ""}, id="no reason"),
        pytest.param(WISH, "-", {"reason": "-"}, id="a wish has to be said"),
        pytest.param(NUMBER, "4", {"count": "4"}, id="the only value"),
        pytest.param(EDIT, "path: b.md", {"path": "b.md"}, id="one of two"),
        pytest.param(
            EDIT,
            "path: b.md\ncontent:\nkey: value\npath: not this one",
            {"path": "b.md", "content": "key: value\npath: not this one"},
            id="a long value takes the rest",
        ),
        pytest.param(EDIT, "content: one line", {"content": "one line"}, id="a long value of one line"),
        pytest.param(EDIT, "\n path:b.md\n", {"path": "b.md"}, id="spaces around"),
    ],
)
def test_an_answer_fills_the_fields(form: Form, text: str, fields: dict[str, str]) -> None:
    """A single one takes everything, of several each is named."""
    assert answered(form, text) == fields


@pytest.mark.parametrize("text", ["b.md", "pth: b.md", "path: a\npath: b", "path: a\nand more"])
def test_an_answer_that_names_no_field_is_refused(text: str) -> None:
    """With how to write it; nothing is guessed."""
    with pytest.raises(BadInput, match="the names are path, content"):
        answered(EDIT, text)


def test_a_question_says_what_it_asks_for() -> None:
    """The title carries the button, and the values are shown as they would be typed."""
    asked = question(EDIT, "signoff_bot")
    assert cut(asked.text, *asked.title) == "Edit approval 12"
    assert asked.values is not None
    assert cut(asked.text, *asked.values) == "path: a.md\ncontent:\none\ntwo"
    assert answered(EDIT, cut(asked.text, *asked.values)) == {"path": "a.md", "content": "one\ntwo"}


def test_a_question_in_company_is_for_somebody() -> None:
    """Their name stands first, so that it is them whom the client asks; positions count in UTF-16."""
    asked = question(REASON, "signoff_bot", Sender(user_id=7, name="Ann 🙂"))
    assert asked.text.startswith("Ann 🙂, Deny approval 12\n")
    assert cut(asked.text, *asked.title) == "Deny approval 12"
    assert asked.values is None


def test_long_values_go_into_a_file() -> None:
    """What is over the limit of a message."""
    form = Form(
        value=VALUE,
        title="Edit",
        fields=(FormField(name="content", label="content", value="x" * 5000, multiline=True),),
        submit="Show",
    )
    asked = question(form, "signoff_bot")
    assert units(asked.text) <= MESSAGE_UNITS
    assert asked.file == "x" * 5000


@pytest.mark.parametrize(
    ("link", "value"),
    [
        pytest.param("tg://resolve?domain=signoff_bot&signoff=token:1:deny", "token:1:deny", id="as it was sent"),
        pytest.param("tg://resolve/?domain=Signoff_Bot&signoff=token:1:deny", "token:1:deny", id="as it may come back"),
        pytest.param("tg://resolve?domain=other_bot&signoff=token:1:deny", None, id="of another bot"),
        pytest.param("https://t.me/signoff_bot?signoff=token:1:deny", None, id="what a model could write"),
    ],
)
def test_a_question_is_known_by_its_link(link: str, value: str | None) -> None:
    """Only the bot writes tg: links, and only in questions."""
    assert asked_by(["https://example.org", link], "signoff_bot") == value


@given(st.text(), st.text())
def test_any_values_can_be_asked_for_and_answered(path: str, content: str) -> None:
    """The positions fit the text; an answer is either read or refused."""
    fields = (FormField(name="path", label="path", value=path), FormField(name="c", label="c", value=content))
    asked = question(Form(value=VALUE, title="Edit", fields=fields, submit="Show"), "signoff_bot")
    assert units(asked.text) <= MESSAGE_UNITS
    assert cut(asked.text, *asked.title) == "Edit"
    if asked.values is not None:
        assert sum(asked.values) == units(asked.text)
    try:
        given_fields = answered(EDIT, content)
    except BadInput:
        return
    assert set(given_fields) <= {"path", "content"}
