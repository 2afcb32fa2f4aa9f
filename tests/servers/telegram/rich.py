"""Rich messages as Telegram reads them: core.telegram.org/bots/api#rich-message-formatting-options."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from html import unescape
from html.parser import HTMLParser
from typing import Any

from tests.servers.telegram import limits
from tests.servers.telegram.refusal import Refused, bad_request

_STYLES = frozenset(
    [
        "b",
        "strong",
        "i",
        "em",
        "u",
        "ins",
        "s",
        "strike",
        "del",
        "code",
        "mark",
        "sub",
        "sup",
        "tg-spoiler",
        "a",
        "tg-reference",
        "tg-emoji",
        "tg-time",
        "tg-math",
    ]
)
_BLOCKS = frozenset(
    [
        "h1",
        "h2",
        "h3",
        "h4",
        "h5",
        "h6",
        "p",
        "pre",
        "footer",
        "ul",
        "ol",
        "li",
        "blockquote",
        "aside",
        "table",
        "tr",
        "details",
        "tg-math-block",
        "figure",
    ]
)
_OTHERS = frozenset(["th", "td", "caption", "summary", "cite", "figcaption", "tg-thinking"])
_VOID = frozenset(["hr", "br", "input", "img", "tg-map"])
_NAMED = frozenset(
    ["lt", "gt", "amp", "quot", "apos", "nbsp", "hellip", "mdash", "ndash", "lsquo", "rsquo", "ldquo", "rdquo"]
)
_PARENTS = {"li": {"ul", "ol"}, "tr": {"table"}, "th": {"tr"}, "td": {"tr"}, "summary": {"details"}, "input": {"li"}}
_ATTRIBUTES = {
    "a": {"href", "name"}, "code": {"class"}, "ol": {"start", "type", "reversed"}, "li": {"value", "type"},
    "input": {"type", "checked"}, "table": {"bordered", "striped"}, "details": {"open"}, "img": {"src", "alt"},
    "th": {"align", "valign", "colspan", "rowspan"}, "td": {"align", "valign", "colspan", "rowspan"},
    "tg-time": {"unix", "format"}, "tg-emoji": {"emoji-id"}, "tg-reference": {"name"},
}  # fmt: skip


class RichRefused(Refused):
    """400; the message has to be sent another way."""

    def __init__(self, why: str) -> None:
        super().__init__(400, f"Bad Request: can't parse rich message: {why}")


@dataclass
class RichRead:
    """What people see: `text` with a line per block, and each link with what it covers."""

    text: str = ""
    blocks: int = 0
    depth: int = 0
    columns: int = 0
    tags: list[str] = field(default_factory=list)
    links: list[tuple[str, str]] = field(default_factory=list)


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=False)
        self.read = RichRead()
        self.open: list[str] = []
        self.cells = 0
        self.link: tuple[str, int] = ("", 0)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in _STYLES | _BLOCKS | _OTHERS | _VOID:
            raise RichRefused(f'unsupported start tag "{tag}"')
        if unknown := {name for name, _ in attrs} - _ATTRIBUTES.get(tag, set()):
            raise RichRefused(f'tag "{tag}" has the attributes {sorted(unknown)}')
        parent = self.open[-1] if self.open else ""
        if parent not in _PARENTS.get(tag, {parent}):
            raise RichRefused(f'tag "{tag}" inside "{parent}"')
        if any(outer in {"th", "td", "p"} for outer in self.open) and tag in _BLOCKS:
            raise RichRefused(f'"{tag}" inside "{parent}": only inline formatting is possible there')
        self.read.tags.append(tag)
        self.read.blocks += tag in _BLOCKS or tag == "hr"
        self.cells = 0 if tag == "tr" else self.cells + (tag in {"th", "td"})
        self.read.columns = max(self.read.columns, self.cells)
        if tag in _BLOCKS | {"br", "hr"}:
            self._line()
        if tag in {"th", "td"} and self.cells > 1:
            self.read.text += " | "
        if tag in _VOID:
            return
        self.open.append(tag)
        self.read.depth = max(self.read.depth, len(self.open))
        if tag == "a":
            self.link = (dict(attrs).get("href") or "", len(self.read.text))

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in _VOID:
            self.handle_endtag(tag)

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open.pop() != tag:
            raise RichRefused(f'unmatched end tag "{tag}"')
        if tag == "a":
            self.read.links.append((self.link[0], self.read.text[self.link[1] :]))
        if tag in _BLOCKS:
            self._line()

    def handle_data(self, data: str) -> None:
        self.read.text += data if "pre" in self.open else re.sub(r"\s+", " ", data)

    def handle_entityref(self, name: str) -> None:
        if name not in _NAMED:
            raise RichRefused(f"unsupported entity &{name};")
        self.read.text += unescape(f"&{name};")

    def handle_charref(self, name: str) -> None:
        self.read.text += unescape(f"&#{name};")

    def _line(self) -> None:
        if self.read.text and not self.read.text.endswith("\n"):
            self.read.text += "\n"


def read_html(html: str) -> RichRead:
    """What the HTML of a rich message shows; RichRefused when Telegram would not take it."""
    reader = _Reader()
    reader.feed(html)
    reader.close()
    if reader.open:
        raise RichRefused(f'can\'t find end tag corresponding to start tag "{reader.open[-1]}"')
    _limit(reader.read)
    reader.read.text = reader.read.text.strip()
    return reader.read


def _limit(read: RichRead) -> None:
    if not read.text.strip():
        raise RichRefused("the message is empty")
    if len(read.text) > limits.RICH_CHARACTERS:
        raise RichRefused("the message is too long")
    if read.blocks > limits.RICH_BLOCKS:
        raise RichRefused("there are too many blocks")
    if read.depth > limits.RICH_DEPTH:
        raise RichRefused("blocks are nested too deeply")
    if read.columns > limits.RICH_COLUMNS:
        raise RichRefused("a table has too many columns")


def read_rich(message: Any) -> RichRead:
    """An InputRichMessage; only its field `html` is understood here, since nothing else is sent."""
    if not isinstance(message, dict):
        raise bad_request("rich_message must be an object")
    ways = [name for name in ("html", "markdown", "blocks") if name in message]
    if len(ways) != 1:
        raise bad_request("exactly one of the fields html, markdown, or blocks must be used")
    if ways != ["html"]:
        raise bad_request(f"the fake server reads html only, not {ways[0]}")
    if unknown := set(message) - {"html", "is_rtl", "skip_entity_detection"}:
        raise bad_request(f"unknown fields {sorted(unknown)}")
    return read_html(str(message["html"]))
