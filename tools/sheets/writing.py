"""XLSX files made through openpyxl: the same cells always give the same bytes, and they were read back once."""

from __future__ import annotations

import unicodedata
import zipfile
from collections.abc import Sequence
from datetime import date, datetime
from decimal import Context, Decimal
from io import BytesIO
from typing import Any

import openpyxl
from openpyxl.cell import WriteOnlyCell
from openpyxl.styles import Font
from openpyxl.writer.excel import ExcelWriter

from agent.errors import BadArguments
from tools.sheets.cells import Content
from tools.sheets.delimited import FORMULA_STARTS
from tools.sheets.grid import Row, Value, letter, shown
from tools.sheets.reading import escaped

LONGEST_TEXT = 32_767
SIGNIFICANT_DIGITS = 15
MOST_COLUMNS = 16_384
"""Excel's own limits: https://support.microsoft.com/office/1672b34d-7043-467e-8e27-269d656771c3."""

_FIRST_DAY = date(1900, 3, 1)  # before it, Excel's calendar has a day that never was
_MADE_AT = datetime(1980, 1, 1)  # noqa: DTZ001 - a constant without a zone, as ZIP files and openpyxl want it
_EXACT = Context(prec=60)  # as long as a number can be written in a call
_WIDTHS = (8, 60)
_MEASURED_ROWS = 200
_MOST_PLACES = 6  # more are a quotient's, not an amount's, and shown as the spreadsheet sees fit
_HEADING = Font(bold=True)


def write_workbook(sheets: Sequence[Content]) -> bytes:
    """The bytes of a workbook: first rows bold and frozen, columns as wide as their text. Text is never a formula.

    Raises BadArguments naming the cell for what a spreadsheet cannot hold.
    """
    book = openpyxl.Workbook(write_only=True)
    book.properties.creator = "Signoff"
    book.properties.created = book.properties.modified = _MADE_AT
    for content in sheets:
        _write_sheet(book.create_sheet(content.name), content)
    return _packed(book)


def _write_sheet(sheet: Any, content: Content) -> None:
    rows = content.rows
    if max(map(len, rows), default=0) > MOST_COLUMNS:
        raise BadArguments(f"Sheet {content.name!r} has more than {MOST_COLUMNS:,} columns. Split it.")
    for column, width in enumerate(_widths(rows)):
        sheet.column_dimensions[letter(column)].width = width
    if len(rows) > 1:
        sheet.freeze_panes = "A2"
    for number, row in enumerate(rows, 1):
        cells = []
        for column, value in enumerate(row):
            if reason := _refusal(value):
                raise BadArguments(f"{content.name}!{letter(column)}{number}: {reason}")
            cells.append(_cell(sheet, value))
            if number == 1 and len(rows) > 1:
                cells[-1].font = _HEADING
        sheet.append(cells)


def _refusal(value: Value) -> str | None:
    match value:
        case str() if len(escaped(value)) > LONGEST_TEXT:
            return f"the text has {len(value):,} characters, a cell holds {LONGEST_TEXT:,}."
        case Decimal() if len(value.normalize(_EXACT).as_tuple().digits) > SIGNIFICANT_DIGITS:
            return f"{value} has more than the {SIGNIFICANT_DIGITS} digits that a spreadsheet keeps. Write it as text."
        case date() if value < _FIRST_DAY:
            return f"{value} is before {_FIRST_DAY}, where Excel's calendar begins to be right. Write it as text."
    return None


def _cell(sheet: Any, value: Value) -> Any:
    cell: Any = WriteOnlyCell(sheet)
    match value:
        case str():
            cell.value = escaped(value)
            cell.data_type = "s"  # openpyxl takes text that begins with = for a formula and #N/A for an error
            cell.quotePrefix = value.startswith(FORMULA_STARTS)  # stays text when a person edits the cell
        case Decimal():
            cell.value = value
            places = -int(value.as_tuple().exponent)
            cell.number_format = f"#,##0.{'0' * places}" if 0 < places <= _MOST_PLACES else "General"
        case date():
            cell.value = value
            cell.number_format = "yyyy-mm-dd"
        case _:
            cell.value = value
    return cell


def _widths(rows: Sequence[Row]) -> list[int]:
    widths = [_WIDTHS[0]] * max(map(len, rows), default=0)
    for row in rows[:_MEASURED_ROWS]:
        for column, value in enumerate(row):
            longest = max(map(_columns, shown(value).split("\n")))
            widths[column] = min(max(widths[column], longest + 2), _WIDTHS[1])
    return widths


def _columns(text: str) -> int:
    """How wide a line is drawn; East Asian wide characters take two columns."""
    return sum(2 if unicodedata.east_asian_width(character) in "WF" else 1 for character in text[: _WIDTHS[1]])


def _packed(book: Any) -> bytes:
    """Save without `Workbook.save`, which puts the present time into the file, and repack without entry times."""
    made, packed = BytesIO(), BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        ExcelWriter(book, archive).save()
    with zipfile.ZipFile(made) as source, zipfile.ZipFile(packed, "w") as target:
        for name in source.namelist():
            entry = zipfile.ZipInfo(name, _MADE_AT.timetuple()[:6])
            entry.create_system = 0  # else the operating system's number
            entry.compress_type = zipfile.ZIP_DEFLATED
            target.writestr(entry, source.read(name))
    return packed.getvalue()
