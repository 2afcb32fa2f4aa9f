"""What a person wrote, as plain text for the model; pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from channels.telegram.text import MESSAGE_UNITS


@dataclass(frozen=True, kw_only=True, slots=True)
class Mark:
    """One entity of a received text, `offset` and `length` in UTF-16 units; `user_id` of a `text_mention`."""

    kind: str
    offset: int
    length: int
    url: str | None = None
    user_id: int | None = None
    language: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Me:
    """The bot; `username` without the @."""

    user_id: int
    username: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Said:
    """`text`: without the mention of the bot, links and code spelled out. `mentioned`: the bot was named by an entity.

    `command` is the word of a command at the beginning, without slash and bot name; `for_another`: it names another
    bot. `units`: how long it was as it came, in UTF-16 units.
    """

    text: str
    mentioned: bool = False
    command: str | None = None
    for_another: bool = False
    units: int = field(default=0, compare=False)


def said(text: str, marks: Sequence[Mark], me: Me) -> Said:
    """Reads a text or a caption; user names are compared without case."""
    encoded = text.encode("utf-16-le", "surrogatepass")
    mentioned = for_another = False
    command: str | None = None
    edits: list[_Edit] = []
    for mark in marks:
        covered = _slice(encoded, mark.offset, mark.length)
        if mark.kind == "bot_command":
            word, _, bot = covered[1:].partition("@")
            mine = bool(bot) and bot.lower() == me.username.lower()
            mentioned = mentioned or mine
            if mark.offset == 0:
                command, for_another = word.lower(), bool(bot) and not mine
            if mine:
                edits.append(_Edit(mark.offset, mark.length, f"/{word}"))
        elif _names(mark, covered, me):
            mentioned = True
            edits.append(_Edit(mark.offset, mark.length, ""))
        elif (spelled := _spelled_out(mark, covered)) is not None:
            edits.append(_Edit(mark.offset, mark.length, spelled))
    plain = _edited(encoded, edits)
    size = len(encoded) // 2
    return Said(text=plain, mentioned=mentioned, command=command, for_another=for_another, units=size)


def goes_on(piece: Said) -> bool:
    """Whether an app may have cut a longer text here and sent the rest right behind it.

    Apps cut at 4096 UTF-16 units, or at a space or an emoji shortly before.
    """
    return piece.units > MESSAGE_UNITS - 96


def joined(pieces: Sequence[Said]) -> str:
    """The text that an app had cut; what was full to the last unit or emoji was cut inside a line."""
    ends = ("" if piece.units >= MESSAGE_UNITS - 1 else "\n" for piece in pieces)
    return "".join(piece.text + end for piece, end in zip(pieces, ends, strict=True)).rstrip()


def album_text(captions: Sequence[str]) -> str:
    """The captions of an album's files; more than one are numbered by the file they stand under."""
    written = [(number, text) for number, text in enumerate(captions, 1) if text]
    if len(written) == 1:
        return written[0][1]
    return "\n".join(f"{number}. {text}" for number, text in written)


@dataclass(frozen=True, slots=True)
class _Edit:
    offset: int
    length: int
    text: str


def _names(mark: Mark, covered: str, me: Me) -> bool:
    if mark.kind == "mention":
        return covered[1:].lower() == me.username.lower()
    return mark.kind == "text_mention" and mark.user_id == me.user_id


def _spelled_out(mark: Mark, covered: str) -> str | None:
    if mark.kind == "text_link" and mark.url and mark.url.rstrip("/") != covered.rstrip("/"):
        return f"{covered} ({mark.url})"
    if mark.kind == "code" and "`" not in covered:
        return f"`{covered}`"
    if mark.kind == "pre":
        fence = "`" * max(3, 1 + max((len(run) for run in re.findall("`+", covered)), default=0))
        return f"{fence}{mark.language or ''}\n{covered}\n{fence}"
    return None


def _edited(encoded: bytes, edits: Sequence[_Edit]) -> str:
    pieces: list[str] = []
    position = 0
    for edit in sorted(edits, key=lambda edit: edit.offset):
        if edit.offset < position:  # inside one that is spelled out already
            continue
        before = _slice(encoded, position, edit.offset - position)
        position = edit.offset + edit.length
        if not edit.text:  # one space is enough where a mention was
            rest = _slice(encoded, position, 1)
            before = before.rstrip(" ") if rest in ("", " ", "\n", ",") else before
        pieces += [before, edit.text]
    pieces.append(_slice(encoded, position, len(encoded)))
    plain = "".join(pieces)
    addressed = any(edit.offset == 0 and not edit.text for edit in edits)
    return plain.lstrip(" \n\t,:").rstrip() if addressed else plain.strip()


def _slice(encoded: bytes, offset: int, length: int) -> str:
    return encoded[2 * offset : 2 * (offset + length)].decode("utf-16-le", "replace")
