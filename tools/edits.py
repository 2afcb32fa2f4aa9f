"""Replaces one place of a text, found whatever line ends it has. Pure."""

from __future__ import annotations

import re

from agent.errors import ToolFailed

_LINES_SHOWN = 10
_NEWLINE = r"(?:\r\n|(?<!\r)\n)"


def replace_once(text: str, old: str, new: str) -> str:
    r"""The text with `old` replaced; ToolFailed unless it is there exactly once.

    \n in `old` matches \n and \r\n, because models write \n whatever the file has; a place that differs from another
    in its line ends only counts as a second one. The new text gets the line ends of what it replaces, or of the file.
    """
    if not old:
        raise ToolFailed("The old text is empty. Quote the text to replace.")
    if old == new:
        raise ToolFailed("The old and the new text are the same. Nothing would change.")
    places = _places(text, old)
    if not places:
        raise ToolFailed("The old text is not in the file. Read the file again and quote it exactly.")
    if len(places) > 1:
        lines = ", ".join(str(text.count("\n", 0, start) + 1) for start, _ in places[:_LINES_SHOWN])
        more = ", …" if len(places) > _LINES_SHOWN else ""
        raise ToolFailed(
            f"The old text is in the file {len(places)} times, on lines {lines}{more}. Quote more around it."
        )
    start, end = places[0]
    newline = _newline(text[start:end]) or _newline(text) or "\n"
    return text[:start] + new.replace("\r\n", "\n").replace("\n", newline) + text[end:]


def _places(text: str, old: str) -> list[tuple[int, int]]:
    """Every place, overlapping ones too: `aa` is twice in `aaa`."""
    lines = old.replace("\r\n", "\n").split("\n")
    pattern = _NEWLINE.join(map(re.escape, lines))
    return [match.span(1) for match in re.finditer(f"(?=({pattern}))", text)]


def _newline(text: str) -> str | None:
    """The line end that most lines of a text have; None when there is only one line."""
    crlf = text.count("\r\n")
    if not (count := text.count("\n")):
        return None
    return "\r\n" if 2 * crlf > count else "\n"
