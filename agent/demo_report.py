"""The demo model's report: the figures of analyze_table's results, as text and as cells, none of its own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

Analysis = dict[str, Any]
"""The JSON of one analyze_table result, plus `path`."""

_TOTALS_HEAD = ["File", "Vendor", "Currency", "Documents", "Total"]
_CHECK_HEAD = ["File", "Row", "What", "Vendor", "Currency", "Amount", "Why"]


def markdown(analyses: Sequence[Analysis], failures: Sequence[tuple[str, str]]) -> str:
    """The report as Markdown."""
    lines = ["# Invoice summary", "", measured(analyses), ""]
    for analysis in analyses:
        lines += [
            f"## {_plain(analysis['path'])}",
            "",
            "| Vendor | Currency | Documents | Total |",
            "|---|---|--:|--:|",
        ]
        for row in analysis["totals"]:
            cells = (row["vendor"], row["currency"] or "", row["count"], row["total"])
            lines.append("| " + " | ".join(map(_plain, cells)) + " |")
        lines.append("")
    lines += ["## To check", "", *(_bullets(analyses) or ["Nothing stands out."])]
    if failures:
        lines += ["", "## Not measured", "", *(f"- {_plain(path)}: {_plain(reason)}" for path, reason in failures)]
    return "\n".join(lines) + "\n"


def sheets(analyses: Sequence[Analysis]) -> list[dict[str, Any]]:
    """The same as sheets for write_sheet: amounts are numbers, never text."""
    totals: list[list[Any]] = [list(_TOTALS_HEAD)]
    check: list[list[Any]] = [list(_CHECK_HEAD)]
    for analysis in analyses:
        path = analysis["path"]
        totals += [
            [path, row["vendor"], row["currency"], row["count"], _number(row["total"])] for row in analysis["totals"]
        ]
        for what, row, why in _findings(analysis):
            rows = ", ".join(map(str, row["rows"])) if "rows" in row else row["row"]
            check.append([path, rows, what, row["vendor"], row["currency"], _number(row["amount"]), why])
    return [{"name": "Totals", "rows": totals}, {"name": "To check", "rows": check}]


def measured(analyses: Sequence[Analysis]) -> str:
    """What was measured, a line per file and currency."""
    lines = ["Measured:"]
    for analysis in analyses:
        sums = "; ".join(_sum(entry) for entry in analysis["total"]) or "no amounts"
        lines.append(f"- {_plain(analysis['path'])}: {analysis['counted']} of {analysis['rows']} rows, {sums}")
    return "\n".join(lines)


def stands_out(analyses: Sequence[Analysis]) -> str:
    """Outliers, repeated documents, refunds, and what could not be read."""
    bullets = _bullets(analyses)
    return "\n".join(["What stands out:", *bullets]) if bullets else "Nothing stands out."


def _bullets(analyses: Sequence[Analysis]) -> list[str]:
    lines: list[str] = []
    for analysis in analyses:
        path = _plain(analysis["path"])
        for what, row, why in _findings(analysis):
            amount = " ".join(str(part) for part in (row["amount"], row["currency"]) if part is not None)
            where = "rows " + " and ".join(map(str, row["rows"])) if "rows" in row else f"row {row['row']}"
            reason = f" ({_plain(why)})" if why else ""
            lines.append(f"- {what}: {path}, {where}: {_plain(row['vendor'])} {amount}{reason}".rstrip())
        lines += [f"- Note: {path}: {_plain(note)}" for note in _notes(analysis)]
    return lines


def _findings(analysis: Analysis) -> Iterator[tuple[str, dict[str, Any], str]]:
    """What kind, the row, and why."""
    for row in analysis["outliers"]:
        yield "Outlier", row, f"{row['multiplier']} times the typical {row['typical']}"
    for row in analysis["duplicates"]:
        yield "Repeated" if row["certain"] else "Perhaps repeated", row, row["reason"]
    for row in analysis["refunds"]:
        yield "Refund", row, ""


def _notes(analysis: Analysis) -> Iterator[str]:
    for problem in analysis["problems"]:
        yield f"row {problem['row']}, {problem['column']} {problem['text']!r}: {problem['reason']}"
    for doubt in analysis["ambiguous"]:
        yield f"{doubt['column']} is ambiguous ({doubt['example']}); read as {doubt['reading']}"
    for row in analysis["summary_rows"]:
        label = " ".join(part for part in (row["label"], row["amount"]) if part)
        yield f"row {row['row']} ({label}) is the file's own total and was not counted"
    yield from analysis["notes"]
    for what, count in analysis["left_out"].items():
        if count:
            yield f"{count} more entries of {what} are not listed here"


def _sum(entry: dict[str, Any]) -> str:
    text = f"{entry['total']} {entry['currency'] or ''}".strip()
    if entry["total_without_repeats"] != entry["total"]:
        text += f" ({entry['total_without_repeats']} without repeated documents)"
    return text


def _number(amount: str | None) -> dict[str, str] | None:
    return None if amount is None else {"number": amount}


def _plain(value: Any) -> str:
    """A vendor's name must not break out of its line or cell."""
    return " ".join(str("" if value is None else value).split()).replace("|", "\\|")
