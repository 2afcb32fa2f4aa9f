"""Dates as people write them; the order of day and month is left open when the text leaves it open."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from datetime import date, timedelta
from typing import Literal

from tools.tables.numbers import ascii_digits

Order = Literal["day first", "month first"]

LAST_UNSURE_SERIAL = 60
"""Excel believes in a 29 February 1900 (serial 60), so serials up to it mean another day elsewhere; mostly they are
house numbers: https://learn.microsoft.com/en-us/troubleshoot/microsoft-365-apps/excel/wrongly-assumes-1900-is-leap-year"""
_LAST_SERIAL = 80_000  # the year 2119
_PIVOT = 69  # POSIX strptime: 69–99 are 19xx, 00–68 are 20xx
_ORDERS: tuple[Order, ...] = ("day first", "month first")
_LONGEST = 64
_LOOK_ALIKES = str.maketrans("－‐‑–／．：，", "----/.:,")
_TIME = re.compile(
    r"(?:T|,? )\d{1,2}:\d{2}(?::\d{2}(?:[.,]\d+)?)?(?: ?[ap]\.?m\.?)?(?: ?(?:Z|UTC|[+-]\d{2}:?\d{2}))?$", re.IGNORECASE
)
_YEAR_FIRST = re.compile(r"(\d{4})([-/.]|年 ?|년 ?)(\d{1,2})(?:[-/.]|月 ?|월 ?)(\d{1,2})[日일.]?")
_COMPACT = re.compile(r"((?:19|20)\d{2})(\d{2})(\d{2})")
_NUMERIC = re.compile(r"(\d{1,2})([-/.])(\d{1,2})\2(\d{4}|\d{2})\.?")
_DAY_NAME = re.compile(r"(\d{1,2})(?:st|nd|rd|th|er|º)?[. -]*([^\W\d]{3,})\.?[, -]*(\d{4}|\d{2})")
_NAME_DAY = re.compile(r"([^\W\d]{3,})\.?[ -](\d{1,2})(?:st|nd|rd|th)?[, -]+(\d{4})")
_WEEKDAY = re.compile(r"[^\W\d]{2,}\.?, ?(?=\w)")
_MONTHS = (
    "january januar janvier enero gennaio janeiro januari",
    "february februar fevrier febrero febbraio fevereiro februari",
    "march marz maerz mars marzo marco maart mrz mrt",
    "april avril abril aprile",
    "may mai mayo maggio maio mei",
    "june juni juin junio giugno junho",
    "july juli juillet julio luglio julho",
    "august aout agosto augustus",
    "september septembre septiembre settembre setembro",
    "october oktober octobre octubre ottobre outubro",
    "november novembre noviembre novembro",
    "december dezember decembre diciembre dicembre dezembro",
)


def read_date(text: str) -> Mapping[Order, date]:
    """What a text can mean as a date under each order; equal when it says so itself, empty when it is none."""
    plain = " ".join(ascii_digits(text.translate(_LOOK_ALIKES)).split())
    if len(plain) > _LONGEST:
        return {}
    plain = _TIME.sub("", plain)
    if match := _YEAR_FIRST.fullmatch(plain):
        return _same(_day(match[1], match[3], match[4]))
    if match := _COMPACT.fullmatch(plain):
        return _same(_day(*match.groups()))
    if match := _NUMERIC.fullmatch(plain):
        return _either(*match.groups())
    return _same(_named(plain))


def read_serial(serial: int, *, epoch_1904: bool) -> date | None:
    """A spreadsheet's day number as a date, or None when it is outside what can be one."""
    if not LAST_UNSURE_SERIAL < serial <= _LAST_SERIAL:
        return None
    return (date(1904, 1, 1) if epoch_1904 else date(1899, 12, 30)) + timedelta(days=serial)


def day_first(_: Mapping[Order, date]) -> Order:
    """The order taken when nothing decides: most of the world writes the day first."""
    return "day first"


def _same(value: date | None) -> Mapping[Order, date]:
    return dict.fromkeys(_ORDERS, value) if value else {}


def _either(first: str, separator: str, second: str, year: str) -> Mapping[Order, date]:
    day_month, month_day = _day(year, second, first), _day(year, first, second)
    if separator == ".":  # nobody writes the month first with dots
        return _same(day_month)
    found: dict[Order, date | None] = {"day first": day_month, "month first": month_day}
    return {order: value for order, value in found.items() if value}


def _named(text: str) -> date | None:
    plain = "".join(char for char in unicodedata.normalize("NFKD", text.casefold()) if not unicodedata.combining(char))
    plain = _WEEKDAY.sub("", plain.replace(" de ", " "), count=1)
    if match := _DAY_NAME.fullmatch(plain):
        day, name, year = match.groups()
    elif match := _NAME_DAY.fullmatch(plain):
        name, day, year = match.groups()
    else:
        return None
    months = {number for number, names in enumerate(_MONTHS, 1) if any(word.startswith(name) for word in names.split())}
    return _day(year, str(months.pop()), day) if len(months) == 1 else None


def _day(year: str, month: str, day: str) -> date | None:
    full = int(year) if len(year) == 4 else int(year) + (1900 if int(year) >= _PIVOT else 2000)
    try:
        return date(full, int(month), int(day))
    except ValueError:
        return None
