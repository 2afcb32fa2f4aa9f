"""How the chunks of a stream become a turn, with every bend of the protocol that was reported."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.domain import Usage
from agent.errors import ModelRefused, ModelUnavailable
from agent.llm.assemble import Assembly, Counts
from agent.ports.models import Turn
from tests.servers.llm import chunk, piece

USAGE = Usage(model="p/m", input_tokens=0, output_tokens=0)
STOP = chunk({}, "stop")


def call(name: str | None = None, arguments: str | None = None, **fields: Any) -> dict[str, Any]:
    return {**fields, "function": {"name": name, "arguments": arguments}}


def turn(chunks: Sequence[dict[str, Any]], **settings: Any) -> Turn:
    assembly = Assembly("p/m", **settings)
    assembly.feed(chunks)
    return assembly.turn(USAGE)


def calls(chunks: Sequence[dict[str, Any]], **settings: Any) -> list[tuple[str, str]]:
    return [(made.name, made.arguments) for made in turn(chunks, **settings).calls]


A, B = '{"path":"a.txt"}', '{"path":"b.txt"}'


@pytest.mark.parametrize(
    ("chunks", "expected"),
    [
        pytest.param(
            [piece(call("read_file", A, id="c1")), piece(call("read_file", B, id="c2"))],
            [("read_file", A), ("read_file", B)],
            id="A1: no index, whole calls in chunks of their own",
        ),
        pytest.param(
            [piece(call("read_file", '{"path":', id="c1")), piece(call(None, '"a.txt"}'))],
            [("read_file", A)],
            id="no index, no id: goes on with the last",
        ),
        pytest.param(
            [piece(call("glob", '{"a":1}', index=0)), piece(call("glob", '{"a":2}', index=0))],
            [("glob", '{"a":1}'), ("glob", '{"a":2}')],
            id="A4: one index, no ids, the first is complete",
        ),
        pytest.param(
            [piece(call("now", "", index=0, id="c1")), piece(call("glob", "{}", index=0, id="c2"))],
            [("now", ""), ("glob", "{}")],
            id="one index, other id, the first without arguments",
        ),
        pytest.param(
            [piece(call("glob", '{"a"', index=0, id="c1")), piece(call("glob", ":1}", index=0, id="c1"))],
            [("glob", '{"a":1}')],
            id="name and id with every piece",
        ),
        pytest.param(
            [chunk({"content": "so"}), piece(call("submit", "{}", index=1, id="c1"))],
            [("submit", "{}")],
            id="A7: the first index is 1",
        ),
        pytest.param(
            [piece(call("", "", index=0, id="c0")), piece(call("submit", "{}", index=1, id="c1"))],
            [("submit", "{}")],
            id="A7: a slot without a name is no call",
        ),
        pytest.param(
            [piece({"index": 0, "id": "c1", "function": None}), piece(call("glob", "{}", index=0))],
            [("glob", "{}")],
            id="A9: function null",
        ),
        pytest.param(
            [
                piece(call("a", '{"x":', index=0, id="c1"), call("b", '{"y":', index=1, id="c2")),
                piece(call(None, "1}", index=0), call(None, "2}", index=1)),
            ],
            [("a", '{"x":1}'), ("b", '{"y":2}')],
            id="two calls interleaved",
        ),
        pytest.param(
            [{"choices": [{"message": {"tool_calls": [{"id": "c", **call("a", None)}]}, "finish_reason": "stop"}]}],
            [("a", "")],
            id="a server that does not stream",
        ),
        pytest.param(
            [piece({"index": 0, "function": {"name": "a", "arguments": {"x": 1}}})],
            [("a", '{"x": 1}')],
            id="arguments as an object",
        ),
    ],
)
def test_calls(chunks: list[dict[str, Any]], expected: list[tuple[str, str]]) -> None:
    """A1, A4, A7, A9: pieces find the call they belong to; A15: whatever the reason says, calls are calls."""
    got = turn([*chunks, STOP])
    assert [(made.name, made.arguments) for made in got.calls] == expected
    assert got.finish_reason == "tool_calls"


def test_ids_are_kept_or_made_once() -> None:
    """A24: an id that is missing, is the tool's name, or is taken gets nine letters and digits; a good one stays."""
    parts = [call("grep", "{}", index=i, id=given) for i, given in enumerate(["c1", None, "grep", "used", "c1x"])]
    ids = [made.call_id for made in turn([piece(*parts), STOP], taken_ids={"used"}).calls]
    assert len(set(ids)) == 5
    assert (ids[0], ids[4]) == ("c1", "c1x")
    assert all(re.fullmatch(r"[A-Za-z0-9]{9}", made) for made in ids[1:4])


@pytest.mark.parametrize(
    ("arguments", "reason", "expected"),
    [
        ('{"path":"x.md","content":"half', "tool_calls", "length"),
        ('{"path":"x.md","content":"half', "stop", "length"),
        ('{"path":"x.md", "rows":[1,', "tool_calls", "length"),
        ('{"path":"x.md"}', "length", "length"),
        ('{"path":"x.md"}', "max_tokens", "length"),
        ('{"path":"x.md",}', "tool_calls", "tool_calls"),
        ("", "stop", "tool_calls"),
    ],
)
def test_a_cut_call_is_named(arguments: str, reason: str, expected: str) -> None:
    """A13, A14: unterminated JSON is a cut whatever the reason says; a reason that says so is kept for valid JSON."""
    assert turn([piece(call("write_file", arguments, index=0, id="c1")), chunk({}, reason)]).finish_reason == expected


@pytest.mark.parametrize("position", [0, 1, 2])
def test_usage_without_choices(position: int) -> None:
    """A8: usage arrives in a chunk without choices, wherever it stands, and the text stays."""
    chunks: list[dict[str, Any]] = [chunk({"content": "hi"}), STOP]
    chunks.insert(position, {"choices": [], "usage": {"prompt_tokens": 12, "completion_tokens": 5}})
    assembly = Assembly("p/m")
    assert assembly.feed(chunks) == "hi"
    assert assembly.counts == Counts(input_tokens=12, output_tokens=5)


@pytest.mark.parametrize(
    "usage",
    [
        {"prompt_tokens": 10, "completion_tokens": 1, "prompt_tokens_details": {"cached_tokens": 4}},
        {"prompt_tokens": 10, "completion_tokens": 1, "prompt_tokens_details": None, "prompt_cache_hit_tokens": 4},
    ],
)
def test_cached_tokens(usage: dict[str, Any]) -> None:
    """OpenAI's and DeepSeek's ways to report cache hits."""
    assembly = Assembly("p/m")
    assembly.feed([{"choices": [], "usage": usage}])
    assert assembly.counts == Counts(input_tokens=10, output_tokens=1, cached_tokens=4)


@pytest.mark.parametrize("key", ["reasoning_content", "reasoning"])
def test_reasoning_is_gathered(key: str) -> None:
    """Reasoning is no text of the answer; it is kept to be sent back."""
    got = turn([chunk({key: "let me "}), chunk({key: "see"}), chunk({"content": "yes"}), STOP])
    assert (got.text, got.reasoning) == ("yes", "let me see")


def test_content_as_parts() -> None:
    """The text parts of a list are text, the thinking parts are not."""
    parts = [{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}, {"type": "text", "text": "yes"}]
    assert turn([chunk({"content": parts}), STOP]).text == "yes"


@pytest.mark.parametrize(
    ("broken", "expected"),
    [
        ({"error": {"code": 502, "message": "upstream"}}, ModelUnavailable),
        ({"error": {"message": "something"}}, ModelUnavailable),
        ({"error": "overloaded"}, ModelUnavailable),
        ({"object": "error", "message": "engine died", "code": 500}, ModelUnavailable),
        ({"error": {"type": "invalid_request_error", "message": "bad"}}, ModelRefused),
        (chunk({"content": ""}, "error"), ModelUnavailable),
        (chunk({}, "insufficient_system_resource"), ModelUnavailable),
    ],
)
def test_errors_inside_a_stream(broken: dict[str, Any], expected: type[Exception]) -> None:
    """A stream that began well may still end in an error; it never becomes an answer."""
    assembly = Assembly("p/m")
    with pytest.raises(expected):
        assembly.feed([chunk({"content": "half"}), broken])
    assert assembly.finish_reason == ""


def test_an_error_that_is_null_is_none() -> None:
    """Some send `error: null` with every chunk."""
    assert turn([{**chunk({"content": "hi"}), "error": None}, STOP]).text == "hi"


def test_surrogates() -> None:
    """A20: halves of one character join, a half alone becomes U+FFFD, in text, reasoning and calls."""
    got = turn([
        chunk({"content": "ok\ud83d", "reasoning": "\ud83d"}),
        chunk({"content": "\ude00"}),
        piece(call("a\ud83d", '{"x":"\ud83d"}', index=0, id="c")),
    ])  # fmt: skip
    assert (got.text, got.reasoning, got.calls[0].name) == ("ok😀", "\ufffd", "a\ufffd")
    assert got.calls[0].arguments == '{"x":"\ufffd"}'
    assert Assembly("p/m").feed([chunk({"content": "a\ud83d"})]) == "a\ufffd"


WRITTEN = '{"name":"list_files","arguments":{}}'


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (WRITTEN, [("list_files", "{}")]),
        (f"{WRITTEN}\n{WRITTEN}", [("list_files", "{}")] * 2),
        (f"[{WRITTEN}, {WRITTEN}]", [("list_files", "{}")] * 2),
        ('{"name":"list_files","parameters":{"path":"."}}', [("list_files", '{"path": "."}')]),
        (f"For example you could send {WRITTEN} but I won't.", []),
        (f"{WRITTEN} That is all.", []),
        ('{"name":"shell","arguments":{"cmd":"rm x"}}', []),
        ('{"name":"list_files","arguments":"{}"}', []),
        ('{"name":"list_files","arguments":{},"why":"x"}', []),
        ('{"total": 3}', []),
        ("[]", []),
    ],
)
def test_calls_written_as_text(text: str, expected: list[tuple[str, str]]) -> None:
    """A22, A23: taken only when the whole text is calls of known tools and the profile says so."""
    settings: dict[str, Any] = {"tool_names": ["list_files"], "text_tool_calls": True}
    got = turn([chunk({"content": text}), STOP], **settings)
    assert [(made.name, made.arguments) for made in got.calls] == expected
    assert got.text == ("" if expected else text)
    assert calls([chunk({"content": text}), STOP], tool_names=["list_files"]) == []


@pytest.mark.parametrize(
    ("pieces", "shown", "rest"),
    [
        (["{", '"name":"list_files","arguments":{}}'], "", ""),
        (["{", '"total": 3}'], "", '{"total": 3}'),
        ([" ", "It", " is"], " It is", ""),
    ],
)
def test_a_possible_call_is_not_shown(pieces: list[str], shown: str, rest: str) -> None:
    """Text that may become a call is held back, and shown after all when it is none."""
    assembly = Assembly("p/m", tool_names=["list_files"], text_tool_calls=True)
    assert "".join(assembly.feed([chunk({"content": text})]) for text in pieces) == shown
    assert assembly.rest() == rest


JSON = st.recursive(st.none() | st.booleans() | st.integers() | st.text(), lambda inner: st.lists(inner, max_size=3))
ARGUMENTS = st.dictionaries(st.text(), JSON, max_size=3)


@given(st.lists(st.tuples(st.sampled_from(["read_file", "grep"]), ARGUMENTS), max_size=3), st.data())
def test_any_split_gives_the_same_calls(wanted: list[tuple[str, dict[str, Any]]], data: st.DataObject) -> None:
    """Wherever a provider cuts the arguments, the calls come out as they were sent."""
    chunks = []
    for index, (name, arguments) in enumerate(wanted):
        text = json.dumps(arguments, ensure_ascii=False)
        at = data.draw(st.integers(0, len(text)))
        chunks += [piece(call(name, text[:at], index=index, id=f"c{index}")), piece(call(None, text[at:], index=index))]
    assert [(name, json.loads(text)) for name, text in calls([*chunks, STOP])] == wanted


@given(ARGUMENTS, st.data())
def test_every_cut_is_seen(arguments: dict[str, Any], data: st.DataObject) -> None:
    """A13: JSON that ends anywhere before its end is recognised as cut."""
    text = json.dumps(arguments)
    at = data.draw(st.integers(1, len(text) - 1))
    assert turn([piece(call("write_file", text[:at], index=0, id="c")), chunk({}, "stop")]).finish_reason == "length"


@pytest.mark.parametrize("part", ["content", "reasoning_content", "tool_calls"])
def test_an_answer_without_end_is_refused(part: str) -> None:
    """A model that does not stop is not retried, and does not fill the memory."""
    much = "x" * 1_000_000
    endless = piece(call("write_file", much, index=0)) if part == "tool_calls" else chunk({part: much})
    with pytest.raises(ModelRefused, match="does not stop"):
        turn([endless] * 60)
