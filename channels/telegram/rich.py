"""Answers with tables, headings or lists in lists as rich messages, which Telegram knows since Bot API 10.1; pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from html import escape, unescape

from markdown_it.token import Token

from channels.telegram.grid import lost_cells
from channels.telegram.markdown import broken_lines, language, live_link, parse, task_box
from channels.telegram.text import blank, sound

# core.telegram.org/bots/api#rich-message-limits
RICH_CHARACTERS = 32_768
RICH_BLOCKS = 500
"""Counting list items and rows of tables."""
RICH_DEPTH = 16
RICH_COLUMNS = 20

_TAG = re.compile(r"<[^>]*>")
_TAGS = {"strong": "b", "em": "i", "s": "s", "p": "p", "blockquote": "blockquote", "ul": "ul", "ol": "ol", "li": "li"}
_TAGS |= {tag: tag for tag in ("table", "tr", "th", "td", "h1", "h2", "h3", "h4", "h5", "h6")}
_BLOCKS = frozenset(
    {"paragraph_open", "heading_open", "bullet_list_open", "ordered_list_open", "list_item_open", "blockquote_open"}
    | {"table_open", "tr_open", "fence", "code_block", "hr"}
)
_LISTS = frozenset({"bullet_list_open", "ordered_list_open"})


def rich(markdown: str) -> str | None:
    """The `html` of an InputRichMessage; None when entities show the text as well, or it is too much for one."""
    markdown = sound(markdown)
    tokens = parse(markdown)
    if tokens is None or not needs_rich(tokens) or _too_much(tokens) or lost_cells(tokens, markdown.split("\n")):
        return None
    html = "".join(_html(tokens))
    text = unescape(_TAG.sub("", html))
    return None if blank(text) or len(text) > RICH_CHARACTERS else html


def needs_rich(tokens: Sequence[Token]) -> bool:
    """Whether a text has what entities cannot show: a table, a heading, a task, a list in a list."""
    depth = 0
    for number, token in enumerate(tokens):
        if token.type in ("table_open", "heading_open") or _task(tokens, number):
            return True
        if token.type in _LISTS:
            depth += 1
            if depth > 1:
                return True
        elif token.type in ("bullet_list_close", "ordered_list_close"):
            depth -= 1
    return False


def _too_much(tokens: Sequence[Token]) -> bool:
    """Whether there are too many blocks, or they are nested too deeply, or a table is too wide."""
    blocks = sum(token.type in _BLOCKS for token in tokens)
    inner = (child.level for token in tokens for child in token.children or ())
    depth = max((token.level for token in tokens), default=0) + max(inner, default=0) + 1
    columns = widest = 0
    for token in tokens:
        columns = 0 if token.type == "tr_open" else columns + (token.type in ("th_open", "td_open"))
        widest = max(widest, columns)
    return blocks > RICH_BLOCKS or depth > RICH_DEPTH or widest > RICH_COLUMNS


def _task(tokens: Sequence[Token], number: int) -> bool:
    """Whether the token is the text of a list item that begins with a box."""
    before = [token.type for token in tokens[max(number - 2, 0) : number]]
    in_item = before == ["list_item_open", "paragraph_open"]
    return in_item and tokens[number].type == "inline" and task_box(tokens[number]) is not None


def _html(tokens: Sequence[Token]) -> Iterator[str]:
    for number, token in enumerate(tokens):
        match token.type:
            case "inline":
                yield from _inline(token, boxed=_task(tokens, number))
            case "fence" | "code_block":
                name = language(token)
                code = escape(token.content.removesuffix("\n"))
                yield f'<pre><code class="language-{name}">{code}</code></pre>' if name else f"<pre>{code}</pre>"
            case "hr":
                yield "<hr/>"
            case "paragraph_open" | "paragraph_close" if token.hidden:
                pass
            case _:
                yield _tag(token)


def _tag(token: Token) -> str:
    """An opening or closing tag; nothing for thead and tbody, which Telegram does not know."""
    if token.nesting < 0:
        return f"</{_TAGS[token.tag]}>" if token.tag in _TAGS else ""
    if token.tag == "table":
        return "<table bordered striped>"
    if token.tag in ("th", "td"):
        side = str(token.attrGet("style") or "").removeprefix("text-align:")
        return f'<{token.tag} align="{side}">' if side else f"<{token.tag}>"
    if token.tag == "ol" and token.attrGet("start") is not None:
        return f'<ol start="{token.attrGet("start")}">'
    return f"<{_TAGS[token.tag]}>" if token.tag in _TAGS else ""


def _inline(inline: Token, *, boxed: bool) -> Iterator[str]:
    box = task_box(inline) if boxed else None
    skipped = 0
    if box is not None:
        yield '<input type="checkbox">' if box[1] == " " else '<input type="checkbox" checked>'
        skipped = box.end()
    links: list[Token] = []
    for token in inline.children or ():
        match token.type:
            case "link_open":
                links.append(token)
                yield f'<a href="{escape(_url(token))}">' if live_link(_url(token)) else ""
            case "link_close":
                yield _link_end(links.pop())
            case "image":
                yield _picture(token, inside_link=bool(links))
            case _:
                yield _words(token, skipped)
        skipped = 0


def _words(token: Token, skipped: int) -> str:
    match token.type:
        case "text":
            return "<br>".join(map(escape, broken_lines(token.content[skipped:])))
        case "softbreak" | "hardbreak":
            return "<br>"
        case "code_inline":
            return f"<code>{escape(token.content)}</code>"
    return _tag(token)


def _picture(image: Token, *, inside_link: bool) -> str:
    """Named and linked to, not loaded: that would tell its server who reads this."""
    label, url = escape(image.content or "picture"), _url(image)
    if inside_link or not url:
        return label
    return f'<a href="{escape(url)}">{label}</a>' if live_link(url) else label + _written_out(url)


def _link_end(opening: Token) -> str:
    url = _url(opening)
    if live_link(url):
        return "</a>"
    return _written_out(url) if url and opening.info != "auto" else ""


def _written_out(url: str) -> str:
    return f" (<code>{escape(url)}</code>)"


def _url(token: Token) -> str:
    return str(token.attrGet("href") or token.attrGet("src") or "")
