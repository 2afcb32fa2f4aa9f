"""The findings as text: some lines for a person, then one JSON block from which a model takes every figure."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_EVEN, Decimal
from functools import cached_property
from typing import Any

from tools.tables.columns import Layout
from tools.tables.findings import CurrencyTotal, Duplicate, Findings, Outlier, VendorTotal
from tools.tables.headers import ROLES
from tools.tables.lines import EXACT, Line, Lines, Problem, SummaryRow
from tools.tables.readings import Ambiguity

LONGEST_RESULT = 15_000
"""Over 16,000 characters a result is cut before a model reads it, and a cut JSON block is worth nothing."""

_MOST_ENTRIES = 100
_MOST_ROWS = 20
_LONGEST_TEXT = 80
_LONGEST_NOTE = 300


@dataclass(frozen=True, kw_only=True)  # no slots: the places are computed once
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
            facts = self._head() | {
                name: [entry(item) for item in items[:most]] for name, (items, entry) in lists.items()
            }
            facts["left_out"] = {name: len(items) - most for name, (items, _) in lists.items() if len(items) > most}
            text = f"{summary}\n\n```json\n{_json(facts)}\n```"
            if len(text) <= LONGEST_RESULT or most == 1:
                return text
            most = most * 2 // 3

    @cached_property
    def _places(self) -> int:
        """The decimals of the most precise line, two where money has any."""
        used = max((-_exponent(line.amount) for line in self.read.lines), default=0)
        return used if used != 1 else 2

    def _summary(self) -> Iterator[str]:
        read, found = self.read, self.found
        totals = " and ".join(f"{self._money(item.total)} {item.currency or ''}".strip() for item in found.currencies)
        where = f"{self.source}, sheet {self.sheet!r}" if self.sheet else self.source
        yield f"{where}: {read.rows} rows, {len(read.lines)} counted. Total {totals or 'unknown: no readable amount'}."
        names = (f"{role} {_short(name)!r}" for role in ROLES if (name := self.layout.name(role)))
        yield f"Columns: {', '.join(names)}."
        certain = sum(len(duplicate.lines) - 1 for duplicate in found.duplicates if duplicate.certain)
        counts = {
            "outliers": len(found.outliers),
            "refunds": len(found.refunds),
            "rows repeated": certain,
            "possible duplicates": sum(not duplicate.certain for duplicate in found.duplicates),
            "problems": len(read.problems),
        }
        yield ", ".join(f"{name}: {count}" for name, count in counts.items()).capitalize() + "."
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

    def _lists(self) -> dict[str, tuple[Sequence[Any], Callable[[Any], Any]]]:
        """The lists of the JSON block: their items, and how one of them is written."""
        read, found = self.read, self.found
        untypical = [f"Vendor {_short(name)!r} has no typical amount (median 0)." for name in found.untypical]
        return {
            "totals": (found.vendors, self._vendor_total),
            "total": (found.currencies, self._currency_total),
            "outliers": (found.outliers, self._outlier),
            "refunds": (found.refunds, lambda line: self._line(line, "row", "vendor", "currency", "amount", "date")),
            "duplicates": (found.duplicates, self._duplicate),
            "summary_rows": (read.summary_rows, self._summary_row),
            "problems": (read.problems, _problem),
            "ambiguous": (read.ambiguous, _ambiguity),
            "notes": ([*read.notes, *untypical], lambda note: _short(note, _LONGEST_NOTE)),
        }

    def _vendor_total(self, item: VendorTotal) -> dict[str, Any]:
        vendor, currency, rows, amount = item
        return {"vendor": _short(vendor), "currency": currency, "count": rows, "total": self._money(amount)}

    def _currency_total(self, item: CurrencyTotal) -> dict[str, Any]:
        return {
            "currency": item.currency,
            "count": item.rows,
            "total": self._money(item.total),
            "refunds": self._money(item.refunds),
            "repeated": self._money(item.repeated),
            "total_without_repeats": self._money(EXACT.subtract(item.total, item.repeated)),
        }

    def _outlier(self, outlier: Outlier) -> dict[str, Any]:
        return {
            **self._line(outlier.line, "row", "vendor", "currency", "amount"),
            "typical": self._money(outlier.typical),
            "multiplier": f"{outlier.times.quantize(Decimal('0.1'), ROUND_HALF_EVEN, context=EXACT):f}",
            "compared_with": outlier.compared_with,
        }

    def _duplicate(self, duplicate: Duplicate) -> dict[str, Any]:
        """What all its lines agree on, None for the rest."""
        names = ("vendor", "currency", "amount", "date", "number")
        lines = [self._line(line, *names) for line in duplicate.lines]
        return {
            "rows": [line.row for line in duplicate.lines[:_MOST_ROWS]],
            "count": len(duplicate.lines),
            **{name: lines[0][name] if all(line[name] == lines[0][name] for line in lines) else None for name in names},
            "certain": duplicate.certain,
            "reason": duplicate.reason,
        }

    def _summary_row(self, item: SummaryRow) -> dict[str, Any]:
        amount = None if item.amount is None else self._money(item.amount)
        return {"row": item.row, "label": _short(item.label), "amount": amount}

    def _line(self, line: Line, *names: str) -> dict[str, Any]:
        day = line.date.isoformat() if line.date else None
        shown = line._asdict() | {"amount": self._money(line.amount), "date": day}
        shown |= {name: _short(text) for name in ("vendor", "number", "currency") if (text := shown[name])}
        return {name: shown[name] for name in names}

    def _money(self, amount: Decimal) -> str:
        places = max(self._places, -_exponent(amount.normalize(EXACT)))
        return f"{amount.quantize(Decimal(1).scaleb(-places), context=EXACT):f}"


def _problem(problem: Problem) -> dict[str, Any]:
    return problem._replace(column=_short(problem.column), text=_short(problem.text))._asdict()


def _ambiguity(item: tuple[str, Ambiguity]) -> dict[str, Any]:
    name, doubt = item
    return {"column": _short(name), **doubt._replace(example=_short(doubt.example))._asdict()}


def _exponent(amount: Decimal) -> int:
    exponent = amount.as_tuple().exponent
    return min(exponent, 0) if isinstance(exponent, int) else 0


def _short(text: str, longest: int = _LONGEST_TEXT) -> str:
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def _json(facts: Mapping[str, Any]) -> str:
    """A line per key, so that a person can read it too."""
    return (
        "{\n" + ",\n".join(f" {json.dumps(k)}: {json.dumps(v, ensure_ascii=False)}" for k, v in facts.items()) + "\n}"
    )
