"""The demo workspace: every figure was added up by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.tools.tables.reported import reported

DEMO = Path(__file__).parents[3] / "demo-workspace"


def demo(path: str) -> dict[str, Any]:
    return reported((DEMO / path).read_bytes(), path)


def totals(facts: dict[str, Any]) -> dict[str, tuple[int, str]]:
    return {item["vendor"]: (item["count"], item["total"]) for item in facts["totals"]}


def test_english_invoices() -> None:
    """A byte order mark, a double entry, an outlier, a credit note and a missing amount."""
    facts = demo("invoices/2026-q1.csv")
    assert totals(facts) == {
        "Harbor Print Studio": (3, "5660.50"),  # 412.00 + 388.50 + 4860.00
        "Nordlicht Energy": (3, "3745.00"),  # 1240.75 + 1198.30 + 1305.95
        "Blue Kettle Catering": (5, "1229.90"),  # 318.40 + 296.10 + 334.80 + 334.80 - 54.20
    }
    assert facts["total"] == [
        {
            "currency": "EUR",
            "count": 11,
            "total": "10635.40",
            "refunds": "-54.20",
            "repeated": "334.80",
            "total_without_repeats": "10300.60",
        }
    ]
    assert [(one["row"], one["amount"], one["typical"], one["multiplier"]) for one in facts["outliers"]] == [
        (10, "4860.00", "412.00", "11.8")
    ]
    assert [(one["rows"], one["number"], one["certain"]) for one in facts["duplicates"]] == [([7, 9], "BK-118", True)]
    assert [(one["row"], one["amount"]) for one in facts["refunds"]] == [(12, "-54.20")]
    assert [(one["row"], one["reason"]) for one in facts["problems"]] == [(13, "no amount")]


def test_german_invoices() -> None:
    """Semicolons, decimal commas, euro signs, a credit note; the file's own total is right and not counted again."""
    facts = demo("invoices/2026-q1-germany.csv")
    assert totals(facts) == {
        "Spedition Falke": (4, "3392.50"),  # 1450.00 + 1380.50 + 1512.00 - 950.00
        "Bürobedarf Lindner": (3, "273.45"),  # 86.90 + 112.35 + 74.20
    }
    assert [(item["currency"], item["total"]) for item in facts["total"]] == [("EUR", "3665.95")]
    assert facts["summary_rows"] == [{"row": 9, "label": "Summe", "amount": "3665.95"}]
    assert facts["refunds"][0]["date"] == "2026-03-31"


def test_chinese_invoices() -> None:
    """GB18030 and dates with characters."""
    facts = demo("invoices/2026-q1-china.csv")
    assert totals(facts) == {"云桥物流": (2, "2595.50"), "青禾印务": (2, "1295.80")}
    assert [(item["currency"], item["total"]) for item in facts["total"]] == [("CNY", "3891.30")]


def test_quotes() -> None:
    """The table is on the second sheet below a title; its total has a formula that was never calculated."""
    facts = demo("quotes/2026-office-move.xlsx")
    assert facts["sheet"] == "Quotes"
    assert totals(facts) == {
        "Falkner Umzüge": (1, "3150.00"),
        "Movers & Sons": (1, "2890.00"),
        "Holzwerk Anders": (1, "2045.50"),
        "Desk & Daylight": (1, "1789.90"),
    }
    assert [(item["currency"], item["total"]) for item in facts["total"]] == [("EUR", "9875.40")]
    assert facts["summary_rows"] == [{"row": 8, "label": "Total", "amount": None}]
    assert [(one["text"], one["reason"]) for one in facts["problems"]] == [
        ("=SUM(D4:D7)", "formula without stored value")
    ]
