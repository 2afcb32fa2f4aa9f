"""The sheets that a call would write, as rows of texts. Pure."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from bot.api.approvals import ItemView

TOOL = "write_sheet"


@dataclass(frozen=True, kw_only=True, slots=True)
class NewSheet:
    """A sheet as it will be."""

    name: str
    rows: Sequence[Sequence[str]]


def new_sheets(item: ItemView) -> list[NewSheet]:
    """The sheets of a file that does not exist yet, every cell of them; none for anything that is not exactly that."""
    given = item.arguments.get("sheets") if isinstance(item.arguments, dict) else None
    if item.tool != TOOL or not item.preview.startswith("New file ") or not isinstance(given, list):
        return []
    return [
        NewSheet(name=str(sheet.get("name", "")), rows=[[_cell(cell) for cell in row] for row in sheet.get("rows", ())])
        for sheet in given
        if isinstance(sheet, dict)
    ]


def _cell(value: Any) -> str:
    """A cell as its sheet will show it; what is no plain value is shown as it was asked for."""
    if value is None:
        return ""
    if isinstance(value, dict) and len(value) == 1 and (kind := next(iter(value))) in {"number", "date"}:
        return str(value[kind])
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
