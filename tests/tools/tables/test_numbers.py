"""Amounts as people write them."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tools.tables.numbers import Style, read_amount, thousands_style

POINT: Style = "decimal point"
COMMA: Style = "decimal comma"


@pytest.mark.parametrize(
    ("text", "value", "currency"),
    [
        ("-950,00 €", "-950.00", "EUR"),
        ("-1.000,00 €", "-1000.00", "EUR"),
        ("-2,40", "-2.40", None),
        ("１，２３４．５０", "1234.50", None),
        ("−5", "-5", None),
        ("(1,234.50)", "-1234.50", None),
        ("1234.50-", "-1234.50", None),
        ("12'345.60", "12345.60", None),
        ("1\u202f234,5", "1234.5", None),
        ("1 234,567", "1234.567", None),
        ("12,34,567.89", "1234567.89", None),
        ("1,234,567", "1234567", None),
        ("1.234,-", "1234.00", None),
        ("CHF 950.—", "950.00", "CHF"),
        ("-$5.00", "-5.00", "$"),
        ("US$ 5.00", "5.00", "USD"),
        ("١٢٫٥".replace("٫", "."), "12.5", None),
        ("0,123", "0.123", None),
        (".5", "0.5", None),
        ("12345678901234567890123.45", "12345678901234567890123.45", None),
    ],
)
def test_one_reading(text: str, value: str, currency: str | None) -> None:
    """H6, H7, H11: signs, groups, digits and currencies of many countries are read exactly."""
    amount = read_amount(text)
    assert amount is not None
    assert {str(reading) for reading in amount.readings.values()} == {value}
    assert amount.currency == currency


@pytest.mark.parametrize(
    "text",
    [
        "",
        "-",
        "²",
        "1²",
        "nan",
        "inf",
        "1e5",
        "1_000",
        "3%",
        "(5",
        "5)",
        "--5",
        "-(5)",
        "1.2.3",
        "1,23,4",
        "0x1",
        "5 USD EUR",
        "12 34",
        "1,234,56",
        "USD 5 EUR",
        "9" * 31,
        "1 " * 200,
        "=1+1",
        "Total",
        "1.234,50.6",
    ],
)
def test_no_amount(text: str) -> None:
    """H11: what is no number is None; it neither crashes nor becomes a number by accident."""
    assert read_amount(text) is None


def test_one_separator_and_three_digits_has_two_readings() -> None:
    """H8: `1,234` alone stays open; the thousands are what is assumed, because money rarely has three decimals."""
    amount = read_amount("1,234")
    assert amount is not None
    assert amount.readings == {POINT: Decimal(1234), COMMA: Decimal("1.234")}
    assert thousands_style(amount.readings) == POINT
    other = read_amount("-1.234")
    assert other is not None
    assert thousands_style(other.readings) == COMMA


@given(st.text(max_size=80))
def test_any_text_is_read_without_an_error(text: str) -> None:
    """Any text gives finite readings or None."""
    amount = read_amount(text)
    assert amount is None or all(value.is_finite() for value in amount.readings.values())


@given(
    st.decimals(min_value=-(10**12), max_value=10**12, places=2),
    st.sampled_from([(POINT, ",", "."), (POINT, "'", "."), (COMMA, ".", ","), (COMMA, " ", ","), (COMMA, "", ",")]),
    st.sampled_from(["{}", "{} €", "EUR {}", "€{}"]),
)
def test_written_in_a_country_s_style_and_read_back(value: Decimal, style: tuple[Style, str, str], frame: str) -> None:
    """Every amount with cents, grouped as a country does it, comes back exactly under that style."""
    name, group, mark = style
    text = f"{value:,.2f}".replace(",", "G").replace(".", mark).replace("G", group)
    amount = read_amount(frame.format(text))
    assert amount is not None
    assert amount.readings[name] == value
