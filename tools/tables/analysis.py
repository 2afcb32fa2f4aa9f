"""A table file's bytes in, the finished report out: the function that runs in a child process."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from agent.errors import BadArguments, ToolFailed
from tools.sheets.delimited import read_delimited
from tools.sheets.grid import Grid
from tools.tables.columns import Layout, find_layout
from tools.tables.findings import find
from tools.tables.headers import Role
from tools.tables.lines import read_lines
from tools.tables.report import Report

if TYPE_CHECKING:
    from tools.sheets.reading import ExcelFile

EXCEL = frozenset({".xlsx", ".xlsm"})
TEXT = frozenset({".csv", ".tsv", ".txt"})


@dataclass(frozen=True, kw_only=True, slots=True)
class Question:
    """Which sheet and columns are meant (None: find them), and from which multiple of the median on one stands out."""

    sheet: str | None = None
    vendor: str | None = None
    amount: str | None = None
    date: str | None = None
    multiplier: Decimal = Decimal(3)

    @property
    def columns(self) -> dict[Role, str]:
        """The columns that are named."""
        named: dict[Role, str | None] = {"vendor": self.vendor, "amount": self.amount, "date": self.date}
        return {role: name for role, name in named.items() if name is not None}


def analyze(content: bytes, path: str, question: Question) -> str:
    """The report on one table; ToolFailed or BadArguments says what is wrong with the file or the question."""
    grid, layout = _open(content, path, question)
    read = read_lines(grid, layout)
    found = find(read.lines, question.multiplier)
    report = Report(
        source=path, sheet=grid.sheet, layout=layout, read=read, found=found, multiplier=question.multiplier
    )
    return report.text()


def _open(content: bytes, path: str, question: Question) -> tuple[Grid, Layout]:
    kind = PurePosixPath(path.lower()).suffix
    if kind in EXCEL:
        from tools.sheets.reading import ExcelFile  # noqa: PLC0415 - openpyxl, 0.07 s: the child pays it, not every start

        return _choose_sheet(ExcelFile(content, path), path, question)
    if kind not in TEXT:
        raise BadArguments(f"{path} is no table: analyze_table reads {', '.join(sorted(EXCEL | TEXT))}.")
    if question.sheet is not None:
        raise BadArguments(f"{path} is a text table and has no sheets. Leave `sheet` out.")
    grid = read_delimited(content, path)
    return grid, find_layout(grid.rows, question.columns, path)


def _choose_sheet(book: ExcelFile, path: str, question: Question) -> tuple[Grid, Layout]:
    """The sheet asked for, else the first one in which amounts are found: workbooks often begin with a cover sheet."""
    names = [question.sheet] if question.sheet is not None else book.names
    failure: ToolFailed | BadArguments | None = None
    for name in names:
        grid = book.grid(name)
        try:
            layout = find_layout(grid.rows, question.columns, f"{path}, sheet {name!r}")
        except (ToolFailed, BadArguments) as error:
            failure = failure or error
            continue
        others = [other for other in book.names if other != name]
        note = f"Other sheets, not counted here: {', '.join(map(repr, others))}."
        return Grid(sheet=name, rows=grid.rows, notes=(note,) * bool(others), epoch_1904=grid.epoch_1904), layout
    raise failure or ToolFailed(f"{path} has no visible sheet.")
