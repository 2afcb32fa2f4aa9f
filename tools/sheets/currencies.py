"""Which currency a sign, a code or a cell format names."""

from __future__ import annotations

import re

_CODES = """AED ARS AUD BDT BGN BHD BRL CAD CHF CLP CNY COP CZK DKK EGP EUR GBP HKD HUF IDR ILS INR ISK JOD JPY KES KRW
KWD MAD MXN MYR NGN NOK NZD OMR PEN PHP PKR PLN QAR RON RSD RUB SAR SEK SGD THB TND TRY TWD UAH USD UYU VND ZAR"""
CODES = frozenset(_CODES.split())
# What stands for one currency only. `$`, `¥` and `kr` are shared by several and stay what they are.
SIGNS = {
    "€": "EUR", "£": "GBP", "₹": "INR", "₩": "KRW", "₽": "RUB", "₺": "TRY", "₴": "UAH", "₪": "ILS", "₫": "VND",
    "zł": "PLN", "Kč": "CZK", "Fr.": "CHF", "SFr.": "CHF", "US$": "USD", "A$": "AUD", "C$": "CAD", "HK$": "HKD",
    "NZ$": "NZD", "S$": "SGD", "NT$": "TWD", "R$": "BRL", "RMB": "CNY", "元": "CNY", "人民币": "CNY", "CN¥": "CNY",
    "円": "JPY", "JP¥": "JPY", "euro": "EUR", "euros": "EUR", "$": "$", "¥": "¥", "￥": "¥", "kr": "kr", "kr.": "kr",
}  # fmt: skip
_FOLDED = {sign.casefold(): code for sign, code in SIGNS.items()} | {code.casefold(): code for code in CODES}
PATTERN = "|".join(re.escape(sign) for sign in sorted({*SIGNS, *CODES}, key=lambda sign: (-len(sign), sign)))
_IN_TEXT = re.compile(rf"(?<!\w)({PATTERN})(?!\w)")
_IN_FORMAT = re.compile(r'\[\$([^\]-]+)(?:-[^\]]*)?\]|"([^"]*)"|([€£¥₹₩$])')


def currency_of(text: str) -> str | None:
    """The code of a sign or code that is the whole text, or None."""
    return _FOLDED.get(text.strip().casefold())


def currency_within(text: str) -> str | None:
    """The one currency a header such as `Amount (EUR)` names, or None."""
    found = {_FOLDED[match.casefold()] for match in _IN_TEXT.findall(text)}
    return found.pop() if len(found) == 1 else None


def currency_of_format(number_format: str) -> str | None:
    """The currency that a cell's own number format shows: `#,##0.00 [$€-407]`, `"USD" 0.00`."""
    for parts in _IN_FORMAT.findall(number_format):
        if found := currency_of("".join(parts)):
            return found
    return None
