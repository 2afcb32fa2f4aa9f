"""Tables as lines of equal columns, for a block of code; pure."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable, Sequence

from markdown_it.rules_block.table import escapedSplit
from markdown_it.token import Token

WIDEST_COLUMN = 32
"""A longer cell is shown whole, but the others of its column are not widened for it: phones are narrow."""


def grid(tokens: Iterable[Token], plain: Callable[[Token], str]) -> str:
    """The rows of a table, its head underlined; `plain` makes one line of a cell."""
    rows: list[list[str]] = []
    sides: list[list[str]] = []
    for token in tokens:
        if token.type == "tr_open":
            rows.append([])
            sides.append([])
        elif token.type in ("th_open", "td_open"):
            sides[-1].append(str(token.attrGet("style") or "").removeprefix("text-align:"))
        elif token.type == "inline":
            rows[-1].append(plain(token))
    if not rows:
        return ""
    widths = [min(max(map(_width, column)), WIDEST_COLUMN) for column in zip(*rows, strict=True)]
    lines = [_line(row, side, widths) for row, side in zip(rows, sides, strict=True)]
    return "\n".join([lines[0], "─┼─".join("─" * width for width in widths), *lines[1:]])


def lost_cells(tokens: Iterable[Token], source: Sequence[str]) -> bool:
    """Whether a row has more cells than the head: the parser leaves the others out, words and all."""
    columns = 0
    for token in tokens:
        if token.type == "thead_open":
            columns = 0
        elif token.type == "th_open":
            columns += 1
        elif token.type == "tr_open" and token.map is not None and columns:
            row = source[token.map[0]].strip(" \t>")
            cells = escapedSplit(row.removeprefix("|").removesuffix("|"))
            if len(cells) > columns:
                return True
    return False


def _line(row: Sequence[str], sides: Sequence[str], widths: Sequence[int]) -> str:
    cells = (_padded(cell, side, width) for cell, side, width in zip(row, sides, widths, strict=True))
    return " │ ".join(cells).rstrip()


def _padded(cell: str, side: str, width: int) -> str:
    room = max(width - _width(cell), 0)
    if side == "right":
        return " " * room + cell
    if side == "center":
        return " " * (room // 2) + cell + " " * (room - room // 2)
    return cell + " " * room


def _width(text: str) -> int:
    """How many columns a text takes where all letters are equally wide."""
    if text.isascii():
        return len(text)
    wide = sum(unicodedata.east_asian_width(character) in "WF" for character in text)
    return len(text) + wide - sum(unicodedata.combining(character) > 0 for character in text)
