"""The parse modes are read as Telegram reads them."""

from __future__ import annotations

from typing import Any

import pytest

from tests.servers.telegram.formats import cut
from tests.servers.telegram.markup import parse
from tests.servers.telegram.refusal import Refused


def shown(text: str, mode: str) -> tuple[str, list[tuple[Any, ...]]]:
    plain, entities = parse(text, mode)
    extra = ("url", "language")
    return plain, [
        (
            entity["type"],
            cut(plain, entity["offset"], entity["length"]),
            *(entity[name] for name in extra if name in entity),
        )
        for entity in entities
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a &lt;b&gt; &amp; <b>🙂 <i>c</i></b>", ("a <b> & 🙂 c", [("bold", "🙂 c"), ("italic", "c")])),
        ('<a href="https://e.org/?a&amp;b">l</a>', ("l", [("text_link", "l", "https://e.org/?a&b")])),
        ('<pre><code class="language-py">x</code></pre>', ("x", [("pre", "x", "py")])),
        ('<code class="language-py">x</code>', ("x", [("code", "x")])),
        ('<span class="tg-spoiler">s</span>', ("s", [("spoiler", "s")])),
        ("<blockquote expandable>q</blockquote>", ("q", [("expandable_blockquote", "q")])),
        ("<b></b>a", ("a", [])),
    ],
)
def test_html(text: str, expected: tuple[str, list[tuple[Any, ...]]]) -> None:
    """Tags nest, entities are decoded, offsets count UTF-16 (core.telegram.org/bots/api#html-style)."""
    assert shown(text, "HTML") == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (r"a\. *b _c_*", ("a. b c", [("bold", "b c"), ("italic", "c")])),
        ("__u__ ~s~ ||h||", ("u s h", [("underline", "u"), ("strikethrough", "s"), ("spoiler", "h")])),
        (r"[l](https://e.org/\))", ("l", [("text_link", "l", "https://e.org/)")])),
        ("```py\nx\\`y.\n```", ("x`y.\n", [("pre", "x`y.\n", "py")])),
        ("`a.b`", ("a.b", [("code", "a.b")])),
        (">q\n>*r*\nafter", ("q\nr\nafter", [("blockquote", "q\nr"), ("bold", "r")])),
    ],
)
def test_markdown_v2(text: str, expected: tuple[str, list[tuple[Any, ...]]]) -> None:
    """Reserved characters are escaped, code is verbatim (core.telegram.org/bots/api#markdownv2-style)."""
    assert shown(text, "MarkdownV2") == expected


@pytest.mark.parametrize(
    ("text", "mode", "why"),
    [
        ("a!", "MarkdownV2", "Character '!' is reserved"),
        ("*a", "MarkdownV2", "Can't find end of Bold entity at byte offset 0"),
        ("é *a _b* c_", "MarkdownV2", "Can't find end of Italic entity at byte offset 6"),
        ("```a", "MarkdownV2", "Can't find end of PreCode entity at byte offset 0"),
        ("[a](b", "MarkdownV2", "Can't find end of a URL at byte offset 2"),
        ("[a", "MarkdownV2", "Can't find end of TextUrl entity at byte offset 0"),
        ("a</b>", "HTML", "Unexpected end tag at byte offset 1"),
        ("<b>a", "HTML", 'Can\'t find end tag corresponding to start tag "b"'),
        ("<span>a</span>", "HTML", 'must have class "tg-spoiler"'),
        ("x <br> y", "HTML", 'Unsupported start tag "br" at byte offset 2'),
    ],
)
def test_what_cannot_be_parsed(text: str, mode: str, why: str) -> None:
    """The words of tdlib (td/telegram/MessageEntity.cpp), with byte offsets."""
    with pytest.raises(Refused) as refusal:
        parse(text, mode)
    assert why in refusal.value.description
    assert refusal.value.description.startswith("Bad Request: can't parse entities: ")
