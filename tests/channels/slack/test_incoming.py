"""What the model reads of a message."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from channels.slack.incoming import mentioned, readable

NAMES = {"U1": "Ann Bee", "W111": "Wu", "UB": "Signoff"}


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("<@UB> do it", "do it"),
        (" <@UB|signoff>: <@UB>, do it", "do it"),
        ("ask <@UB> to do it", "ask @Signoff to do it"),
        ("<@U1> and <@W111>", "@Ann Bee and @Wu"),
        ("<@U9> and <@U8|bob>", "@U9 and @bob"),
        ("in <#C1|ops>, <#C2>", "in #ops, #C2"),
        ("<!here> <!channel|@channel> <!subteam^S1|@ops>", "@here @channel @ops"),
        ("<!date^1392734382^{date}|18 Feb>", "18 Feb"),
        ("see <https://e.org/a?b=1&amp;c=2>", "see https://e.org/a?b=1&c=2"),
        ("see <https://e.org|the page>", "see [the page](https://e.org)"),
        ("see <http://e.org|e.org>", "see http://e.org"),
        ("write <mailto:a@b.org|a@b.org>", "write a@b.org"),
        ("`<http://e.org|e.org> &lt;b&gt;`", "`e.org <b>`"),
        ("```<https://e.org>\n  if a &lt; b &amp;&amp; c:```", "```https://e.org\n  if a < b && c:```"),
        ("&amp;lt; 1 &lt; 2 &quot;", "&lt; 1 < 2 &quot;"),
        ("<> <x", "<> <x"),
        ("a\0b", "ab"),
        ("<@UB>", ""),
    ],
)
def test_slack_text_is_read_as_it_was_written(text: str, read: str) -> None:
    """SLA-13 and the issue: people become names, links and code survive, entities are decoded once."""
    assert readable(text, names=NAMES, bot="UB") == read


def test_people_are_found_once_in_order() -> None:
    """SLA-13: ids of an Enterprise Grid begin with W."""
    assert mentioned("<@W111> <@U1|ann> <@W111> <#C1> `<@U2>` &lt;@U3&gt;") == ("W111", "U1", "U2")


@given(st.text(alphabet="<>@#!|&;`UB1 \nlgtamp/:^", max_size=200))
def test_no_text_is_refused(text: str) -> None:
    """Whatever arrives is readable text without NUL, and its words without markup are all there."""
    read = readable(text, names=NAMES, bot="UB")
    assert "\0" not in read
    if not set(text) & set("<>&"):
        assert read == text.strip()


@given(st.text(max_size=100))
def test_what_slack_escapes_is_read_back(typed: str) -> None:
    """A person's own text, escaped by Slack, is what the model reads."""
    sent = typed.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    assert readable(sent, names={}, bot="UB") == typed.strip().replace("\0", "")
