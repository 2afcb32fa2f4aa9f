"""Whole columns of cells read as amounts or as dates: values, what is in doubt, what cannot be read and why."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Generic, NamedTuple, TypeVar

from tools.sheets.grid import Formula, Money, Value, shown
from tools.tables.dates import Order, day_first, read_date, read_serial
from tools.tables.numbers import Style, read_amount, thousands_style
from tools.tables.styles import decide

S = TypeVar("S", bound=str)
T = TypeVar("T", Decimal, date)

_STYLES: tuple[Style, ...] = ("decimal point", "decimal comma")
_ORDERS: tuple[Order, ...] = ("day first", "month first")
_FIRST_SURE_DAY = date(1900, 3, 1)
_MOST_DIGITS = 30


class Ambiguity(NamedTuple):
    """Cells that the whole column leaves in doubt: one of them, the reading that was taken, and the other one."""

    cells: int
    example: str
    reading: str
    alternative: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Column(Generic[T]):
    """One value per cell, or the reason why there is none. `notes` are sentences that begin with `%s`, its name."""

    values: list[T | None]
    reasons: list[str]
    ambiguity: Ambiguity | None
    notes: tuple[str, ...]


def read_amounts(cells: Sequence[Value]) -> tuple[Column[Decimal], list[str | None]]:
    """A column of amounts, and the currency that each cell names itself."""
    readings: list[Mapping[Style, Decimal]] = []
    currencies: list[str | None] = []
    for cell in cells:
        values, currency = _amount(cell)
        readings.append(values)
        currencies.append(currency)
    return _column(cells, readings, thousands_style, _no_amount), currencies


def read_dates(cells: Sequence[Value], *, epoch_1904: bool) -> Column[date]:
    """A column of dates; bare day numbers are taken for spreadsheet serials, because the column holds dates."""
    readings = [_date(cell, epoch_1904=epoch_1904) for cell in cells]
    serials = [index for index, cell in enumerate(cells) if _serial(cell) is not None and readings[index]]
    column = _column(cells, readings, day_first, _no_date)
    if not serials:
        return column
    first = serials[0]
    note = f"%s: {len(serials)} day numbers such as {shown(cells[first])} were read as dates ({column.values[first]})."
    return Column(values=column.values, reasons=column.reasons, ambiguity=column.ambiguity, notes=(*column.notes, note))


def _column(
    cells: Sequence[Value],
    readings: Sequence[Mapping[S, T]],
    assumed: Callable[[Mapping[S, T]], S],
    reason: Callable[[Value], str],
) -> Column[T]:
    decision = decide(readings, assumed)
    ambiguity = None
    if decision.open:
        first = decision.open[0]
        taken, other = sorted(readings[first].items(), key=lambda item: item[0] != decision.style)
        ambiguity = Ambiguity(
            cells=len(decision.open),
            example=shown(cells[first]),
            reading=f"{taken[0]}: {shown(taken[1])}",
            alternative=f"{other[0]}: {shown(other[1])}",
        )
    return Column(
        values=decision.values,
        reasons=["" if found else reason(cell) for cell, found in zip(cells, readings, strict=True)],
        ambiguity=ambiguity,
        notes=("%s mixes two styles; each cell was read by itself.",) if decision.mixed else (),
    )


def _amount(cell: Value) -> tuple[Mapping[Style, Decimal], str | None]:
    match cell:
        case Decimal() if -_MOST_DIGITS < cell.adjusted() < _MOST_DIGITS:
            return dict.fromkeys(_STYLES, cell), None
        case Money(amount, currency):
            return dict.fromkeys(_STYLES, amount), currency
        case str() if found := read_amount(cell):
            return found
    return {}, None


def _date(cell: Value, *, epoch_1904: bool) -> Mapping[Order, date]:
    if isinstance(cell, str) and (found := read_date(cell)):
        return found
    if isinstance(cell, date):
        return dict.fromkeys(_ORDERS, cell) if epoch_1904 or cell >= _FIRST_SURE_DAY else {}
    serial = _serial(cell)
    if serial is None:
        return {}
    day = read_serial(serial, epoch_1904=epoch_1904) or next(iter(read_date(str(serial)).values()), None)
    return dict.fromkeys(_ORDERS, day) if day else {}


def _serial(cell: Value) -> int | None:
    """A bare day number; the time of day after its point does not matter. Eight digits are a date such as 20260403."""
    if isinstance(cell, Decimal):
        return int(cell) if 0 <= cell < 10**8 else None
    text = cell.strip() if isinstance(cell, str) else ""
    return int(text) if text.isascii() and text.isdigit() and len(text) == 5 else None


def _no_amount(cell: Value) -> str:
    match cell:
        case None:
            return "no amount"
        case Formula():
            return "formula without stored value"
    return "not a number"


def _no_date(cell: Value) -> str:
    match cell:
        case None:
            return "no date"
        case Formula():
            return "formula without stored value"
        case date():
            return "day number of 60 or less, where Excel's calendar is wrong"
        case Decimal() if 0 <= cell <= 60:
            return "day number of 60 or less, too small for a date"
    return "not a date"
