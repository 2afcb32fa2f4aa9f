"""The tool `write_sheet`: an .xlsx or .csv file of typed cells."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from pydantic import Field

from agent.errors import ToolFailed
from agent.ports.files import Processes
from agent.previews import changed_cells, visible
from agent.tool import Arguments, Preview, Tool, ToolContext, in_thread
from tools.arguments import WorkspacePath
from tools.sheets.cells import Sheet
from tools.sheets.files import Made, Texts, make, read_texts
from tools.sheets.grid import letter
from tools.targets import target


class WriteSheet(Arguments):
    path: Annotated[WorkspacePath, Field(description=".xlsx or .csv")]
    sheets: list[Sheet]


def sheet_tools(processes: Processes) -> list[Tool]:
    """The tools that write sheets; files are made and read back in `processes`."""

    async def preview(context: ToolContext, arguments: WriteSheet) -> Preview:
        path = arguments.path
        before = await in_thread(context.workspace.current, path)
        made = await processes.run(make, path, arguments.sheets)
        text = _new(path, made) if before is None else await _changes(processes, path, before, made)
        return Preview(
            title=f"{'Write' if before is None else 'Replace'} {path} ({_extent(made)}, {_bytes(made)})",
            text="\n".join([*_remarks(made), text]),
            targets=(target(path, before, made.content),),
        )

    async def run(context: ToolContext, arguments: WriteSheet) -> str:
        path = arguments.path
        made = await processes.run(make, path, arguments.sheets)
        await in_thread(context.workspace.write, path, made.content, expected=context.base[path])
        await context.publish(path)
        return " ".join([f"Wrote {path}: {_extent(made)}, {_bytes(made)}.", *_remarks(made)])

    description = (
        "Write an .xlsx or .csv (one sheet). Cells: text, number, true/false, null, "
        '{"date":"YYYY-MM-DD"} or {"number":"1234.50"} for exact decimals. The first row is the heading. No formulas.'
    )
    return [
        Tool(
            name="write_sheet",
            description=description,
            parameters=WriteSheet,
            capability="file:write",
            run=run,
            preview=preview,
            idempotent=True,
        )
    ]


async def _changes(processes: Processes, path: str, before: bytes, made: Made) -> str:
    try:
        texts: Texts = await processes.run(read_texts, path, before)
    except ToolFailed as error:
        return f"The present file is replaced as a whole; its cells cannot be compared: {visible(str(error))}"
    old, new = _by_reference(texts), _by_reference(made.texts)
    note = "" if path.lower().endswith(".csv") else "Formats, charts and comments of the present file are not kept.\n"
    return note + changed_cells(old, new, limit=len(old) + len(new))


def _new(path: str, made: Made) -> str:
    """All cells, row by row; whoever shows it cuts it to a head."""
    lines = [f"New file {_line(path)}: {_bytes(made)}"]
    for sheet, rows in made.texts.items():
        lines += ["", f"{_line(sheet)}: {_count(rows)}", *(" | ".join(map(_line, row)) for row in rows)]
    return "\n".join(lines)


def _by_reference(texts: Texts) -> dict[tuple[str, str], str]:
    return {
        (sheet, f"{letter(column)}{number}"): text
        for sheet, rows in texts.items()
        for number, row in enumerate(rows, 1)
        for column, text in enumerate(row)
        if text
    }


def _remarks(made: Made) -> list[str]:
    remarks = []
    if made.cleaned:
        remarks.append(f"Cells that lost control characters or got plain line ends: {made.cleaned}.")
    if made.guarded:
        remarks.append(f"Cells with a leading apostrophe, so that no spreadsheet runs them: {made.guarded}.")
    return remarks


def _extent(made: Made) -> str:
    return ", ".join(f"{_line(sheet)} {_count(rows)}" for sheet, rows in made.texts.items())


def _count(rows: Sequence[object]) -> str:
    return f"{len(rows):,} {'row' if len(rows) == 1 else 'rows'}"


def _bytes(made: Made) -> str:
    return f"{len(made.content):,} bytes"


def _line(text: str) -> str:
    return visible(text).replace("\n", "\\n")
