"""Rich messages: when an answer needs one, and that Telegram takes it."""

from __future__ import annotations

import pytest
from hypothesis import given

from channels.telegram.rich import rich
from tests.channels.telegram.test_markdown import MARKDOWN
from tests.servers.telegram.rich import RichRefused, read_html


@pytest.mark.parametrize(
    ("markdown", "html"),
    [
        ("# A & **b**\nx", "<h1>A &amp; <b>b</b></h1><p>x</p>"),
        ("- [x] done\n- [ ] `todo`", None),
        ("- a\n  - b", "<ul><li>a<ul><li>b</li></ul></li></ul>"),
        ("3. a\n   1. b", '<ol start="3"><li>a<ol><li>b</li></ol></li></ol>'),
        (
            "|a|b|\n|--|:-:|\n|<i>|1<br>2|",
            (
                '<table bordered striped><tr><th>a</th><th align="center">b</th></tr>'
                '<tr><td>&lt;i&gt;</td><td align="center">1<br>2</td></tr></table>'
            ),
        ),
        ("# a\n```py\nx < 1\n```\n---\n> q", None),
    ],
)
def test_rich(markdown: str, html: str | None) -> None:
    """What entities cannot show becomes a rich message, with nothing of the model's own HTML in it."""
    made = rich(markdown)
    assert made is not None
    assert html is None or made == html
    read_html(made)


@pytest.mark.parametrize("markdown", ["plain **bold** `code`", "- a\n- b", "> quote", "```\n# no heading\n```", ""])
def test_a_simple_answer_needs_none(markdown: str) -> None:
    """Entities show it, also to old clients."""
    assert rich(markdown) is None


@pytest.mark.parametrize(
    "markdown",
    [
        pytest.param("# a\n" + "x" * 32_768, id="characters"),
        pytest.param("# a\n" + "- x\n" * 300, id="blocks"),
        pytest.param("\n".join("  " * depth + "- x" for depth in range(9)), id="depth"),
        pytest.param("|" + "a|" * 21 + "\n|" + "-|" * 21, id="columns"),
        pytest.param("|a|\n|-|\n|b|c|", id="a cell that the parser drops"),
        pytest.param("|a|b|\n|-|-|\n\n|a|\n|-|\n|b|c|", id="in the second table"),
        pytest.param("# a\n" + f"[a](tg://{'x' * 300}) " * 120, id="characters of addresses that are written out"),
        pytest.param("#\n", id="nothing to see"),
    ],
)
def test_what_passes_a_limit_is_left_to_entities(markdown: str) -> None:
    """32,768 characters, 500 blocks, 16 levels, 20 columns (core.telegram.org/bots/api#rich-message-limits)."""
    assert rich(markdown) is None


def test_a_link_to_a_person_or_a_script_is_dead() -> None:
    """TGR-12: in a rich message, too; a picture is named, not loaded."""
    made = rich("# a\n[ok](tg://user?id=42) ![p](https://e.org/p.png) [x](javascript:a)")
    assert made is not None
    assert "ok (<code>tg://user?id=42</code>)" in made
    assert '<a href="https://e.org/p.png">p</a>' in made
    assert "<img" not in made
    assert 'href="javascript' not in made


@given(MARKDOWN)
def test_any_rich_message_is_taken(markdown: str) -> None:
    """Balanced, of known tags only, within the limits."""
    made = rich("# head\n\n" + markdown)
    if made is not None:
        try:
            read_html(made)
        except RichRefused as refusal:
            pytest.fail(f"{refusal}: {made}")
