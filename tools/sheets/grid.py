"""What a cell of a read table can hold."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import NamedTuple

ROWS = 200_000
CELLS = 2_000_000
"""Of one table; more is refused with both numbers, since all of it is held in memory."""


class Formula(NamedTuple):
    """A formula whose result the file does not hold, as when a program made it and no spreadsheet ever opened it."""

    text: str


class Money(NamedTuple):
    """A number whose cell format names its currency."""

    amount: Decimal
    currency: str


Value = str | Decimal | date | bool | Formula | Money | None
Row = tuple[Value, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Grid:
    """The rows of one sheet from its first row on, blank ones too, so that row n is `rows[n - 1]`.

    `notes` are sentences for the reader (encoding, other sheets); `epoch_1904` counts serial dates from 1904.
    """

    sheet: str | None
    rows: list[Row]
    notes: tuple[str, ...] = ()
    epoch_1904: bool = False


def letter(index: int) -> str:
    """The spreadsheet's name of a column, counted from 0: A, B, … Z, AA."""
    text = ""
    index += 1
    while index:
        index, rest = divmod(index - 1, 26)
        text = chr(ord("A") + rest) + text
    return text


def shown(value: Value) -> str:
    """A cell as text for a person; numbers are plain decimals, never with an exponent."""
    match value:
        case None:
            return ""
        case bool():
            return str(value).upper()
        case Decimal():
            return f"{value:f}"
        case Formula(text):
            return text
        case Money(amount, currency):
            return f"{amount:f} {currency}"
    return str(value)
