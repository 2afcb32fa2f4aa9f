"""The parse modes HTML and MarkdownV2 as tdlib reads them, with its words when it cannot."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from html import unescape

from tests.servers.telegram.formats import Entity, units
from tests.servers.telegram.refusal import bad_request, cannot_parse

Parsed = tuple[str, list[Entity]]

# core.telegram.org/bots/api#html-style
TAGS = {"a": "text_link", "code": "code", "pre": "pre", "blockquote": "blockquote", "tg-emoji": "custom_emoji"}
TAGS |= {"b": "bold", "strong": "bold", "i": "italic", "em": "italic", "u": "underline", "ins": "underline"}
TAGS |= {
    "s": "strikethrough",
    "strike": "strikethrough",
    "del": "strikethrough",
    "tg-spoiler": "spoiler",
    "span": "spoiler",
}
_TAG = re.compile(r"<(/?)([A-Za-z][\w-]*)((?:\s+[^<>]*)?)>")
_ATTRIBUTE = re.compile(r"([\w-]+)(?:\s*=\s*(?:\"([^\"]*)\"|'([^']*)'|([^\s\"'>]+)))?")
# core.telegram.org/bots/api#markdownv2-style
_RESERVED = "_*[]()~`>#+-=|{}.!"
_MARKS = ["||", "__", "*", "_", "~"]
_KINDS = {"||": "spoiler", "__": "underline", "*": "bold", "_": "italic", "~": "strikethrough"}
_NAMES = {"||": "Spoiler", "__": "Underline", "*": "Bold", "_": "Italic", "~": "Strikethrough"}


@dataclass
class _Opened:
    mark: str
    at_byte: int
    offset: int
    extra: dict[str, str] = field(default_factory=dict)


def parse(text: str, mode: str | None) -> Parsed:
    """The text and its entities; Refused with the words of Telegram."""
    if not mode:
        return text, []
    readers: dict[str, Callable[[str], Parsed]] = {"html": _html, "markdownv2": _markdown_v2}
    if mode.lower() not in readers:
        raise bad_request("unsupported parse_mode")  # the legacy Markdown is not used here
    shown, entities = readers[mode.lower()](text)
    return shown, sorted(entities, key=lambda entity: (entity["offset"], -entity["length"]))


def _html(text: str) -> Parsed:
    shown: list[str] = []
    entities: list[Entity] = []
    opened: list[_Opened] = []
    position = size = 0
    while position < len(text):
        at_byte = len(text[:position].encode())
        if text[position] == "<":
            match = _TAG.match(text, position)
            if match is None:
                raise cannot_parse(f"Unclosed start tag at byte offset {at_byte}")
            _tag(match, opened, entities, at_byte, size)
            position = match.end()
            continue
        stop = text.find("<", position)
        piece = unescape(text[position : stop if stop >= 0 else len(text)])
        shown.append(piece)
        size += units(piece)
        position = stop if stop >= 0 else len(text)
    if opened:
        raise cannot_parse(f'Can\'t find end tag corresponding to start tag "{opened[-1].mark}"')
    return "".join(shown), _merged_code(entities)


def _tag(match: re.Match[str], opened: list[_Opened], entities: list[Entity], at_byte: int, size: int) -> None:
    closing, name, rest = match[1], match[2].lower(), match[3]
    if name not in TAGS:
        raise cannot_parse(f'Unsupported start tag "{name}" at byte offset {at_byte}')
    if not closing:
        given = {
            found[1].lower(): unescape(found[2] or found[3] or found[4] or "") for found in _ATTRIBUTE.finditer(rest)
        }
        if name == "span" and given.get("class") != "tg-spoiler":
            raise cannot_parse(f'Tag "span" must have class "tg-spoiler" at byte offset {at_byte}')
        opened.append(_Opened(name, at_byte, size, given))
        return
    if not opened:
        raise cannot_parse(f"Unexpected end tag at byte offset {at_byte}")
    start = opened.pop()
    if start.mark != name:
        raise cannot_parse(f'Unmatched end tag at byte offset {at_byte}, expected "</{start.mark}>", found "</{name}>"')
    if size > start.offset:
        entities.append(_html_entity(start, size))


def _html_entity(start: _Opened, size: int) -> Entity:
    entity: Entity = {"type": TAGS[start.mark], "offset": start.offset, "length": size - start.offset}
    if start.mark == "a":
        entity["url"] = start.extra.get("href", "")
    if start.mark == "code" and start.extra.get("class", "").startswith("language-"):
        entity["language"] = start.extra["class"].removeprefix("language-")
    if start.mark == "blockquote" and "expandable" in start.extra:
        entity["type"] = "expandable_blockquote"
    return entity


def _merged_code(entities: list[Entity]) -> list[Entity]:
    """`<pre><code class="language-x">` is one block of code with a language."""
    blocks = {(entity["offset"], entity["length"]): entity for entity in entities if entity["type"] == "pre"}
    kept = []
    for entity in entities:
        block = blocks.get((entity["offset"], entity["length"]))
        if entity["type"] != "code" or block is None:
            kept.append(entity)
        elif "language" in entity:
            block["language"] = entity["language"]
    return [
        {name: value for name, value in entity.items() if name != "language" or entity["type"] == "pre"}
        for entity in kept
    ]


class _MarkdownV2:
    def __init__(self, text: str) -> None:
        self.text = text
        self.position = 0
        self.shown: list[str] = []
        self.size = 0
        self.opened: list[_Opened] = []
        self.entities: list[Entity] = []

    def put(self, piece: str) -> None:
        self.shown.append(piece)
        self.size += units(piece)

    @property
    def at_byte(self) -> int:
        return len(self.text[: self.position].encode())

    def read(self) -> Parsed:
        while self.position < len(self.text):
            self._step()
        if self.opened:
            last = self.opened[-1]
            raise cannot_parse(
                f"Can't find end of {_NAMES.get(last.mark, 'TextUrl')} entity at byte offset {last.at_byte}"
            )
        return "".join(self.shown), self.entities

    def _step(self) -> None:
        text, position = self.text, self.position
        character = text[position]
        if character == "\\" and position + 1 < len(text) and ord(text[position + 1]) <= 126:
            self.put(text[position + 1])
            self.position += 2
        elif text.startswith("```", position) or character == "`":
            self._code("```" if text.startswith("```", position) else "`")
        elif mark := next((mark for mark in _MARKS if text.startswith(mark, position)), None):
            self._toggle(mark)
        elif character == "[":
            self.opened.append(_Opened("[", self.at_byte, self.size))
            self.position += 1
        elif character == "]" and any(start.mark == "[" for start in self.opened):
            self._link()
        elif character == ">" and (position == 0 or text[position - 1] == "\n"):
            self._quote()
        elif character in _RESERVED:
            raise cannot_parse(f"Character '{character}' is reserved and must be escaped with the preceding '\\'")
        else:
            self.put(character)
            self.position += 1

    def _toggle(self, mark: str) -> None:
        if self.opened and self.opened[-1].mark == mark:
            start = self.opened.pop()
            if self.size > start.offset:
                self.entities.append({"type": _KINDS[mark], "offset": start.offset, "length": self.size - start.offset})
        elif any(start.mark == mark for start in self.opened):
            inner = self.opened[-1]
            raise cannot_parse(
                f"Can't find end of {_NAMES.get(inner.mark, 'TextUrl')} entity at byte offset {inner.at_byte}"
            )
        else:
            self.opened.append(_Opened(mark, self.at_byte, self.size))
        self.position += len(mark)

    def _code(self, mark: str) -> None:
        start, at_byte = self.position + len(mark), self.at_byte
        end = start
        while end < len(self.text) and not self.text.startswith(mark, end):
            end += 2 if self.text[end] == "\\" else 1
        if end >= len(self.text):
            name = "PreCode" if mark == "```" else "Code"
            raise cannot_parse(f"Can't find end of {name} entity at byte offset {at_byte}")
        body = self.text[start:end]
        language = re.match(r"([^\s`\\]*)\n", body) if mark == "```" else None
        words = re.sub(r"\\(.)", r"\1", body[language.end() :] if language else body)
        if words:
            entity: Entity = {"type": "pre" if mark == "```" else "code", "offset": self.size, "length": units(words)}
            self.entities.append({**entity, "language": language[1]} if language and language[1] else entity)
        self.put(words)
        self.position = end + len(mark)

    def _link(self) -> None:
        start = self.opened.pop()
        if start.mark != "[":
            raise cannot_parse(f"Can't find end of {_NAMES[start.mark]} entity at byte offset {start.at_byte}")
        match = re.compile(r"\]\(((?:\\.|[^)\\])*)\)").match(self.text, self.position)
        if match is None:
            raise cannot_parse(f"Can't find end of a URL at byte offset {self.at_byte}")
        url = re.sub(r"\\(.)", r"\1", match[1])
        self.entities.append(
            {"type": "text_link", "offset": start.offset, "length": self.size - start.offset, "url": url}
        )
        self.position = match.end()

    def _quote(self) -> None:
        """Each line of it begins with `>`; it ends with the first that does not."""
        end = self.position
        lines = []
        while end < len(self.text) and self.text[end] == ">":
            stop = self.text.find("\n", end)
            stop = len(self.text) if stop < 0 else stop
            lines.append(self.text[end + 1 : stop])
            end = min(stop + 1, len(self.text))
        words, inner = _MarkdownV2("\n".join(lines)).read()
        self.entities.append({"type": "blockquote", "offset": self.size, "length": units(words)})
        self.entities += [{**entity, "offset": entity["offset"] + self.size} for entity in inner]
        self.put(words + ("\n" if end < len(self.text) else ""))
        self.position = end


def _markdown_v2(text: str) -> Parsed:
    return _MarkdownV2(text).read()
