"""What stands out among lines: totals, outliers, refunds and what seems to be billed twice."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal, NamedTuple

from tools.tables.lines import EXACT, NO_VENDOR, Line, total

_SMALLEST_GROUP = 3
"""With fewer amounts a vendor has no typical one of its own and is compared with all of its currency."""


class VendorTotal(NamedTuple):
    """The sum of a vendor's lines in one currency."""

    vendor: str
    currency: str | None
    rows: int
    total: Decimal


class CurrencyTotal(NamedTuple):
    """The sum of all lines in one currency; `repeated` is what certain duplicates add to it."""

    currency: str | None
    rows: int
    total: Decimal
    refunds: Decimal
    repeated: Decimal


class Outlier(NamedTuple):
    """An amount over `multiplier` times the typical one, the median of its group; `times` says how often."""

    line: Line
    typical: Decimal
    times: Decimal
    compared_with: Literal["vendor", "all"]


class Duplicate(NamedTuple):
    """Lines that may be one bill entered several times; `certain` when nothing in them speaks against it."""

    lines: tuple[Line, ...]
    certain: bool
    reason: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Findings:
    """Everything found. Currencies are never added to each other; `vendors` are ordered by currency, then by size.
    `untypical` are the vendors whose median is zero."""

    vendors: list[VendorTotal]
    currencies: list[CurrencyTotal]
    outliers: list[Outlier]
    untypical: list[str]
    refunds: list[Line]
    duplicates: list[Duplicate]


def find(lines: Sequence[Line], multiplier: Decimal) -> Findings:
    """Look through the lines; outliers are amounts whose size is over `multiplier` times the median size."""
    duplicates = sorted(_duplicates(lines), key=lambda duplicate: duplicate.lines[0].row)
    outliers, untypical = _outliers(lines, multiplier)
    return Findings(
        vendors=_vendor_totals(lines),
        currencies=_currency_totals(lines, duplicates),
        outliers=outliers,
        untypical=untypical,
        refunds=[line for line in lines if line.amount < 0],
        duplicates=duplicates,
    )


def _vendor_totals(lines: Sequence[Line]) -> list[VendorTotal]:
    groups: dict[tuple[str, str | None], list[Decimal]] = defaultdict(list)
    for line in lines:
        groups[line.vendor, line.currency].append(line.amount)
    totals = [VendorTotal(*key, len(amounts), total(amounts)) for key, amounts in groups.items()]
    return sorted(totals, key=lambda item: (item.currency or "", item.total.copy_negate(), item.vendor))


def _currency_totals(lines: Sequence[Line], duplicates: Sequence[Duplicate]) -> list[CurrencyTotal]:
    repeats = {line for duplicate in duplicates if duplicate.certain for line in duplicate.lines[1:]}
    groups: dict[str | None, list[Line]] = defaultdict(list)
    for line in lines:
        groups[line.currency].append(line)
    return [
        CurrencyTotal(
            currency=currency,
            rows=len(group),
            total=total(line.amount for line in group),
            refunds=total(line.amount for line in group if line.amount < 0),
            repeated=total(line.amount for line in group if line in repeats),
        )
        for currency, group in sorted(groups.items(), key=lambda item: item[0] or "")
    ]


def _outliers(lines: Sequence[Line], multiplier: Decimal) -> tuple[list[Outlier], list[str]]:
    """Refunds are compared with refunds only: with mixed signs a median says nothing about either."""
    whole: dict[tuple[str | None, bool], list[Line]] = defaultdict(list)
    groups: dict[tuple[str, str | None, bool], list[Line]] = defaultdict(list)
    for line in lines:
        whole[line.currency, line.amount < 0].append(line)
        groups[line.vendor, line.currency, line.amount < 0].append(line)
    outliers: list[Outlier] = []
    untypical: list[str] = []
    for (vendor, currency, negative), group in groups.items():
        own = len(group) >= _SMALLEST_GROUP and vendor != NO_VENDOR
        compared = group if own else whole[currency, negative]
        if len(compared) < _SMALLEST_GROUP:
            continue
        typical = _median([line.amount.copy_abs() for line in compared])
        if typical == 0:
            untypical.append(vendor)
            continue
        limit = EXACT.multiply(multiplier, typical)
        outliers += [
            Outlier(line, typical, EXACT.divide(line.amount.copy_abs(), typical), "vendor" if own else "all")
            for line in group
            if line.amount.copy_abs() > limit
        ]
    return sorted(outliers, key=lambda outlier: outlier.line.row), untypical


def _median(amounts: Iterable[Decimal]) -> Decimal:
    ordered = sorted(amounts)
    middle, odd = divmod(len(ordered), 2)
    return ordered[middle] if odd else EXACT.divide(EXACT.add(ordered[middle - 1], ordered[middle]), Decimal(2))


def _duplicates(lines: Sequence[Line]) -> Iterator[Duplicate]:
    """The same line twice is certain; another number, amount or date makes it a suspicion (it may be paid in parts).
    A refund never doubles a charge."""
    dated = [line for line in lines if line.date]
    numbered = [line for line in lines if line.number]
    for group in _groups([line for line in lines if line.date or line.number], _same_line):
        fields = ["vendor", "amount", *(["date"] if group[0].date else []), *(["number"] if group[0].number else [])]
        yield Duplicate(group, certain=True, reason=f"same {', '.join(fields[:-1])} and {fields[-1]}")
    for group in _groups(dated, lambda line: (_whose(line), line.amount, line.date)):
        if len({line.number for line in group}) > 1:
            yield Duplicate(group, certain=False, reason="same vendor, amount and date, other number")
    for group in _groups(numbered, lambda line: (_whose(line), line.number)):
        if len({(line.amount, line.date) for line in group}) > 1:
            yield Duplicate(group, certain=False, reason="same vendor and number, other amount or date")


def _whose(line: Line) -> Hashable:
    return line.vendor, line.currency, line.amount < 0


def _same_line(line: Line) -> Hashable:
    return line._replace(row=0)


def _groups(lines: Sequence[Line], key: Callable[[Line], Hashable]) -> list[tuple[Line, ...]]:
    groups: dict[Hashable, list[Line]] = defaultdict(list)
    for line in lines:
        groups[key(line)].append(line)
    return [tuple(group) for group in groups.values() if len(group) > 1]
