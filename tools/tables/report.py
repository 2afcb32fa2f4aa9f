"""The findings as text: some lines for a person, then one JSON block from which a model takes every figure."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_EVEN, Decimal
from typing import Any

from tools.tables.columns import Layout
from tools.tables.findings import CurrencyTotal, Findings
from tools.tables.headers import ROLES
from tools.tables.lines import EXACT, Line, Lines

LONGEST_RESULT = 15_000
"""Over 16,000 characters a result is cut before a model reads it, and a cut JSON block is worth nothing."""

_MOST_ENTRIES = 100
_LONGEST_TEXT = 80
_LONGEST_NOTE = 300


@dataclass(frozen=True, kw_only=True, slots=True)
class Report:
    """All that is said about one table. Amounts are decimal strings with the places that the table uses."""

    source: str
    sheet: str | None
    layout: Layout
    read: Lines
    found: Findings
    multiplier: Decimal

    def text(self) -> str:
        """Summary and JSON block; long lists are cut evenly, and `left_out` says how many entries each one lost."""
        summary = "\n".join(self._summary())
        lists = self._lists()
        most = _MOST_ENTRIES
        while True:
            facts = self._head() | {name: entries[:most] for name, entries in lists.items()}
            facts["left_out"] = {name: len(entries) - most for name, entries in lists.items() if len(entries) > most}
            text = f"{summary}\n\n```json\n{_json(facts)}\n```"
            if len(text) <= LONGEST_RESULT or most == 1:
                return text
            most = most * 2 // 3

    def _summary(self) -> Iterator[str]:
        read, found = self.read, self.found
        totals = " and ".join(f"{self._money(item.total)} {item.currency or ''}".strip() for item in found.currencies)
        where = f"{self.source}, sheet {self.sheet!r}" if self.sheet else self.source
        yield f"{where}: {read.rows} rows, {len(read.lines)} counted. Total {totals or 'unknown: no readable amount'}."
        yield (
            "Columns: "
            + ", ".join(f"{role} {_short(name)!r}" for role in ROLES if (name := self.layout.name(role)))
            + "."
        )
        certain = sum(len(duplicate.lines) - 1 for duplicate in found.duplicates if duplicate.certain)
        counts = {
            "outliers": len(found.outliers),
            "refunds": len(found.refunds),
            "rows repeated": certain,
            "possible duplicates": sum(not duplicate.certain for duplicate in found.duplicates),
            "problems": len(read.problems),
        }
        yield ", ".join(f"{count} {name}" for name, count in counts.items()) + "."
        for name, doubt in read.ambiguous:
            yield (
                f"Ambiguous: column {_short(name)!r} does not say how {_short(doubt.example)!r} is meant; "
                f"read as {doubt.reading}, could be {doubt.alternative}."
            )

    def _head(self) -> dict[str, Any]:
        return {
            "file": self.source,
            "sheet": self.sheet,
            "rows": self.read.rows,
            "counted": len(self.read.lines),
            "columns": {role: name and _short(name) for role in ROLES for name in [self.layout.name(role)]},
            "multiplier": f"{self.multiplier:f}",
        }

    def _lists(self) -> dict[str, list[Any]]:
        read, found = self.read, self.found
        vendors = sorted(found.vendors, key=lambda item: (-item.total, item.vendor))
        return {
            "totals": [
                {"vendor": _short(vendor), "currency": currency, "count": rows, "total": self._money(amount)}
                for vendor, currency, rows, amount in vendors
            ],
            "total": [self._currency_total(item) for item in found.currencies],
            "outliers": [
                self._line(outlier.line, "row", "vendor", "currency", "amount")
                | {"typical": self._money(outlier.typical), "multiplier": f"{_tenths(outlier.times):f}"}
                | {"compared_with": outlier.compared_with}
                for outlier in found.outliers
            ],
            "refunds": [self._line(line, "row", "vendor", "currency", "amount", "date") for line in found.refunds],
            "duplicates": [
                {"rows": [line.row for line in duplicate.lines]}
                | self._shared(duplicate.lines)
                | {"certain": duplicate.certain, "reason": duplicate.reason}
                for duplicate in found.duplicates
            ],
            "summary_rows": [
                {"row": row, "label": _short(label), "amount": None if amount is None else self._money(amount)}
                for row, label, amount in read.summary_rows
            ],
            "problems": [
                problem._replace(column=_short(problem.column), text=_short(problem.text))._asdict()
                for problem in read.problems
            ],
            "ambiguous": [
                {"column": _short(name), **doubt._replace(example=_short(doubt.example))._asdict()}
                for name, doubt in read.ambiguous
            ],
            "notes": [
                *(_short(note, _LONGEST_NOTE) for note in read.notes),
                *(f"Vendor {_short(name)!r} has no typical amount (median 0)." for name in found.untypical),
            ],
        }

    def _currency_total(self, item: CurrencyTotal) -> dict[str, Any]:
        return {
            "currency": item.currency,
            "count": item.rows,
            "total": self._money(item.total),
            "refunds": self._money(item.refunds),
            "repeated": self._money(item.repeated),
            "total_without_repeats": self._money(EXACT.subtract(item.total, item.repeated)),
        }

    def _line(self, line: Line, *names: str) -> dict[str, Any]:
        day = line.date.isoformat() if line.date else None
        shown = line._asdict() | {"vendor": _short(line.vendor), "amount": self._money(line.amount), "date": day}
        return {name: shown[name] for name in names}

    def _shared(self, lines: Sequence[Line]) -> dict[str, Any]:
        """What all the lines agree on; None for the rest."""
        every = [self._line(line, "vendor", "currency", "amount", "date", "number") for line in lines]
        return {name: value if all(one[name] == value for one in every) else None for name, value in every[0].items()}

    def _money(self, amount: Decimal) -> str:
        """With the decimals of the most precise line, two where money has any."""
        used = max((-_exponent(line.amount) for line in self.read.lines), default=0)
        places = max(used if used != 1 else 2, -_exponent(amount.normalize(EXACT)))
        return f"{amount.quantize(Decimal(1).scaleb(-places), context=EXACT):f}"


def _exponent(amount: Decimal) -> int:
    exponent = amount.as_tuple().exponent
    return min(exponent, 0) if isinstance(exponent, int) else 0


def _tenths(times: Decimal) -> Decimal:
    return times.quantize(Decimal("0.1"), ROUND_HALF_EVEN, context=EXACT)


def _short(text: str, longest: int = _LONGEST_TEXT) -> str:
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def _json(facts: Mapping[str, Any]) -> str:
    """A line per key, so that a person can read it too."""
    return (
        "{\n" + ",\n".join(f" {json.dumps(k)}: {json.dumps(v, ensure_ascii=False)}" for k, v in facts.items()) + "\n}"
    )
