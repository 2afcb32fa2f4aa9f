"""What the commands print: tables for people, JSON for programs."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from typing import Any

import orjson
from rich.console import Console
from rich.table import Table
from rich.text import Text

from agent.domain import Entry
from agent.previews import visible
from bot.api.decisions import told
from bot.api.shapes import Shown

Json = dict[str, Any]


def print_json(value: Any) -> None:
    """One indented JSON document."""
    print(orjson.dumps(value, option=orjson.OPT_INDENT_2).decode())


def print_table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """A table that fits the terminal; elsewhere nothing is cut. Cells are plain text, never markup."""
    width = None if sys.stdout.isatty() else 200
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in columns:
        table.add_column(column, overflow="fold")
    for row in rows:
        table.add_row(*(Text(visible(str(cell))) for cell in row))
    Console(width=width, highlight=False).print(table)


def as_json(shown: Shown) -> Json:
    """Something the API shows, as the same JSON."""
    return shown.model_dump(mode="json")


def entry_line(entry: Entry) -> str | None:
    """A row of the journal as one line of progress; None where there is nothing to see."""
    match entry.kind:
        case "assistant":
            names = ", ".join(call["name"] for call in entry.data.get("calls", ()))
            return f"→ {names}" if names else None
        case "tool":
            mark = "✓" if entry.data["status"] == "done" else "✗"
            return visible(f"{mark} {entry.data['name']}: {first_line(entry.data['text'])}")
        case "decision":
            return visible(f"• {told(entry.data)}")
        case "artifact":
            return visible(f"+ {entry.data['path']} ({entry.data['size_bytes']} bytes)")
        case "status" if entry.data.get("status") == "waiting_approval" and entry.data.get("text"):
            return visible(f"• {first_line(entry.data['text'])}")
        case _:
            return None


def first_line(text: str) -> str:
    """The beginning of a text, as far as one line shows it."""
    line = text.strip().partition("\n")[0]
    return line if len(line) <= 100 else line[:99] + "…"
