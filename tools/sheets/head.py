"""The beginning of every sheet of a table file, for people who look at it; runs in a child process."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from tools.sheets.delimited import read_delimited
from tools.sheets.grid import Row, shown

ENDINGS = (".csv", ".tsv", ".xlsx", ".xlsm")
ROWS = 200
COLUMNS = 50
CELL_CHARACTERS = 500
_SHEETS = 20


class Head(NamedTuple):
    """The first rows of a sheet as texts; `cut` when there is more than is shown here."""

    sheet: str | None
    rows: list[list[str]]
    row_count: int
    cut: bool


def heads(path: str, content: bytes) -> list[Head]:
    """The heads of the visible sheets; ToolFailed for what is no table."""
    if path.lower().endswith((".xlsx", ".xlsm")):
        from tools.sheets.reading import ExcelFile  # noqa: PLC0415 - openpyxl, 0.07 s: the child pays it, not every start

        book = ExcelFile(content, path)
        return [_head(name, book.grid(name).rows) for name in book.names[:_SHEETS]]
    return [_head(None, read_delimited(content, path).rows)]


def _head(sheet: str | None, rows: Sequence[Row]) -> Head:
    first = [[shown(value) for value in row[:COLUMNS]] for row in rows[:ROWS]]
    cut = len(rows) > ROWS or any(len(row) > COLUMNS for row in rows[:ROWS])
    cut = cut or any(len(text) > CELL_CHARACTERS for row in first for text in row)
    shortened = [[text[:CELL_CHARACTERS] for text in row] for row in first]
    return Head(sheet=sheet, rows=shortened, row_count=len(rows), cut=cut)
