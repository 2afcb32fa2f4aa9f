"""A sheet file's bytes made from cells, and the texts of a sheet file; runs in a child process."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from agent.errors import BadArguments, ToolFailed
from tools.sheets.cells import Content, Sheet, contents
from tools.sheets.delimited import guarded, read_delimited, read_records, write_records
from tools.sheets.grid import Row, Value, shown

LARGEST_FILE_BYTES = 5 * 1024 * 1024

Texts = Mapping[str, Sequence[Sequence[str]]]
"""Cells as texts, by sheet and row; a text table has one sheet, `CSV`."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Made:
    """A file that was made and read back. `texts` is what a reader finds; `cleaned` counts cells that lost characters
    no file can hold, `guarded` those that got an apostrophe so that no spreadsheet runs them."""

    content: bytes
    texts: Texts
    cleaned: int
    guarded: int = 0


def make(path: str, sheets: Sequence[Sheet]) -> Made:
    """The file for a path, by its ending. BadArguments names what cannot be written, ToolFailed is for over 5 MiB."""
    wanted = contents(sheets)
    kind = PurePosixPath(path.lower()).suffix
    if kind == ".xlsx":
        made = _make_workbook(path, wanted)
    elif kind != ".csv":
        raise BadArguments(f"write_sheet writes .xlsx and .csv files, not {path!r}.")
    elif len(wanted) > 1:
        raise BadArguments("A CSV file holds one sheet. Write .xlsx, or one file per sheet.")
    else:
        made = _make_text(path, wanted[0])
    if len(made.content) > LARGEST_FILE_BYTES:
        raise ToolFailed(f"{path} would have {len(made.content):,} bytes, over {LARGEST_FILE_BYTES:,}. Split it.")
    return made


def read_texts(path: str, content: bytes) -> Texts:
    """The texts of a file that is about to be replaced, formulas as such; ToolFailed when it is no sheet file."""
    if path.lower().endswith(".xlsx"):
        from tools.sheets.reading import ExcelFile  # noqa: PLC0415 - openpyxl, 0.07 s: the child pays it, not every start

        book = ExcelFile(content, path)
        return {name: _texts(book.grid(name, formulas=True).rows) for name in book.names}
    return {"CSV": _texts(read_delimited(content, path).rows)}


def _make_workbook(path: str, wanted: Sequence[Content]) -> Made:
    from tools.sheets.reading import ExcelFile  # noqa: PLC0415 - see read_texts
    from tools.sheets.writing import write_workbook  # noqa: PLC0415

    content = write_workbook(wanted)
    book = ExcelFile(content, path)
    found = {sheet.name: book.grid(sheet.name, formulas=True).rows for sheet in wanted}
    for sheet in wanted:
        if _filled(found[sheet.name]) != _filled(sheet.rows):
            raise ToolFailed(f"{path} was made, but sheet {sheet.name!r} does not read back as it was written.")
    texts = {name: _texts(rows) for name, rows in found.items()}
    return Made(content=content, texts=texts, cleaned=sum(sheet.cleaned for sheet in wanted))


def _make_text(path: str, wanted: Content) -> Made:
    plain = _texts(wanted.rows)
    texts = [
        [guarded(text) if isinstance(cell, str) else text for cell, text in zip(row, line, strict=True)]
        for row, line in zip(wanted.rows, plain, strict=True)
    ]
    content = write_records(texts)
    if read_records(content.decode(), ",") != texts:
        raise ToolFailed(f"{path} was made, but does not read back as it was written.")
    changed = sum(
        text != line for row, lines in zip(plain, texts, strict=True) for text, line in zip(row, lines, strict=True)
    )
    return Made(content=content, texts={"CSV": texts}, cleaned=wanted.cleaned, guarded=changed)


def _texts(rows: Iterable[Row]) -> list[list[str]]:
    return [[shown(value) for value in row] for row in rows]


def _filled(rows: Iterable[Row]) -> dict[tuple[int, int], Value]:
    """Cells by position, without those that a person sees as empty."""
    cells = {(number, column): value for number, row in enumerate(rows) for column, value in enumerate(row)}
    return {position: value for position, value in cells.items() if shown(value).strip()}
