"""Dates as people write them."""

from __future__ import annotations

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tools.tables.dates import Order, read_date, read_serial

DAY: Order = "day first"
MONTH: Order = "month first"


@pytest.mark.parametrize(
    "text",
    [
        "2026-04-03",
        "2026-04-03T10:00:00Z",
        "2026/4/3 10:00",
        "20260403",
        "2026年4月3日",
        "2026년 4월 3일",
        "03.04.2026",
        "3.4.26",
        "3. April 2026",
        "3 avril 2026",
        "3 de abril de 2026",
        "Apr 3, 2026",
        "3rd April 2026",
        "Fri, 3 Apr 2026",
        "Freitag, 3. April 2026",
        "3-Apr-26",
        "２０２６-０４-０３",
    ],
)
def test_one_reading(text: str) -> None:
    """A date that says its order itself is the same day under both orders."""
    assert read_date(text) == {DAY: date(2026, 4, 3), MONTH: date(2026, 4, 3)}


@pytest.mark.parametrize(
    ("text", "readings"),
    [
        ("03/04/2026", {DAY: date(2026, 4, 3), MONTH: date(2026, 3, 4)}),
        ("03-04-2026", {DAY: date(2026, 4, 3), MONTH: date(2026, 3, 4)}),
        ("25/04/2026", {DAY: date(2026, 4, 25)}),
        ("04/25/2026", {MONTH: date(2026, 4, 25)}),
        ("03/04/70", {DAY: date(1970, 4, 3), MONTH: date(1970, 3, 4)}),
    ],
)
def test_day_and_month_stay_open(text: str, readings: dict[Order, date]) -> None:
    """H17: with slashes or dashes the order is open unless a number over 12 decides it."""
    assert read_date(text) == readings


@pytest.mark.parametrize(
    "text",
    [
        "",
        "17/20/2018",
        "11/10//2018",
        "31/11/2018",
        "3 MOIS",
        "43301",
        "9",
        "²/3/2026",
        "29.02.2026",
        "2026-13-01",
        "ju 3 2026",
        "0000-01-01",
        "3/4",
        "10:00",
        "9" * 100,
    ],
)
def test_no_date(text: str) -> None:
    """H14, H16: broken dates and bare numbers are no dates, and none is invented from their parts."""
    assert read_date(text) == {}


@pytest.mark.parametrize(
    ("serial", "epoch_1904", "day"),
    [
        (43301, False, date(2018, 7, 20)),
        (42912, True, date(2021, 6, 27)),
        (61, False, date(1900, 3, 1)),
        (60, False, None),
        (9, False, None),
        (80_001, False, None),
    ],
)
def test_serials(serial: int, *, epoch_1904: bool, day: date | None) -> None:
    """H13, H14: day numbers count from the workbook's epoch; up to 60 they are no date."""
    assert read_serial(serial, epoch_1904=epoch_1904) == day


@given(st.text(max_size=80))
def test_any_text_is_read_without_an_error(text: str) -> None:
    """Any text gives days or nothing."""
    assert set(read_date(text)) <= {DAY, MONTH}


@given(
    st.dates(min_value=date(1970, 1, 1), max_value=date(2068, 12, 31)),
    st.sampled_from(
        [("%d/%m/%Y", DAY), ("%m/%d/%y", MONTH), ("%d.%m.%Y", DAY), ("%Y-%m-%d", MONTH), ("%d %B %Y", DAY)]
    ),
)
def test_written_in_a_country_s_style_and_read_back(day: date, style: tuple[str, Order]) -> None:
    """Every day comes back under the order in which it was written."""
    text, order = style
    assert read_date(day.strftime(text))[order] == day
