"""The rows of a table as lines: who, how much, when; and what could not be read, by row."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from decimal import Context, Decimal
from functools import reduce
from typing import NamedTuple

from tools.sheets.currencies import currency_of, currency_within
from tools.sheets.grid import Grid, Row, Value, shown
from tools.tables.columns import Layout, is_blank
from tools.tables.headers import Role, folded
from tools.tables.readings import Ambiguity, Column, read_amounts, read_dates

NO_VENDOR = "(no vendor)"
EXACT = Context(prec=60)
"""Sums stay exact: amounts have at most 30 digits, and the default context would round at 28."""

_TOTAL_WORDS = """total|totals|grand total|subtotal|sub total|sub-total|sum|summe|gesamt|gesamtsumme|gesamtbetrag|
zwischensumme|somme|total général|sous-total|suma|total general|totale|totaal|итого|合计|总计|小计|總計|合計|小計|
합계|총계"""
_TOTALS = frozenset(_TOTAL_WORDS.replace("\n", "").split("|"))


class Line(NamedTuple):
    """A row that counts. `row` is the number a spreadsheet shows; `currency` None: the file names none."""

    row: int
    vendor: str
    currency: str | None
    amount: Decimal
    date: date | None
    number: str | None


class Problem(NamedTuple):
    """A cell that could not be used."""

    row: int
    column: str
    text: str
    reason: str


class SummaryRow(NamedTuple):
    """A total that the file itself states; not counted. `amount` None: unreadable."""

    row: int
    label: str
    amount: Decimal | None


@dataclass(kw_only=True, slots=True)
class Lines:
    """All that was read from a table; `rows` counts the data rows without blank and summary rows."""

    rows: int = 0
    lines: list[Line] = field(default_factory=list)
    summary_rows: list[SummaryRow] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    ambiguous: list[tuple[str, Ambiguity]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


class _Record(NamedTuple):
    """A row cut into its roles; a role without a column is None in all rows."""

    row: int
    cells: Row
    vendor: Value
    amount: Value
    date: Value
    currency: Value
    number: Value


def read_lines(grid: Grid, layout: Layout) -> Lines:
    """Read the data rows of a table by its layout."""
    records = list(_records(grid, layout))
    amounts, signs = read_amounts([record.amount for record in records])
    dates = read_dates([record.date for record in records], epoch_1904=grid.epoch_1904)
    lines = Lines(notes=[*grid.notes, *layout.notes])
    vendors = _Vendors()
    in_header = currency_within(layout.name("amount") or "")
    for position, record in enumerate(records):
        amount = amounts.values[position]
        if _is_labelled_total(record) or (record is records[-1] and _is_sum(record, amount, lines.lines)):
            lines.summary_rows.append(SummaryRow(record.row, _label(record), amount))
            reasons = {"amount": amounts.reasons[position] if record.amount is not None else ""}
        else:
            lines.rows += 1
            reasons = {"amount": amounts.reasons[position], "date": dates.reasons[position]}
            reasons["vendor"] = "" if shown(record.vendor).strip() else "no vendor"
            if amount is not None:
                currency = _currency(record.currency) or signs[position] or in_header
                number = shown(record.number).strip() or None
                vendor = vendors.name(record.vendor)
                lines.lines.append(Line(record.row, vendor, currency, amount, dates.values[position], number))
        lines.problems += _problems(record, layout, reasons)
    _describe(lines, layout.name("amount"), amounts)
    _describe(lines, layout.name("date"), dates)
    lines.notes += vendors.notes()
    return lines


def total(amounts: Iterable[Decimal]) -> Decimal:
    """The exact sum."""
    return reduce(EXACT.add, amounts, Decimal(0))


class _Vendors:
    """One spelling per vendor: case, width and white space do not make another one."""

    def __init__(self) -> None:
        self._spellings: dict[str, dict[str, None]] = {}

    def name(self, cell: Value) -> str:
        text = " ".join(shown(cell).split()) or NO_VENDOR
        spellings = self._spellings.setdefault(folded(text), {})
        spellings[text] = None
        return next(iter(spellings))

    def notes(self) -> Iterator[str]:
        for first, *others in self._spellings.values():
            if others:
                yield f"Vendor {first!r} includes the spelling {', '.join(map(repr, others))}."


def _records(grid: Grid, layout: Layout) -> Iterator[_Record]:
    def cell(row: Row, role: Role) -> Value:
        column = layout.roles.get(role, len(row))
        return row[column] if column < len(row) else None

    for number, row in enumerate(grid.rows[layout.first_row :], layout.first_row + 1):
        if not is_blank(row):
            roles = (cell(row, role) for role in ("vendor", "amount", "date", "currency", "number"))
            yield _Record(number, row, *roles)


def _is_labelled_total(record: _Record) -> bool:
    """A row that says `Total` and nothing that an invoice has: a company of that name comes with a date or a number."""
    labels = [cell for cell in record.cells if isinstance(cell, str) and folded(cell).rstrip(" :") in _TOTALS]
    return bool(labels) and all(cell is None or cell in labels for cell in (record.vendor, record.date, record.number))


def _is_sum(record: _Record, amount: Decimal | None, lines: Sequence[Line]) -> bool:
    """A row that holds nothing but the sum of the rows above it."""
    alone = sum(cell is not None for cell in record.cells) == 1
    return alone and len(lines) > 1 and amount == total(line.amount for line in lines)


def _label(record: _Record) -> str:
    return next((cell.strip() for cell in record.cells if isinstance(cell, str) and cell is not record.amount), "")


def _currency(cell: Value) -> str | None:
    text = shown(cell).strip()
    return currency_of(text) or text.upper() or None


def _problems(record: _Record, layout: Layout, reasons: Mapping[str, str]) -> Iterator[Problem]:
    cells: Mapping[Role, Value] = {"vendor": record.vendor, "amount": record.amount, "date": record.date}
    for role, cell in cells.items():
        name = layout.name(role)
        if name is not None and (reason := reasons.get(role)):
            yield Problem(record.row, name, shown(cell), reason)


def _describe(lines: Lines, name: str | None, column: Column[Decimal] | Column[date]) -> None:
    if name is None:
        return
    if column.ambiguity:
        lines.ambiguous.append((name, column.ambiguity))
    lines.notes += [note % f"Column {name!r}" for note in column.notes]
