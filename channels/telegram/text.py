"""Text with formatting as Telegram takes it, and its division into messages; pure."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Any, Literal

MESSAGE_UNITS = 4096
"""A message has 1 to 4096 UTF-16 units after its entities are parsed (core.telegram.org/bots/api#sendmessage)."""
CAPTION_UNITS = 1024
"""A caption has at most 1024 of them (core.telegram.org/bots/api#senddocument)."""
ENTITIES = 100
"""More entities of one message are ignored; undocumented (telegram.constants.MessageLimit.MESSAGE_ENTITIES)."""

Kind = Literal["bold", "italic", "strikethrough", "code", "pre", "text_link", "blockquote"]

# What Telegram's servers take for nothing although Python does not call it a space: joiners, marks, blank letters.
_UNSEEN = dict.fromkeys(map(ord, "\u180e\u200b\u200c\u200d\u200e\u200f\u202e\u2060\u2800\u3164\ufeff"))
# Halves of surrogate pairs cannot be sent; what stands for one is as long.
_HALVES = re.compile("[\ud800-\udfff]")
# A cut never comes before these: they belong to the character in front of them.
_CONTINUES = frozenset("\u200d\ufe0e\ufe0f\u20e3\U0001f3fb\U0001f3fc\U0001f3fd\U0001f3fe\U0001f3ff")


@dataclass(frozen=True, kw_only=True, slots=True)
class Span:
    """A stretch of a text with one format, in Python characters, `end` excluded."""

    kind: Kind
    start: int
    end: int
    url: str | None = None
    language: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Rendered:
    """A whole text; its spans lie side by side or inside one another, never across, sorted by where they begin."""

    text: str
    spans: tuple[Span, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Entity:
    """A format of one message: `offset` and `length` in UTF-16 units (core.telegram.org/bots/api#messageentity)."""

    kind: Kind
    offset: int
    length: int
    url: str | None = None
    language: str | None = None

    def fields(self) -> dict[str, Any]:
        """The MessageEntity as the Bot API takes it."""
        extra = {"url": self.url, "language": self.language}
        given = {name: value for name, value in extra.items() if value is not None}
        return {"type": self.kind, "offset": self.offset, "length": self.length, **given}


@dataclass(frozen=True, kw_only=True, slots=True)
class Part:
    """One message or caption."""

    text: str
    entities: tuple[Entity, ...] = ()


def units(text: str) -> int:
    """How long Telegram finds a text: in UTF-16 units."""
    return len(text) + sum(character > "\uffff" for character in text)


def blank(text: str) -> bool:
    """Whether Telegram would refuse it as empty."""
    return not text.translate(_UNSEEN).strip()


def sound(text: str) -> str:
    """The text without halves of surrogate pairs, which cannot be sent as UTF-8, and with one kind of line end."""
    whole = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return whole.replace("\r\n", "\n").replace("\r", "\n")


def split(rendered: Rendered, limit: int = MESSAGE_UNITS) -> tuple[Part, ...]:
    """The text in parts of at most `limit` units, cut between paragraphs, else lines, else words, else anywhere.

    Joined they are the text, except that a part in which nothing could be seen is left out. A format that goes on
    past a cut is closed and opened again; a link or inline code is moved to the next part as a whole when it fits.
    """
    return tuple(part for part in _parts(rendered, limit) if not blank(part.text))


def caption(rendered: Rendered, limit: int = CAPTION_UNITS) -> tuple[Part, Rendered]:
    """The first part, to stand under a file, and the rest for messages of its own."""
    first = next(_parts(rendered, limit), Part(text=""))
    taken = len(first.text)
    rest = (span for span in rendered.spans if span.end > taken)
    spans = (replace(span, start=max(span.start - taken, 0), end=span.end - taken) for span in rest)
    return first, Rendered(text=rendered.text[taken:], spans=tuple(spans))


def _parts(rendered: Rendered, limit: int) -> Iterator[Part]:
    if limit < 2:
        raise ValueError("A part must have room for one character: 2 UTF-16 units.")
    text, spans = _HALVES.sub("\ufffd", rendered.text), rendered.spans
    start = following = 0
    live: list[Span] = []  # the spans that reach into what is not sent yet, as far as the next part can go
    while start < len(text):
        end = start + _fitting(text[start : start + limit], limit)
        while following < len(spans) and spans[following].start < end:
            live.append(spans[following])
            following += 1
        end = _cut(text, live, start, end)
        yield _part(text, live, start, end)
        live = [span for span in live if span.end > end]
        start = end


def _fitting(text: str, limit: int) -> int:
    """How many characters at the beginning have at most `limit` units."""
    if text.isascii():
        return min(len(text), limit)
    return len(text.encode("utf-16-le")[: 2 * limit].decode("utf-16-le", "ignore"))


def _cut(text: str, live: Sequence[Span], start: int, end: int) -> int:
    """Where the part that begins at `start` ends, at the latest at `end`."""
    limit = end - start
    if len(live) > ENTITIES and start < live[ENTITIES].start < end:
        end = live[ENTITIES].start
    elif end == len(text):
        return end
    lowest = start + (end - start) // 2
    for separator in ("\n\n", "\n", " "):
        found = text.rfind(separator, lowest, end)
        if found >= 0:
            return _outside(live, start, found + len(separator), limit)
    return _outside(live, start, _between_characters(text, lowest, end), limit)


def _outside(live: Sequence[Span], start: int, cut: int, limit: int) -> int:
    """The cut moved in front of what should stay whole."""
    for span in live:
        whole = span.kind in ("text_link", "code") or (span.kind == "pre" and span.end - span.start <= limit // 4)
        if whole and start < span.start < cut < span.end:
            return span.start
    return cut


def _between_characters(text: str, lowest: int, end: int) -> int:
    """The last place up to `end` that does not tear an accent or a joined emoji from its letter."""
    for cut in range(end, max(lowest, end - 16), -1):
        if cut == len(text):
            return cut
        behind = text[cut]
        if not unicodedata.combining(behind) and behind not in _CONTINUES and text[cut - 1] != "\u200d":
            return cut
    return end


def _part(text: str, live: Sequence[Span], start: int, end: int) -> Part:
    shown = text[start:end]
    positions = None if shown.isascii() else [0, *accumulate(1 + (character > "\uffff") for character in shown)]
    entities = []
    for span in live:
        first, last = max(span.start, start) - start, min(span.end, end) - start
        if first < last and not blank(shown[first:last]):
            offset, stop = (first, last) if positions is None else (positions[first], positions[last])
            entities.append(
                Entity(kind=span.kind, offset=offset, length=stop - offset, url=span.url, language=span.language)
            )
    return Part(text=shown, entities=tuple(entities[:ENTITIES]))
