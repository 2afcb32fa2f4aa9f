"""Blocks of rendered text, and how they are cut into messages at places where nothing breaks."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

Measure = Callable[[str], int]
"""The size of a text as its limit counts it; the size of two texts joined must be the sum of theirs."""

# What must stay whole: links in both notations, code spans, entities; else words, spaces and single characters. The
# bounds keep a text of many opening brackets from being read over and over.
_ATOM = re.compile(
    r"!?\[[^\[\]\n]{0,300}\]\([^()\s]{0,2000}\)"
    r"|<[^<>\n]{1,2000}>"
    r"|(?<!`)(`{1,3})(?!`)[^`\n]{1,300}\1"
    r"|&[a-z]{2,4};|\s+|[^\s!\[<`&]+|."
)
_GLUE = frozenset({"\u200d", *map(chr, range(0xFE00, 0xFE10)), *map(chr, range(0x1F3FB, 0x1F400))})
_BACK_UP = 16


def utf16_units(text: str) -> int:
    """Characters as JavaScript counts them; the stricter reading of "characters", an emoji being two."""
    return len(text) if text.isascii() else len(text) + sum(character > "\uffff" for character in text)


def utf8_bytes(text: str) -> int:
    """Bytes on the wire."""
    return len(text) if text.isascii() else len(text.encode())


@dataclass(frozen=True, kw_only=True, slots=True)
class Block:
    """A paragraph, list, table or piece of code.

    `head` and `tail` are lines that every part of it has (a fence, the header of a table). `gap` stands between it and
    the block before. `verbatim` lines are cut anywhere when they are too long, others between words.
    """

    lines: tuple[str, ...]
    head: str = ""
    tail: str = ""
    gap: str = "\n\n"
    verbatim: bool = False

    @property
    def text(self) -> str:
        return self.around(self.lines)

    def around(self, lines: Iterable[str]) -> str:
        """Some of the lines, between head and tail."""
        return "\n".join([*filter(None, [self.head]), *lines, *filter(None, [self.tail])])


def joined(blocks: Iterable[Block]) -> str:
    """The whole text, uncut."""
    return "".join([piece for block in _seen(blocks) for piece in (block.gap, block.text)][1:])


def parts(blocks: Iterable[Block], limit: int, measure: Measure) -> list[str]:
    """The text in parts of at most `limit`, none of them blank; a block is cut only when it alone is longer."""
    if limit < 100:
        raise ValueError(f"a limit of {limit} leaves no room; give at least 100")
    found: list[str] = []
    current: list[str] = []
    size = 0
    for block in _seen(blocks):
        for position, piece in enumerate(_pieces(block, limit, measure)):
            grown = measure(block.gap) + measure(piece)
            if current and (position or size + grown > limit):
                found.append("".join(current))
                current, size = [], 0
            if current:
                current += [block.gap, piece]
                size += grown
            else:
                current = [piece if block.verbatim else _flush_left(piece)]
                size = measure(current[0])
    return [part for part in [*found, "".join(current)] if not is_blank(part)]


def is_blank(text: str) -> bool:
    """Whether nobody would see anything: Slack answers `no_text`."""
    return all(character.isspace() or unicodedata.category(character) in {"Cf", "Cc"} for character in text)


def _seen(blocks: Iterable[Block]) -> Iterator[Block]:
    """Without empty code, of which nobody would see anything but its frame; a table's header is something."""
    return (block for block in blocks if not block.tail or "\n" in block.head or not is_blank("".join(block.lines)))


def _flush_left(piece: str) -> str:
    """Without the space that the first line has from a list around it: in a new message that much space means code."""
    space = len(piece) - len(piece.lstrip(" "))
    return re.sub(rf"^ {{1,{space}}}", "", piece, flags=re.MULTILINE) if space else piece


def _pieces(block: Block, limit: int, measure: Measure) -> Iterator[str]:
    """The block's text, or parts of it that fit."""
    if measure(block.text) <= limit:
        yield block.text
        return
    frame = measure(block.around([])) + 2
    if frame > limit // 2:  # a head that leaves no room is not worth repeating
        block = Block(lines=(*filter(None, [block.head]), *block.lines, *filter(None, [block.tail])))
        frame = 0
    yield from map(block.around, _grouped(block, limit - frame, measure))


def _grouped(block: Block, room: int, measure: Measure) -> Iterator[list[str]]:
    lines: list[str] = []
    size = 0
    for line in block.lines:
        for piece in _cut(line, room, measure, verbatim=block.verbatim):
            length = measure(piece) + 1
            if lines and size + length > room + 1:
                yield lines
                lines, size = [], 0
            lines.append(piece)
            size += length
    if lines:
        yield lines


def _cut(line: str, room: int, measure: Measure, *, verbatim: bool) -> Iterator[str]:
    """The line in pieces that fit: between words, else between whole things, else between characters."""
    if measure(line) <= room:
        yield line
        return
    units = _characters(line, room, measure) if verbatim else _units(line, room, measure)
    piece, size = "", 0
    for unit in units:
        length = measure(unit)
        if piece and size + length > room:
            yield piece if verbatim else piece.rstrip()
            piece, size = "", 0
            if not verbatim and unit.isspace():
                continue
        piece += unit
        size += length
    if piece:
        yield piece


def _units(line: str, room: int, measure: Measure) -> Iterator[str]:
    """Words with what is stuck to them; what is longer than the room in smaller things."""
    word: list[str] = []
    for found in _ATOM.finditer(line):
        if not found[0].isspace():
            word.append(found[0])
            continue
        yield from _fitting(word, room, measure)
        yield found[0]
        word = []
    yield from _fitting(word, room, measure)


def _fitting(word: list[str], room: int, measure: Measure) -> Iterator[str]:
    if measure(whole := "".join(word)) <= room:
        yield whole
        return
    for atom in word:
        if measure(atom) <= room:
            yield atom
        else:
            yield from _characters(atom, room, measure)


def _characters(text: str, room: int, measure: Measure) -> Iterator[str]:
    """Slices that fit, never between a character and what belongs to it."""
    start = size = 0
    for position, character in enumerate(text):
        length = measure(character)
        if size + length > room:
            end = _before_cluster(text, start, position)
            yield text[start:end]
            size = measure(text[end:position])
            start = end
        size += length
    yield text[start:]


def _before_cluster(text: str, start: int, position: int) -> int:
    for end in range(position, max(start, position - _BACK_UP), -1):
        character = text[end]
        if character not in _GLUE and not unicodedata.combining(character) and text[end - 1] != "\u200d":
            return end
    return position
