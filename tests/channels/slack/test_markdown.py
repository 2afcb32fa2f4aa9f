"""What a markdown block is given."""

from __future__ import annotations

import time

import pytest
from hypothesis import given

from channels.slack.markdown import MARKDOWN_LIMIT, markdown, markdown_parts
from channels.slack.parts import is_blank, utf16_units
from tests.channels.slack.texts import HOSTILE, notifies, words

TABLE = "| name | sum |\n|---|--:|\n"


@pytest.mark.parametrize(
    ("text", "sent"),
    [
        pytest.param("# Plan\n**go** [doc](https://e.org) ~~x~~ `**a**`", None, id="SLT-01"),
        pytest.param("if a < b && c > d: <none>", "if a &lt; b && c > d: &lt;none>", id="SLT-05"),
        pytest.param("> one\n> two", None, id="SLT-06"),
        pytest.param("[a|b > c](https://e.org)", None, id="SLT-11"),
        pytest.param("see @somebody on X, https://h.io/@me/1", None, id="SLT-13"),
        pytest.param("中文**粗體**中文, **a**b", None, id="SLT-14"),
        pytest.param("1. a\n   - b\n2. c", None, id="SLT-15"),
        pytest.param("````\n```\nx\n```\n````", None, id="SLT-16"),
        pytest.param("    <b>indented code</b>", None, id="indented code is code"),
        pytest.param("- a\n  ```py\n  <b>\n  ```\n- b", None, id="code in a list is code"),
        pytest.param("~~~\n```\n~~~", "````\n```\n````", id="tildes become backticks"),
        pytest.param('```py"><b>x\n1\n```', "```py\n1\n```", id="a hostile name of a language"),
        pytest.param("```\nnever closed", "```\nnever closed\n```", id="an open fence is closed"),
        pytest.param("```\na\n```py", "```\na\n```py\n```", id="what does not close a fence is code"),
        pytest.param("a \\<b> \\\\<c>", "a &lt;b> \\\\&lt;c>", id="a backslash would show the entity"),
        pytest.param("[x](<https://e.org/a b>)", "[x](https://e.org/a%20b)", id="an address in angle brackets"),
        pytest.param("a\r\nb\0\ud83d", "a\nb\ufffd\ufffd", id="what UTF-8 cannot carry"),
    ],
)
def test_markdown_arrives_as_it_was_meant(text: str, sent: str | None) -> None:
    """SLT-01, -05, -06, -11, -13, -14, -15, -16: the block takes Markdown; only what Slack would misread is changed."""
    assert markdown(text) == (sent or text)


@pytest.mark.parametrize("link", ["<https://e.org|site>", "&lt;https://e.org|site&gt;"])
def test_slacks_own_links_work(link: str) -> None:
    """SLT-12: a model that writes Slack's notation gets a working link; in code it stays what it is."""
    assert markdown(f"see {link}, `{link}`") == f"see [site](https://e.org), `{link}`"


@pytest.mark.parametrize(
    ("text", "sent"),
    [
        ("<!channel> done", "&lt;!channel> done"),
        ("<!here|x>", "&lt;!here|x>"),
        ("<@U1> <@W1|ann>", "&lt;@U1> &lt;@W1|ann>"),
        ("<!subteam^S1>", "&lt;!subteam^S1>"),
        ("@everyone, (@here)", "@\u200beveryone, (@\u200bhere)"),
        ("`<!here>` and\n```\n<@U1> <!DOCTYPE html> @here\n```", None),
        ("&lt;!here&gt;", "&lt;!here&gt;"),
    ],
)
def test_nobody_is_notified(text: str, sent: str | None) -> None:
    """SLT-07, SLT-08: a markdown block obeys Slack's tokens, too; the reader sees them as text."""
    if sent is None:
        sent = "`<\u200b!here>` and\n```\n<\u200b@U1> <!DOCTYPE html> @here\n```"
    assert markdown(text) == sent


@given(HOSTILE)
def test_any_text_gives_parts_within_the_limit(text: str) -> None:
    """SLL-03, SLL-06: measured on the final text; nothing is lost, blank or live, and no text is refused."""
    parts = markdown_parts(text, 120)
    assert all(utf16_units(part) <= 120 and not is_blank(part) for part in parts)
    "".join(parts).encode()
    assert not any(map(notifies, parts))
    if "```" not in text and "~~~" not in text and "|--" not in text:
        assert words("".join(parts)) == ("" if is_blank(markdown(text)) else words(markdown(text)))


def test_long_code_is_whole_in_every_part() -> None:
    """SLL-03: every part of a long program is a closed block with its language, and joined it is the same program."""
    lines = [f"print({number}, '<tag>', \"{'x' * 30}\")" for number in range(900)]
    parts = markdown_parts("Look:\n\n```python\n" + "\n".join(lines) + "\n```\n\nDone.")
    code = [part for part in parts if part.startswith("```python\n")]
    assert parts[0] == "Look:"
    assert len(code) == len(parts) - 1 > 3
    assert code[-1].endswith("\n```\n\nDone.")
    bodies = [part.removesuffix("\n\nDone.").removeprefix("```python\n").removesuffix("\n```") for part in code]
    assert "\n".join(bodies).split("\n") == lines


def test_a_long_table_repeats_its_header() -> None:
    """Every part of a table is a table."""
    rows = [f"| row {number} | {number} |" for number in range(1_500)]
    parts = markdown_parts(TABLE + "\n".join(rows))
    assert len(parts) > 2
    assert all(part.startswith(TABLE) for part in parts)
    assert [row for part in parts for row in part.removeprefix(TABLE).split("\n")] == rows


def test_links_and_characters_stay_whole() -> None:
    """A cut moves in front of a link, an entity and an emoji of several characters."""
    link = "[label](https://e.org/" + "x" * 60 + ")"
    for padding in range(80, 130):
        for thing in (link, "👩\u200d👩\u200d👧", "e\u0301\u0301", "&lt;", "`code span`"):
            parts = markdown_parts("y" * padding + thing + " end", 130)
            assert sum(part.count(thing) for part in parts) == 1


def test_a_list_goes_on_in_the_next_message() -> None:
    """SLT-15: at the start of a message the space of a nested item would make it code."""
    items = [f"    - item {number} {'x' * 20}" for number in range(12)]
    parts = markdown_parts("1. first\n" + "\n".join(items) + "\n2. second", 200)
    assert all(part.startswith(("1. first\n    - item", "- item")) for part in parts)
    assert parts[-1].endswith("\n2. second")


def test_two_long_blocks_are_two_messages() -> None:
    """SLL-04: the limit is that of all blocks of a message together, so a message has one block."""
    parts = markdown_parts("a" * 7_000 + "\n\n" + "b" * 7_000)
    assert [len(part) for part in parts] == [7_000, 7_000]


@pytest.mark.parametrize("text", ["", "   \n", "\n\n\u200b\n", "\t", "```py\n```"])
def test_nothing_is_sent_for_nothing(text: str) -> None:
    """SLL-09: Slack would answer `no_text`."""
    assert markdown_parts(text) == []


def test_escaping_is_measured() -> None:
    """SLL-06: 2,900 brackets are four times as long once escaped."""
    parts = markdown_parts("<" * 2_900, 3_000)
    assert len(parts) == 4
    assert "".join(parts) == "&lt;" * 2_900


@pytest.mark.parametrize(
    "unit", ["`", "``` ", "[", "<", "(", "*a ", "> ", "&lt;", "![", "[a](", "\\<", "|", "- ", "\n", "<https://"]
)
def test_time_grows_with_the_text(unit: str) -> None:
    """Nothing repeated holds up everybody: four times the text takes nowhere near sixteen times as long."""

    def seconds(length: int) -> float:
        text = unit * (length // len(unit))
        started = time.process_time()
        markdown_parts(text)
        return time.process_time() - started

    seconds(5_000)
    assert seconds(40_000) < 12 * max(seconds(10_000), 0.05)


def test_a_limit_without_room_is_refused() -> None:
    """A limit that holds no head and tail would cut for ever."""
    with pytest.raises(ValueError, match="at least 100"):
        markdown_parts("x", 1)
    assert MARKDOWN_LIMIT == 12_000
