"""Finds cells of a text table that a spreadsheet would run when it opens the file. Pure."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from io import StringIO

from agent.previews import visible
from tools.sheets.delimited import guarded

_TABLES = (".csv", ".tsv", ".tab")
_DELIMITERS = ",;\t"
_SHOWN = 5
_SHOWN_CHARACTERS = 80


def formula_warning(path: str, text: str) -> str:
    """A paragraph that names the cells of a CSV file that begin like a formula; empty when there are none.

    All usual delimiters are tried, because the reader's settings and not the file decide which one a spreadsheet uses.
    """
    if not path.lower().endswith(_TABLES):
        return ""
    try:
        found = dict.fromkeys(cell for delimiter in _DELIMITERS for cell in _formulas(text, delimiter))
    except csv.Error as error:
        return f"Warning: the file could not be searched for formulas ({error}).\n\n"
    if not found:
        return ""
    lines = [f"  row {row}: {visible(cell[:_SHOWN_CHARACTERS])}" for row, cell in list(found)[:_SHOWN]]
    if len(found) > _SHOWN:
        lines.append(f"  and {len(found) - _SHOWN:,} more")
    return "\n".join(["Warning: a spreadsheet may run these cells as formulas:", *lines, "", ""])


def _formulas(text: str, delimiter: str) -> Iterator[tuple[int, str]]:
    for row, record in enumerate(csv.reader(StringIO(text, newline=""), delimiter=delimiter), start=1):
        yield from ((row, cell) for cell in record if guarded(cell) != cell)
