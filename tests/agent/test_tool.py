"""From the text a model wrote to the one text that is shown, hashed, stored and run."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.errors import BadArguments
from agent.tool import Arguments, Tool, ToolContext, clean, digest, normalised, parse, schema


class Writing(Arguments):
    """A path, its content, and a number that may be left out."""

    path: str
    content: str
    times: int = 1


async def _nothing(context: ToolContext, arguments: Writing) -> str:
    return ""


WRITE = Tool(name="write", description="Write.", parameters=Writing, capability="file:write", run=_nothing)


def parsed(text: str) -> Writing:
    arguments = parse(WRITE, text)
    assert isinstance(arguments, Writing)
    return arguments


def test_an_object_that_is_itself_a_json_string_is_unwrapped_once() -> None:
    """A16: before the schema, the card and the hash see it; twice wrapped is refused."""
    plain = json.dumps({"path": "a", "content": "b"})
    assert normalised(parsed(json.dumps(plain))) == normalised(parsed(plain))
    with pytest.raises(BadArguments, match="must be a JSON object"):
        parse(WRITE, json.dumps(json.dumps(plain)))


def test_text_that_looks_like_json_stays_text() -> None:
    """A17: only the whole arguments are ever unwrapped, never a value inside."""
    assert parsed(json.dumps({"path": "c.json", "content": '{"a": 1}'})).content == '{"a": 1}'


def test_a_key_given_twice_is_refused() -> None:
    """A18: one reader takes the first, another the last; a person would see only one of them."""
    with pytest.raises(BadArguments, match="same key twice"):
        parse(WRITE, '{"path":"ok.txt","path":"other.txt","content":"x"}')
    with pytest.raises(BadArguments, match="same key twice"):
        parse(WRITE, '{"path":"ok.txt","content":{"a":1,"a":2}}')


def test_a_lone_surrogate_becomes_a_character_that_can_be_stored() -> None:
    """A20: neither a database nor a provider takes half of a pair."""
    assert parsed('{"path":"a","content":"ok\\ud83d"}').content == "ok\ufffd"
    assert clean("\ud83d\ude00") == "\U0001f600"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"path": "a", "cont', "not complete JSON"),
        ('{"path": "a"}', "content"),
        ('{"path": "a", "content": "b", "mode": "x"}', "mode"),
        ('{"path": "a", "content": 7}', "content"),
        ('{"path": "a", "content": "b", "times": NaN}', "NaN is not a JSON value"),
        ("[]", "must be a JSON object"),
        ("[" * 100_000, "nested too deeply"),
    ],
)
def test_arguments_that_do_not_fit_are_refused_with_what_is_wrong(text: str, said: str) -> None:
    """The model reads the field and the reason; a missing key is never guessed."""
    with pytest.raises(BadArguments, match=said):
        parse(WRITE, text)


def test_what_is_shown_holds_only_what_the_model_gave() -> None:
    """A default that nobody wrote is not shown as if somebody had; it is the tool's own."""
    assert normalised(parsed('{"content":"é","path":"a"}')) == '{"path": "a", "content": "é"}'


@given(st.text(), st.text(), st.integers())
def test_normalised_arguments_are_a_fixed_point(path: str, content: str, times: int) -> None:
    """E8: reading the stored text again gives the same text, so the hash holds at the run."""
    stored = normalised(parsed(json.dumps({"path": path, "content": content, "times": times})))
    assert normalised(parsed(stored)) == stored
    assert digest("write", stored) != digest("edit", stored)


def test_a_schema_carries_no_titles() -> None:
    """They cost tokens with each request and say nothing."""
    function = schema(WRITE)["function"]
    assert function["parameters"]["required"] == ["path", "content"]
    assert "title" not in json.dumps(function["parameters"])


class Titled(Arguments):
    """A parameter may be called title."""

    title: str


def test_a_parameter_named_title_stays() -> None:
    """Only the generated titles are left out."""
    tool = Tool(name="t", description="", parameters=Titled, capability="file:read", run=_nothing)
    assert list(schema(tool)["function"]["parameters"]["properties"]) == ["title"]
