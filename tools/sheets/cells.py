"""The cells and sheets that a model asks for, and the exact values that go into a file."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Context, Decimal
from typing import Annotated

from pydantic import Field, FiniteFloat, WithJsonSchema

from agent.errors import BadArguments
from agent.tool import Arguments
from tools.sheets.grid import Row, Value

_FLOATS = Context(prec=15)  # the decimal digits that a binary float keeps for certain
_LINE_END = re.compile(r"\r\n?")
# What XML 1.0 cannot hold (https://www.w3.org/TR/xml/#charsets), and the byte order mark, which vanishes at a start.
_FORBIDDEN = re.compile("[^\t\n\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]|\ufeff")
_TITLE = re.compile(r"(?!')[^\[\]:*?/\\\x00-\x1f]{1,31}(?<!')")


# No docstrings on these: they would go to the model with every request.
class DateCell(Arguments):
    date: date


class NumberCell(Arguments):
    # As text, because a JSON number may lose digits.
    number: Annotated[str, Field(pattern=r"^-?\d{1,30}(\.\d{1,30})?$")]


Cell = Annotated[
    str | bool | int | FiniteFloat | DateCell | NumberCell | None,
    WithJsonSchema({"type": ["string", "number", "boolean", "null", "object"]}),
]


class Sheet(Arguments):
    name: str
    rows: list[list[Cell]]


@dataclass(frozen=True, kw_only=True, slots=True)
class Content:
    """A sheet with exact values; `cleaned` counts the cells that lost characters no file can hold."""

    name: str
    rows: tuple[Row, ...]
    cleaned: int


def contents(sheets: Sequence[Sheet]) -> list[Content]:
    """The sheets' exact values; BadArguments names the sheet or cell that cannot be written."""
    if not sheets:
        raise BadArguments("There is no sheet to write. Give at least one in `sheets`.")
    names = [sheet.name.casefold() for sheet in sheets]
    for sheet, name in zip(sheets, names, strict=True):
        if not _TITLE.fullmatch(sheet.name):
            raise BadArguments(
                f"Sheet name {sheet.name!r} must have 1–31 characters and none of []:*?/\\, nor a ' at an end."
            )
        if names.count(name) > 1:
            raise BadArguments(f"Two sheets are named {sheet.name!r}; capitals do not make a difference. Rename one.")
    return [_content(sheet) for sheet in sheets]


def _content(sheet: Sheet) -> Content:
    rows = tuple(tuple(_value(cell) for cell in row) for row in sheet.rows)
    pairs = [pair for row, values in zip(sheet.rows, rows, strict=True) for pair in zip(row, values, strict=True)]
    return Content(
        name=sheet.name, rows=rows, cleaned=sum(isinstance(cell, str) and cell != value for cell, value in pairs)
    )


def _value(cell: object) -> Value:
    match cell:
        case DateCell():
            return cell.date
        case NumberCell():
            return Decimal(cell.number)
        case str():
            return _FORBIDDEN.sub("", _LINE_END.sub("\n", cell))
        case bool() | None:
            return cell
        case int():
            return Decimal(cell)
        case float():
            return _FLOATS.create_decimal(repr(cell)).normalize()
    raise TypeError(cell)
