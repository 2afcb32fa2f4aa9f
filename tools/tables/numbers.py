"""Amounts as people write them, read into exact decimals; never through a float."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from decimal import Decimal
from typing import Literal, NamedTuple

from tools.sheets.currencies import PATTERN, currency_of

Style = Literal["decimal point", "decimal comma"]

_MARKS: dict[Style, str] = {"decimal point": ".", "decimal comma": ","}
_LONGEST = 64
_MOST_DIGITS = 30
_LOOK_ALIKES = str.maketrans(
    {
        **dict.fromkeys("−－–—‐‑", "-"),
        "，": ",",
        "．": ".",
        "（": "(",
        "）": ")",
        "＋": "+",
        "’": "'",
        "＇": "'",
        "٬": "'",
    }
)
_CURRENCY = rf"(?:{PATTERN})"
_AMOUNT = re.compile(
    rf"""(?P<open>\()?[ ]?(?P<before>[-+])?[ ]?(?P<prefix>{_CURRENCY})?[ ]?(?P<inner>[-+])?[ ]?
    (?P<digits>[0-9.,'](?:[ ]?[0-9.,'])*?)(?P<no_cents>[.,]-{{1,2}})?
    [ ]?(?P<mid>[-+])?[ ]?(?P<suffix>{_CURRENCY})?[ ]?(?P<after>[-+])?[ ]?(?P<close>\))?""",
    re.VERBOSE | re.IGNORECASE,
)


class Amount(NamedTuple):
    """What a text can mean as an amount: one reading when the text says its style, two when it does not."""

    readings: Mapping[Style, Decimal]
    currency: str | None


def read_amount(text: str) -> Amount | None:
    """An amount with sign (also trailing, also in brackets), currency and groups of digits, or None."""
    plain = " ".join(ascii_digits(text.translate(_LOOK_ALIKES)).split())
    if len(plain) > _LONGEST or not (match := _AMOUNT.fullmatch(plain)):
        return None
    signs = [sign for name in ("before", "inner", "mid", "after") if (sign := match[name])]
    bracketed = bool(match["open"])
    currencies = {currency_of(sign) for name in ("prefix", "suffix") if (sign := match[name])}
    if bracketed != bool(match["close"]) or len(signs) + bracketed > 1 or len(currencies) > 1:
        return None
    digits = match["digits"] + (f"{match['no_cents'][0]}00" if match["no_cents"] else "")  # `950,-`
    readings = {style: value for style in _MARKS if (value := _digits(digits, style)) is not None}
    if bracketed or "-" in signs:  # copy_negate, because the minus operator rounds to 28 digits
        readings = {style: value.copy_negate() for style, value in readings.items()}
    return Amount(readings, currencies.pop() if currencies else None) if readings else None


def ascii_digits(text: str) -> str:
    """Decimal digits of every script as 0–9. `²` is a digit to Python's isdigit, but no decimal one, and stays."""
    return "".join(str(unicodedata.decimal(char, char)) for char in text)


def thousands_style(readings: Mapping[Style, Decimal]) -> Style:
    """The style under which a doubtful number is the larger one: money rarely has three decimals."""
    return max(readings, key=lambda style: readings[style].copy_abs(), default="decimal point")


def _digits(text: str, style: Style) -> Decimal | None:
    """Groups of three before the decimal mark (or of two before the last three, as in India), digits after it."""
    whole, mark, fraction = text.partition(_MARKS[style])
    if mark and not fraction.isdecimal():
        return None
    groups = re.split(r"[.,' ]", whole)
    if len(set(re.findall(r"[.,' ]", whole))) > 1 or (len(groups) > 1 and not _grouped(groups)):
        return None
    joined = "".join(groups)
    if not joined + fraction or len(joined + fraction) > _MOST_DIGITS:
        return None
    return Decimal(f"{joined or 0}.{fraction or 0}") if mark else Decimal(joined)


def _grouped(groups: list[str]) -> bool:
    first, *middle, last = groups
    sizes = {len(group) for group in middle}
    return len(last) == 3 and 0 < len(first) <= 3 and first[0] != "0" and (sizes <= {3} or sizes == {2})
