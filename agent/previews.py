"""What a person reads before deciding: diffs, new files, changed cells, with nothing hidden in them. Pure."""

from __future__ import annotations

import difflib
import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

Cells = Mapping[tuple[str, str], str]
"""Cell texts by sheet name and reference: ("Totals", "B7")."""


class _Change(NamedTuple):
    """Lines [start, end) of the old text become [new_start, new_end) of the new one."""

    start: int
    end: int
    new_start: int
    new_end: int


_DIFFED_LINES = 500
_CONTEXT = 3
_ESCAPED = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
# Letters and marks that show nothing, so that text can hide in them: Default_Ignorable_Code_Point of
# https://www.unicode.org/reports/tr44/ as far as the categories above do not hold it. The two variation selectors
# that every emoji carries are left alone.
_BLANK = re.compile("[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180d\u180f\u3164\ufe00-\ufe0d\uffa0\U000e0100-\U000e01ef]")
_PLAIN = re.compile(r"[\t\n\x20-\x7e]*")
_REFERENCE = re.compile(r"([A-Z]+)([0-9]+)")
_NO_NEWLINE = "\\ No newline at end of file"


def visible(text: str) -> str:
    r"""Control, bidirectional, zero-width and other unseen characters as escapes like \u202e; \n and \t stay."""
    return text if _PLAIN.fullmatch(text) else text.translate(_Visible())


def shorten(text: str, limit: int, full_copy: str) -> str:
    """At most `limit` characters; what is cut off is counted, and where the whole is (`full_copy`) is said."""
    if len(text) <= limit:
        return text
    note = f"\n… {len(text):,} characters in all, the rest is not shown here; the whole is in {full_copy}."
    return text[: max(0, limit - len(note))] + note


def new_file(path: str, content: str) -> str:
    """The size and the text of a file that does not exist yet. Whoever shows it calls `shorten` for the head."""
    lines = content.count("\n") + (not content.endswith("\n") and content != "")
    size = f"{_counted(len(content.encode()), 'byte')}, {_counted(lines, 'line')}"
    return f"New file {_line(path)}: {size}\n\n{visible(content)}"


def unified_diff(path: str, before: str, after: str) -> str:
    r"""What changes, in the form of diff -u; line ends are shown as \r where the file does not use them throughout."""
    if before == after:
        return f"{_line(path)}: no change, the file already has this content."
    note = ""
    if _is_crlf(before) and _is_crlf(after):
        before, after = before.replace("\r\n", "\n"), after.replace("\r\n", "\n")
        note = " (lines end in CRLF)"
    name = _line(path)
    lines = [f"--- {name}{note}", f"+++ {name}{note}", *_hunks(_lines(before), _lines(after))]
    return visible("\n".join(lines))


def changed_cells(before: Cells, after: Cells, limit: int = 200) -> str:
    """A line for each cell that differs, in the order of sheets, rows and columns; what is over the limit is counted.

    A cell that is missing on one side is shown as empty.
    """
    sheets = {sheet: position for position, sheet in enumerate(dict.fromkeys(key[0] for key in (*before, *after)))}
    changed = [key for key in {**before, **after} if before.get(key, "") != after.get(key, "")]
    changed.sort(key=lambda key: (sheets[key[0]], _position(key[1])))
    lines = [
        f"{_line(sheet)}!{_line(cell)}: {_value(before.get((sheet, cell)))} → {_value(after.get((sheet, cell)))}"
        for sheet, cell in changed[:limit]
    ]
    if len(changed) > limit:
        lines.append(f"… {len(changed) - limit:,} more cells change, {len(changed):,} in all.")
    return "\n".join(lines) or "No cell changes."


class _Visible(dict[int, str]):
    """A table for str.translate that finds out about each character once."""

    def __missing__(self, code: int) -> str:
        character = chr(code)
        unseen = unicodedata.category(character) in _ESCAPED or _BLANK.match(character)
        self[code] = _escape(code) if unseen and character not in "\n\t" else character
        return self[code]


def _escape(code: int) -> str:
    if code == ord("\r"):
        return "\\r"
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _line(text: str) -> str:
    """Text that stays on its line."""
    return visible(text).replace("\n", "\\n").replace("\t", "\\t")


def _value(text: str | None) -> str:
    return f'"{_line(text)}"' if text else "(empty)"


def _position(reference: str) -> tuple[int, int, str]:
    found = _REFERENCE.fullmatch(reference)
    if found is None:
        return 0, 0, reference
    column, row = found.groups()
    return int(row), len(column), column


def _is_crlf(text: str) -> bool:
    return "\r\n" in text and text.count("\r\n") == text.count("\n") == text.count("\r")


def _lines(text: str) -> list[str]:
    """Lines by \n alone: other separators are content and are shown as escapes. A missing last \n is a line's mark."""
    lines = text.split("\n")
    if lines[-1] == "":
        return lines[:-1]
    return [*lines[:-1], f"{lines[-1]}\n{_NO_NEWLINE}"]


def _hunks(before: Sequence[str], after: Sequence[str]) -> Iterator[str]:
    """The hunks, as few and close as a line comparison finds; the search is bounded, because its time is not linear.

    What both texts have in common at the start and the end is cut off first; if what is left is still long, it is
    shown as removed and added as a whole.
    """
    start = _common(before, after)
    end = _common(before[start:][::-1], after[start:][::-1])
    old, new = before[start : len(before) - end], after[start : len(after) - end]
    if max(len(old), len(new)) > _DIFFED_LINES:
        codes = [("replace", 0, len(old), 0, len(new))]
    else:
        codes = list(difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes())
    moved = [_Change(i1 + start, i2 + start, j1 + start, j2 + start) for tag, i1, i2, j1, j2 in codes if tag != "equal"]
    for group in _grouped(moved):
        yield from _hunk(before, after, group)


def _common(left: Sequence[str], right: Sequence[str]) -> int:
    pairs = enumerate(zip(left, right, strict=False))
    return next((count for count, (one, other) in pairs if one != other), min(len(left), len(right)))


def _grouped(changes: Sequence[_Change]) -> list[list[_Change]]:
    groups: list[list[_Change]] = []
    for change in changes:
        if groups and change.start - groups[-1][-1].end <= 2 * _CONTEXT:
            groups[-1].append(change)
        else:
            groups.append([change])
    return groups


def _hunk(before: Sequence[str], after: Sequence[str], changes: Sequence[_Change]) -> Iterator[str]:
    first, last = changes[0], changes[-1]
    lead = min(_CONTEXT, first.start)
    tail = min(_CONTEXT, len(before) - last.end)
    start, end = first.start - lead, last.end + tail
    yield f"@@ -{_range(start, end)} +{_range(first.new_start - lead, last.new_end + tail)} @@"
    for change in changes:
        yield from _marked(" ", before[start : change.start])
        yield from _marked("-", before[change.start : change.end])
        yield from _marked("+", after[change.new_start : change.new_end])
        start = change.end
    yield from _marked(" ", before[start:end])


def _range(start: int, end: int) -> str:
    """A hunk's lines as diff -u counts them: from 1, an empty range named by the line before it."""
    return f"{start + (end > start)},{end - start}"


def _marked(mark: str, lines: Sequence[str]) -> Iterator[str]:
    return (mark + line for line in lines)
