"""Markdown as people read it in Telegram."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from channels.telegram.markdown import MARKDOWN_CHARACTERS, render
from channels.telegram.text import split
from tests.channels.telegram.shown import entities, legal, spans

NB = "\u00a0\u00a0\u00a0"
GLUE = [
    "*",
    "**",
    "_",
    "~~",
    "`",
    "```",
    "````",
    "\n",
    "\n\n",
    "# ",
    "- ",
    "1. ",
    "> ",
    "[a](",
    ")",
    "[",
    "]",
    "|",
    "<br>",
]
GLUE += [
    "|--|--|\n",
    "![x](https://e.org/x)",
    "https://e.org",
    "tg://user?id=1",
    "    ",
    "\\",
    "&amp;",
    "---\n",
    "- [x] ",
]
WORDS = st.one_of(st.sampled_from(GLUE), st.text(max_size=12), st.sampled_from(["🙂", "é", "中文", "a" * 50, " ", "x"]))
MARKDOWN = st.lists(WORDS, max_size=60).map("".join)


@pytest.mark.parametrize(
    ("markdown", "text", "formats"),
    [
        pytest.param("Service db_main restarted", "Service db_main restarted", [], id="TGR-01"),
        pytest.param(
            "Returns Optional<int> -> use **a && b**",
            "Returns Optional<int> -> use a && b",
            [("bold", "a && b")],
            id="TGR-03",
        ),
        pytest.param("<h4>Plan</h4><p>one<br>two</p>", "<h4>Plan</h4><p>one\ntwo</p>", [], id="TGR-04"),
        pytest.param(
            "use a | b\n---\n```\n| a | b |\n|---|---|\n```",
            "use a | b\n\n---\n\n| a | b |\n|---|---|",
            [("pre", "| a | b |\n|---|---|")],
            id="TGR-07",
        ),
        pytest.param(
            "````markdown\n```python\nx\n```\n````",
            "```python\nx\n```",
            [("pre", "```python\nx\n```")],
            id="TGR-08",
        ),
        pytest.param(
            "**bold _it ~~st~~ it_ bold**",
            "bold it st it bold",
            [("bold", "bold it st it bold"), ("italic", "it st it"), ("strikethrough", "st")],
            id="TGR-09",
        ),
        pytest.param("do 3 * 8 then 2 * 4", "do 3 * 8 then 2 * 4", [], id="TGR-10"),
        pytest.param(
            "[ok](tg://user?id=42) [go](javascript:alert(1)) [web](https://e.org)",
            "ok (tg://user?id=42) go (javascript:alert(1)) web",
            [("code", "tg://user?id=42"), ("code", "javascript:alert(1)"), ("text_link", "web")],
            id="TGR-12",
        ),
        pytest.param("1. a\n2. b\n10. c", "1. a\n2. b\n10. c", [], id="TGR-13"),
        pytest.param(
            "- a\n  1. b\n     - c\n       ```\n       x\n         y\n       ```\n- d",
            f"• a\n{NB}1. b\n{NB}{NB}• c\nx\n  y\n• d",
            [("pre", "x\n  y")],
            id="TGR-14",
        ),
        pytest.param('```py"><b>x\nbold\n```', "bold", [("pre", "bold")], id="TGR-17"),
        pytest.param("# A **b** `c` d", "A b c d", [("bold", "A b "), ("code", "c"), ("bold", " d")], id="heading"),
        pytest.param("> a\n> b\n>\n> > c", "a\nb\n\nc", [("blockquote", "a\nb\n\nc")], id="quote"),
        pytest.param("- [x] done\n- [ ] todo\n1) [X] n", "☑ done\n☐ todo\n\n1) ☑ n", [], id="tasks"),
        pytest.param("[`f`](https://e.org)", "f", [("text_link", "f")], id="code in a link"),
        pytest.param("[](https://e.org)", "https://e.org", [("text_link", "https://e.org")], id="link without label"),
        pytest.param(
            "[db](http://localhost:1/)",
            "db (http://localhost:1/)",
            [("code", "http://localhost:1/")],
            id="a host that Telegram takes for none",
        ),
        pytest.param("![plan](https://e.org/p.png)", "plan", [("text_link", "plan")], id="picture"),
        pytest.param("[TODO]: ask them", "[TODO]: ask them", [], id="no definitions"),
        pytest.param("a\\*b &amp; c", "a*b & c", [], id="escapes"),
        pytest.param("one\ntwo  \nthree", "one\ntwo\nthree", [], id="lines stay lines"),
        pytest.param("\ud83d half \ud83d\ude42", "\ufffd half 🙂", [], id="half of a surrogate pair"),
    ],
)
def test_render(markdown: str, text: str, formats: list[tuple[str, str]]) -> None:
    """TGR-01, -03, -04, -07, -08, -09, -10, -12, -13, -14, -17: every word arrives, formatted where Telegram can."""
    rendered = render(markdown)
    assert rendered.text == text
    assert spans(rendered) == formats


def test_a_language_is_kept_only_when_it_is_one() -> None:
    """TGR-08, TGR-17: the language of the outer fence is kept, a hostile info string is not."""
    assert render("````markdown\n```py\n```\n````").spans[0].language == "markdown"
    assert render("```c++ title=x\nx\n```").spans[0].language == "c++"
    assert render('```py"><b>x\nx\n```').spans[0].language is None


def test_a_table_is_a_block_of_equal_columns() -> None:
    """Columns stand under one another, also with wide letters, and a link in a cell keeps its address."""
    table = "| item | *n* |\n|--|--:|\n| [a](https://e.org) | 1<br>2 |\n| 中文 | `300` |"
    assert render(table).text.split("\n") == [
        "item              │   n",
        "──────────────────┼────",
        "a (https://e.org) │ 1 2",
        "中文              │ 300",
    ]
    assert [span.kind for span in render(table).spans] == ["pre"]


@pytest.mark.parametrize("before", ["", "a\u2028b\x0bc\r\n\r\n"])
def test_a_row_longer_than_the_head_is_shown_as_written(before: str) -> None:
    """The parser would drop the cell, and the words must arrive; lines are counted as the parser counts them."""
    table = "| a |\n|---|\n| x | y |"
    assert render(before + table).text == before.replace("\r", "") + table


@pytest.mark.parametrize("text", [">" * 40 + " deep", "x" * MARKDOWN_CHARACTERS + " **b**"])
def test_what_cannot_be_laid_out_is_shown_as_it_is(text: str) -> None:
    """Nesting beyond the parser's depth would lose text, and an endless answer would hold up everybody."""
    assert render(text).text == text


def test_more_formats_than_one_message_may_have_go_into_the_next() -> None:
    """TGR-16: 140 names in code arrive, all of them formatted."""
    names = [f"name_{number}" for number in range(140)]
    parts = split(render("\n".join(f"- `{name}`" for name in names)))
    assert [word for part in parts for _, word in entities(part)] == names
    assert [len(part.entities) for part in parts] == [100, 40]


@given(MARKDOWN)
def test_any_markdown_makes_messages_that_telegram_takes(markdown: str) -> None:
    """Every part is legal, and joined they are the text: nothing lost, nothing said twice."""
    rendered = render(markdown)
    for limit in (17, 100, 4096):
        parts = split(rendered, limit)
        for part in parts:
            legal(part, limit)
        joined = "".join(part.text for part in parts)
        assert joined.split() == rendered.text.split()


MARKS = ["**", "_", "`", "~~", "\n", "\n\n", "> ", "- ", "1. ", "|", "\n|--|\n", "# ", "[", "](https://e.org)", "](x)"]
MARKS += ["![", "<br>", "<b>", "---\n", "    ", "\\", "&amp;", "[ ] ", "[x]: "]


@given(st.lists(st.one_of(st.just("word"), st.sampled_from(MARKS)), max_size=60), st.sampled_from(["", " "]))
def test_every_word_survives(pieces: list[str], between: str) -> None:
    """Whatever the marks around them mean, no word is left out."""
    assert render(between.join(pieces)).text.count("word") >= pieces.count("word")
