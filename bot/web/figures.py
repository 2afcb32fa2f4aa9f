"""Figures in the form in which people say them. Pure."""

from __future__ import annotations


def size(count: int) -> str:
    """Bytes as people say them."""
    amount = float(count)
    for unit in ("bytes", "KB", "MB"):
        if amount < 1000:
            return f"{count:,} {unit}" if unit == "bytes" else f"{amount:.1f} {unit}"
        amount /= 1000
    return f"{amount:.1f} GB"


def money(usd: float | None) -> str:
    """A sum that may be unknown, which is not nothing."""
    if usd is None:
        return "unknown"
    return f"${usd:,.2f}" if usd == 0 or usd >= 0.01 else "under $0.01"


def seconds(count: float | None) -> str:
    """How long something took."""
    if count is None or count < 0:
        return ""
    if count < 1:
        return f"{count * 1000:.0f} ms"
    if count < 10:
        return f"{count:.1f} s"
    return f"{count:.0f} s" if count < 120 else f"{count / 60:.0f} min"


def first_line(text: str, limit: int = 90) -> str:
    """The beginning of a text, on one line."""
    line = " ".join(text.split())
    return line if len(line) <= limit else f"{line[: limit - 1].rstrip()}…"
