"""Text on pages: Markdown that can do nothing, what cannot be seen, times."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.web.prose import MARKDOWN_CHARACTERS, Markdown, moment, readable
from tests.bot.web.page import Page

markdown = Markdown()
PIECES = [
    "<", ">",
    '"', "'", "`", "[", "](", ")", "!", "javascript:", "https://a.b", "&", ";", "\n", "* ", "|", "~", "#", "x",
    "<script>", "onerror=", "\u202e", "\ufeff", "data:", "<!--", "    ", "\\", "mailto:a@b.c", "<a href=",
]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("**bold** and `code`", "<p><strong>bold</strong> and <code>code</code></p>"),
        ("a <b>tag</b>", "<p>a &lt;b&gt;tag&lt;/b&gt;</p>"),
        ("one\ntwo", "<p>one<br />\ntwo</p>"),
        ("[x](javascript:alert(1))", "<p>[x](javascript:alert(1))</p>"),
        ("[x](/logout)", "<p>[x](/logout)</p>"),
        ("[x](//evil.example)", "<p>[x](//evil.example)</p>"),
        ("![p](https://a.b/c.png)", "<p>[picture: p https://a.b/c.png]</p>"),
        ("![p](data:image/png;base64,x)", "<p>![p](data:image/png;base64,x)</p>"),
    ],
)
def test_markdown(text: str, html: str) -> None:
    """What is laid out, and what stays text."""
    assert markdown(text).strip() == html


@pytest.mark.parametrize("url", ["https://a.b/c?d=e&f", "http://a.b", "mailto:a@b.c"])
def test_links_lead_to_web_and_mail_and_tell_nobody_where_from(url: str) -> None:
    """A new tab without a referrer and without a way back."""
    [link] = [element for element in Page(markdown(f"[x]({url})")).elements if element.tag == "a"]
    assert link.attributes == {"href": url, "rel": "noopener noreferrer nofollow", "target": "_blank"}


def test_a_picture_inside_a_link_is_only_named() -> None:
    """Nothing is loaded, also from inside of something else."""
    page = Page(markdown("[![p](https://a.b/c.png)](https://a.b)"))
    assert [element.tag for element in page.elements] == ["p", "a"]


def test_a_very_long_text_is_not_laid_out() -> None:
    """It would hold up everybody; it is shown as it is."""
    html = markdown("*" * (MARKDOWN_CHARACTERS + 1))
    assert html.startswith("<pre>")


@given(st.lists(st.sampled_from(PIECES), max_size=30).map("".join))
def test_no_markdown_makes_anything_that_runs(text: str) -> None:
    """Whatever the pieces are put together to."""
    page = Page(markdown(text))
    assert list(page.dangers()) == []
    assert not {element.tag for element in page.elements} & {"script", "img", "input", "form", "svg"}


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain", "plain"),
        ("a\u202eb", "a\\u202eb"),
        ("pass\u200bword", "pass\\u200bword"),
        ("a\u200db", "a\\u200db"),
        ("\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645", "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645"),
        ("\U0001f468\u200d\U0001f469", "\U0001f468\u200d\U0001f469"),
        ("\u200d\U0001f469", "\\u200d\U0001f469"),
        ("\ue200", "\ue200"),
    ],
)
def test_readable(text: str, shown: str) -> None:
    """Hidden characters are escapes, joiners stay between characters that they join."""
    assert readable(text) == shown


@given(st.text())
def test_nothing_that_hides_is_left(text: str) -> None:
    """However it is surrounded."""
    assert not set(readable(text)) & set("\u202a\u202b\u202d\u202e\u2066\u2067\u2068\u200b\u2060\ufeff\x1b\x00\r")


def test_times_are_those_of_the_person() -> None:
    """In their zone, the hour alone today, the whole of it in the tooltip."""
    at = datetime(2026, 3, 2, 23, 30, tzinfo=UTC)
    assert ">00:30<" in moment(at, "Europe/Berlin", datetime(2026, 3, 3, 9, 0, tzinfo=UTC))
    html = moment(at, "Europe/Berlin", datetime(2026, 3, 4, 9, 0, tzinfo=UTC))
    assert ">2026-03-03 00:30<" in html
    assert "Tuesday, 03 March 2026, 00:30:00 Europe/Berlin" in html
    assert moment(None, "UTC") == ""
