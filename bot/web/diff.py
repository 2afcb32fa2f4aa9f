"""A preview as parts that a page draws: differences side by side, new files, plain text. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

_HUNK = re.compile(r"@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@.*")
_NEW_FILE = re.compile(r"(New file .*)\n\n((?:.|\n)*)")
_NO_NEWLINE = "\\ No newline at end of file"


@dataclass(frozen=True, kw_only=True, slots=True)
class Line:
    """A line with its number; `changed` is the middle of it that differs from its counterpart."""

    number: int | None
    text: str
    changed: tuple[int, int] = (0, 0)

    @property
    def parts(self) -> tuple[str, str, str]:
        """What stands before, in and after the changed middle."""
        start, end = self.changed
        return self.text[:start], self.text[start:end], self.text[end:]


@dataclass(frozen=True, kw_only=True, slots=True)
class Change:
    """Lines that stay (`same`, equal on both sides), or old lines and what they become."""

    same: bool
    old: Sequence[Line]
    new: Sequence[Line]


@dataclass(frozen=True, kw_only=True, slots=True)
class Hunk:
    """Changes close to each other; `head` says where."""

    head: str
    changes: Sequence[Change]


@dataclass(frozen=True, kw_only=True, slots=True)
class Shown:
    """A preview: words before it, then a difference or the text of a new file."""

    intro: str = ""
    hunks: Sequence[Hunk] = ()
    new_file: Sequence[Line] = ()


def shown(preview: str) -> Shown:
    """What a preview's text holds; whatever is not understood stays text, so that nothing is left out."""
    if found := _NEW_FILE.fullmatch(preview):
        return Shown(intro=found[1], new_file=_numbered(found[2].removesuffix("\n").split("\n"), 1))
    lines = preview.rstrip("\n").split("\n")
    start = next((at for at in range(len(lines) - 1) if _begins(lines, at)), None)
    hunks = None if start is None else _hunks(lines[start + 2 :])
    if start is None or hunks is None:
        return Shown(intro=preview)
    return Shown(intro="\n".join([*lines[:start], lines[start + 1].removeprefix("+++ ")]), hunks=hunks)


def _begins(lines: Sequence[str], at: int) -> bool:
    return lines[at].startswith("--- ") and lines[at + 1].startswith("+++ ")


def _hunks(lines: Sequence[str]) -> list[Hunk] | None:
    """None when a line is not that of a difference."""
    bodies: list[tuple[str, list[str]]] = []
    for line in lines:
        if _HUNK.fullmatch(line):
            bodies.append((line, []))
        elif bodies and line.startswith((" ", "-", "+")):
            bodies[-1][1].append(line)
        elif bodies and bodies[-1][1] and line == _NO_NEWLINE:
            bodies[-1][1][-1] += f"\n{line}"
        else:
            return None
    return [Hunk(head=head, changes=list(_changes(head, body))) for head, body in bodies] or None


def _changes(head: str, body: Sequence[str]) -> Iterator[Change]:
    found = _HUNK.fullmatch(head)
    old_at, new_at = (int(found[1]), int(found[2])) if found else (1, 1)
    for same, group in groupby(body, key=lambda line: line.startswith(" ")):
        lines = list(group)
        old = [line[1:] for line in lines if not line.startswith("+")]
        new = [line[1:] for line in lines if not line.startswith("-")]
        yield _change(_numbered(old, old_at), _numbered(new, new_at), same=same)
        old_at, new_at = old_at + len(old), new_at + len(new)


def _change(old: list[Line], new: list[Line], *, same: bool) -> Change:
    if not same and len(old) == len(new):
        pairs = [_compared(one, other) for one, other in zip(old, new, strict=True)]
        old, new = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    return Change(same=same, old=old, new=new)


def _compared(old: Line, new: Line) -> tuple[Line, Line]:
    """Mark the middle that differs, unless nearly everything does."""
    start = _common(old.text, new.text)
    end = _common(old.text[start:][::-1], new.text[start:][::-1])
    if start + end < min(len(old.text), len(new.text)) / 3:
        return old, new
    return (
        Line(number=old.number, text=old.text, changed=(start, len(old.text) - end)),
        Line(number=new.number, text=new.text, changed=(start, len(new.text) - end)),
    )


def _common(one: str, other: str) -> int:
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, (left, right) in pairs if left != right), min(len(one), len(other)))


def _numbered(lines: Sequence[str], first: int) -> list[Line]:
    return [Line(number=number, text=text) for number, text in enumerate(lines, start=first)]
