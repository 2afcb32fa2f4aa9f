"""What came out: rows of figures, each with the goals it is held against, as a table or as JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from rich.console import Console
from rich.table import Table

Verdict = Literal["met", "met for now", "missed"]
FLOOR, DIRECT, LITELLM, NANOBOT = "floor", "Signoff", "Signoff, litellm", "nanobot"
CHATS, BOLT = "Signoff, Slack", "Bolt"
"""What the servers are called in the table."""
_WIDTH = 120
"""Of a table that goes into a file."""
_COLOURS = {"met": "green", "met for now": "yellow", "missed": "red"}


@dataclass(frozen=True, kw_only=True, slots=True)
class Check:
    """A figure and its goal: at most `goal`, or at least when `at_least`; `now` is what must hold until then."""

    figure: float
    unit: str
    goal: float
    now: float | None = None
    at_least: bool = False

    @property
    def verdict(self) -> Verdict:
        """How it did."""
        if self._holds(self.goal):
            return "met"
        return "met for now" if self.now is not None and self._holds(self.now) else "missed"

    @property
    def limit(self) -> str:
        """The goal in words."""
        sign = "≥" if self.at_least else "≤"
        until = "" if self.now is None else f" (now {sign} {self.now:g})"
        return f"{sign} {self.goal:g}{until}"

    def _holds(self, limit: float) -> bool:
        return self.figure >= limit if self.at_least else self.figure <= limit


@dataclass(frozen=True, kw_only=True, slots=True)
class Row:
    """One measure: the figure of each server, and what they are held against."""

    goal: str
    measure: str
    values: Mapping[str, float]
    checks: Sequence[Check] = ()


def table(rows: Sequence[Row], title: str) -> None:
    """Print them."""
    view = Table(title=title, title_justify="left", show_lines=True)
    view.add_column("goal", no_wrap=True)
    view.add_column("measure", min_width=16)
    view.add_column("measured", no_wrap=True)
    view.add_column("figure", justify="right", no_wrap=True)
    view.add_column("must be", no_wrap=True)
    view.add_column("", no_wrap=True)
    for row in rows:
        view.add_row(
            row.goal,
            row.measure,
            "\n".join(f"{name} {shown(value)}" for name, value in row.values.items()),
            "\n".join(f"{shown(check.figure)} {check.unit}" for check in row.checks),
            "\n".join(check.limit for check in row.checks),
            "\n".join(f"[{_COLOURS[check.verdict]}]{check.verdict}[/]" for check in row.checks),
        )
    console = Console()
    if not console.is_terminal:
        console.width = _WIDTH
    console.print(view)


def as_json(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """The rows with their verdicts."""
    return [
        {
            "goal": row.goal,
            "measure": row.measure,
            "values": dict(row.values),
            "checks": [
                {"figure": check.figure, "unit": check.unit, "limit": check.limit, "verdict": check.verdict}
                for check in row.checks
            ],
        }
        for row in rows
    ]


def shown(value: float) -> str:
    """Three digits that count, and no more."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
