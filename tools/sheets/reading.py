"""XLSX files read through openpyxl: values, stored results of formulas, currencies of formats."""

from __future__ import annotations

import re
import struct
import warnings
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date, datetime
from decimal import Context, Decimal
from io import BytesIO
from typing import Any
from xml.etree.ElementTree import ParseError

import openpyxl
from openpyxl.styles.numbers import BUILTIN_FORMATS_MAX_SIZE
from openpyxl.utils.datetime import MAC_EPOCH
from openpyxl.utils.exceptions import InvalidFileException

from agent.errors import ToolFailed
from tools.sheets.currencies import currency_of_format
from tools.sheets.grid import CELLS, ROWS, Formula, Grid, Money, Row, Value

UNPACKED_BYTES = 256 * 1024 * 1024

_CHUNK = 64 * 1024
_FORMULA = re.compile(rb"<(?:\w+:)?f[\s/>]")
_ESCAPED = re.compile(r"_x(005F|000D)_")
_LIKE_AN_ESCAPE = re.compile(r"_(?=x[0-9A-Fa-f]{4}_)")
# A double holds 15 decimal digits for certain, and spreadsheets show no more; the rest is noise of binary arithmetic.
_EXCEL = Context(prec=15)
_ROOMY = Context(prec=400)
_PLACES = re.compile(r"0\.(0{1,15})")
_BROKEN = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    EOFError,
    InvalidFileException,
    ParseError,
    ValueError,
    KeyError,
    IndexError,
    TypeError,
    AttributeError,
    OverflowError,
    OSError,  # `File contains no valid workbook part`; nothing here touches a disk
    RuntimeError,  # an encrypted entry; NotImplementedError for an unknown compression is one too
)


class ExcelFile:
    """A workbook. Raises ToolFailed in one sentence for what is no XLSX file, is damaged or unpacks too far."""

    def __init__(self, content: bytes, name: str, *, max_rows: int = ROWS) -> None:
        self._name = name
        self._max_rows = max_rows
        self._content = content
        if content.startswith(b"\xd0\xcf\x11\xe0"):
            raise ToolFailed(f"{name} is an old or password-protected Excel file. Save it as .xlsx without a password.")
        with self._readable():
            self._has_formulas = _inflate(content, name)
            self._book = self._load(data_only=True)

    @property
    def names(self) -> list[str]:
        """The visible sheets, in order."""
        return [sheet.title for sheet in self._book.worksheets if sheet.sheet_state == "visible"]

    def grid(self, sheet: str, *, formulas: bool = False) -> Grid:
        """The cells of a sheet, hidden ones too; ToolFailed names the sheets there are.

        A cell with a formula holds its stored result, or a Formula when there is none or `formulas` asks for them all.
        """
        if sheet not in [known.title for known in self._book.worksheets]:
            raise ToolFailed(f"{self._name} has no sheet {sheet!r}; it has {', '.join(map(repr, self.names))}.")
        with self._readable():
            rows = self._rows(self._book[sheet])
            if self._has_formulas:
                self._mark_formulas(sheet, rows, every=formulas)
        return Grid(sheet=sheet, rows=rows, epoch_1904=self._book.epoch == MAC_EPOCH)

    def _load(self, *, data_only: bool) -> Any:
        return openpyxl.load_workbook(BytesIO(self._content), read_only=True, data_only=data_only, keep_links=False)

    def _rows(self, sheet: Any) -> list[Row]:
        sheet.reset_dimensions()  # what the file says about its own size is often wrong and would cut rows off
        rows: list[Row] = []
        cells = 0
        for row in sheet.iter_rows():
            values = tuple(map(_value, row))
            while values and values[-1] is None:
                values = values[:-1]
            cells += len(values)
            if len(rows) >= self._max_rows or cells > CELLS:
                what = f"more than {self._max_rows:,} rows or {CELLS:,} cells"
                raise ToolFailed(f"Sheet {sheet.title!r} of {self._name} has {what}. Split it.")
            rows.append(values)
        return rows

    def _mark_formulas(self, sheet: str, rows: list[Row], *, every: bool) -> None:
        """Put a Formula where the file holds a formula but no result: openpyxl alone would show an empty cell."""
        source = self._load(data_only=False)[sheet]
        source.reset_dimensions()
        for index, row in enumerate(source.iter_rows()):
            found = {number: cell.value for number, cell in enumerate(row) if cell.data_type == "f"}
            values = list(rows[index])
            for number, formula in found.items():
                values.extend([None] * (number + 1 - len(values)))
                if every or values[number] is None:
                    values[number] = Formula(str(getattr(formula, "text", formula)))
            rows[index] = tuple(values)

    @contextmanager
    def _readable(self) -> Iterator[None]:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # about extensions and styles, which are not read here
                yield
        except _BROKEN as error:
            raise ToolFailed(f"{self._name} is not an XLSX file or is damaged ({type(error).__name__}).") from error


def escaped(text: str) -> str:
    """Text as it must stand in the file so that `_x0041_` is not read as `A` (ECMA-376, ST_Xstring)."""
    return _LIKE_AN_ESCAPE.sub("_x005F_", text)


def _inflate(content: bytes, name: str) -> bool:
    """Unpack once to nowhere, counting, because the sizes a file declares may lie; whether there are formulas."""
    total = 0
    formulas = False
    with zipfile.ZipFile(BytesIO(content)) as archive:
        for entry in archive.infolist():
            tail = b""
            with archive.open(entry) as stream:
                while chunk := stream.read(_CHUNK):
                    total += len(chunk)
                    if total > UNPACKED_BYTES:
                        raise ToolFailed(f"{name} unpacks to more than {UNPACKED_BYTES // 1024**2} MiB. Split it.")
                    if entry.filename.startswith("xl/worksheets/") and not formulas:
                        formulas = _FORMULA.search(tail + chunk) is not None
                        tail = chunk[-64:]
    return formulas


def _value(cell: Any) -> Value:
    value = cell.value
    match value:
        case None | bool() | Formula():
            return value
        case str():
            text = _ESCAPED.sub(lambda match: "_" if match[1] == "005F" else "", value)
            return text if text.strip() else None
        case int() | float():
            return _number(cell, value)
        case datetime():
            return value.date()
        case date():
            return value
    return str(value)  # a time of day or a duration


def _number(cell: Any, value: float) -> Value:
    number = Decimal(value) if isinstance(value, int) else _EXCEL.create_decimal(repr(value))
    if not number.is_finite():
        return str(value)
    number_format = cell.number_format
    if (places := _PLACES.search(number_format)) and -int(number.as_tuple().exponent) < len(places[1]):
        number = number.quantize(Decimal(1).scaleb(-len(places[1])), context=_ROOMY)
    # The formats a file only numbers show `$` or `€` after the reader's country, so they name no currency.
    own = cell.style_array.numFmtId >= BUILTIN_FORMATS_MAX_SIZE
    currency = currency_of_format(number_format) if own else None
    return Money(number, currency) if currency else number
