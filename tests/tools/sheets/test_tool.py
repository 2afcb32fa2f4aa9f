"""The tool `write_sheet` on a real workspace: previews, approved bytes, files that changed meanwhile."""

from __future__ import annotations

import hashlib
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import openpyxl
import pytest

from agent.errors import BadArguments, TargetChanged, ToolFailed
from agent.tool import Arguments, Tool, parse, schema
from tests.tools.tool_context import tool_context
from tools.processes import ProcessPool
from tools.sheets.tool import sheet_tools


@pytest.fixture
async def tool() -> AsyncIterator[Tool]:
    pool = ProcessPool(1)
    (made,) = sheet_tools(pool)
    yield made
    await pool.close()


def arguments(tool: Tool, *rows: list[Any], path: str = "reports/t.xlsx") -> Arguments:
    return parse(tool, json.dumps({"path": path, "sheets": [{"name": "Totals", "rows": rows}]}))


async def test_a_new_file(tool: Tool, tmp_path: Path) -> None:
    """The preview shows every cell and the hash; run writes those bytes and publishes the file."""
    assert tool.preview
    asked = arguments(tool, ["Vendor", "Total"], ["A\u202eB", {"number": "10.50"}])
    shown = await tool.preview(tool_context(tmp_path), asked)
    assert shown.title.startswith("Write reports/t.xlsx (Totals 2 rows, ")
    assert shown.text.splitlines()[-3:] == ["Totals: 2 rows", "Vendor | Total", "A\\u202eB | 10.50"]
    (target,) = shown.targets
    assert (target.path, target.base_sha256) == ("reports/t.xlsx", None)

    published: list[str] = []
    text = await tool.run(tool_context(tmp_path, base={"reports/t.xlsx": None}, published=published), asked)
    assert text.startswith("Wrote reports/t.xlsx: Totals 2 rows, ")
    assert published == ["reports/t.xlsx"]
    assert hashlib.sha256((tmp_path / "reports/t.xlsx").read_bytes()).hexdigest() == target.intended_sha256


async def test_an_existing_file_shows_its_changed_cells(tool: Tool, tmp_path: Path) -> None:
    """Only what differs is listed; a formula that goes away is seen as one."""
    assert tool.preview
    book = openpyxl.Workbook()
    page = book.create_sheet("Totals", 0)
    for row in (["Vendor", "Total"], ["A", 1], ["B", "=B2"]):
        page.append(row)
    book.save(tmp_path / "t.xlsx")
    asked = arguments(tool, ["Vendor", "Total"], ["A", 2], ["B", 2], path="t.xlsx")
    shown = await tool.preview(tool_context(tmp_path), asked)
    assert shown.title.startswith("Replace t.xlsx")
    assert shown.text.splitlines() == [
        "Formats, charts and comments of the present file are not kept.",
        'Totals!B2: "1" → "2"',
        'Totals!B3: "=B2" → "2"',
    ]
    assert shown.targets[0].base_sha256 == hashlib.sha256((tmp_path / "t.xlsx").read_bytes()).hexdigest()


async def test_an_existing_csv(tool: Tool, tmp_path: Path) -> None:
    """A CSV file is compared by its cells too, and guarded texts are said."""
    assert tool.preview
    (tmp_path / "t.csv").write_text("Vendor;Total\nA;1,5\n")
    shown = await tool.preview(tool_context(tmp_path), arguments(tool, ["Vendor", "Total"], ["=A", 2], path="t.csv"))
    assert shown.text.splitlines() == [
        "Cells with a leading apostrophe, so that no spreadsheet runs them: 1.",
        'CSV!A2: "A" → "\'=A"',
        'CSV!B2: "1,5" → "2"',
    ]


async def test_an_existing_file_that_is_no_sheet(tool: Tool, tmp_path: Path) -> None:
    """It can be replaced, and the preview says that nothing could be compared."""
    assert tool.preview
    (tmp_path / "t.xlsx").write_bytes(b"broken")
    shown = await tool.preview(tool_context(tmp_path), arguments(tool, ["a"], path="t.xlsx"))
    assert "replaced as a whole" in shown.text


async def test_a_file_that_changed_meanwhile_is_left_alone(tool: Tool, tmp_path: Path) -> None:
    """The write demands the content that the preview showed."""
    (tmp_path / "t.csv").write_text("new")
    with pytest.raises(TargetChanged):
        await tool.run(tool_context(tmp_path, base={"t.csv": None}), arguments(tool, ["a"], path="t.csv"))
    assert (tmp_path / "t.csv").read_text() == "new"


async def test_a_path_out_of_reach_is_refused_before_anybody_is_asked(tool: Tool, tmp_path: Path) -> None:
    """Memory has its own tool, so the preview fails already."""
    assert tool.preview
    with pytest.raises(ToolFailed):
        await tool.preview(tool_context(tmp_path), arguments(tool, ["a"], path="memory/t.csv"))


@pytest.mark.parametrize(
    "cell", [{"number": "1e5"}, {"number": "1,5"}, {"date": "2026-02-30"}, {"formula": "=1"}, [1], {"number": 5}]
)
async def test_cells_of_unknown_form_are_refused(tool: Tool, cell: Any) -> None:
    """The argument check names the cell's place."""
    with pytest.raises(BadArguments, match=r"sheets\.0\.rows\.0\.0"):
        arguments(tool, [cell])


async def test_the_schema_is_short(tool: Tool) -> None:
    """It goes along with every request to a model."""
    assert len(json.dumps(schema(tool))) <= 800
