"""Outliers, refunds and double entries among lines."""

from __future__ import annotations

from datetime import date
from decimal import Decimal

import pytest

from tools.tables.findings import find
from tools.tables.lines import Line

DAY = date(2026, 1, 2)


def lines_of(vendor: str, *amounts: str) -> list[Line]:
    return [Line(row, vendor, "EUR", Decimal(amount), DAY, str(row)) for row, amount in enumerate(amounts, 2)]


@pytest.mark.parametrize(
    ("amounts", "rows"),
    [
        (["100", "110", "90", "5000"], [5]),
        (["-100", "-110", "-90", "-5000"], [5]),
        (["100", "110", "90", "300"], []),
        (["100", "100", "100", "300"], []),
        (["100", "100", "100", "300.01"], [5]),
        (["100", "100", "-5000"], []),
        (["1", "1000"], []),
        (["100", "100", "100", "100.0000000000000000000000000001"], []),
    ],
)
def test_outliers_are_over_three_times_the_median_size(amounts: list[str], rows: list[int]) -> None:
    """M: sizes are compared, so negative medians work; refunds are apart; two amounts have no typical one."""
    found = find(lines_of("A", *amounts), Decimal(3))
    assert [outlier.line.row for outlier in found.outliers] == rows


def test_a_zero_median_has_no_typical_amount() -> None:
    """M: with a median of 0 not everything is an outlier; the vendor is named instead."""
    found = find(lines_of("A", "0", "0", "0", "10"), Decimal(3))
    assert found.outliers == []
    assert found.untypical == ["A"]


def test_a_small_vendor_is_compared_with_all() -> None:
    """A vendor with less than three amounts has no median of its own."""
    lines = [*lines_of("A", "100", "110", "90"), Line(9, "B", "EUR", Decimal(900), DAY, None)]
    (outlier,) = find(lines, Decimal(3)).outliers
    assert (outlier.line.row, outlier.compared_with, outlier.typical) == (9, "all", Decimal(105))


def test_the_multiplier_is_the_caller_s() -> None:
    """A larger multiplier lets larger amounts pass."""
    lines = lines_of("A", "100", "110", "90", "500")
    assert len(find(lines, Decimal("4.5")).outliers) == 1
    assert find(lines, Decimal(5)).outliers == []


@pytest.mark.parametrize(
    ("second", "certain", "reason"),
    [
        ({}, [True], "same vendor, amount, date and number"),
        ({"number": "8"}, [False], "same vendor, amount and date, other number"),
        ({"amount": Decimal(9)}, [False], "same vendor and number, other amount or date"),
        ({"date": date(2026, 2, 2)}, [False], "same vendor and number, other amount or date"),
        ({"vendor": "B"}, [], ""),
        ({"currency": "USD"}, [], ""),
        ({"amount": Decimal(-10)}, [], ""),
        ({"amount": Decimal(9), "number": "8"}, [], ""),
    ],
)
def test_duplicates(second: dict[str, object], certain: list[bool], reason: str) -> None:
    """The same bill twice is certain, what differs in one point only looks like it; a refund never doubles a charge."""
    first = Line(2, "A", "EUR", Decimal(10), DAY, "7")
    found = find([first, first._replace(row=3, **second)], Decimal(3))  # type: ignore[arg-type]
    assert [duplicate.certain for duplicate in found.duplicates] == certain
    assert [duplicate.reason for duplicate in found.duplicates] == [reason] * len(certain)


def test_equal_amounts_without_date_and_number_are_no_duplicates() -> None:
    """Two payments of the same size are common."""
    line = Line(2, "A", None, Decimal(10), None, None)
    assert find([line, line._replace(row=3)], Decimal(3)).duplicates == []


def test_repeats_are_summed_apart() -> None:
    """Of three equal lines two are repeats; the total itself holds all."""
    line = Line(2, "A", "EUR", Decimal("10.50"), DAY, "7")
    found = find([line, line._replace(row=3), line._replace(row=4)], Decimal(3))
    (total,) = found.currencies
    assert (total.rows, total.total, total.repeated) == (3, Decimal("31.50"), Decimal("21.00"))
