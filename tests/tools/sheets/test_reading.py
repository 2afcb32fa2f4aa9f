"""XLSX files as other programs leave them, whole and broken."""

from __future__ import annotations

import zipfile
from collections.abc import Sequence
from datetime import date, datetime
from decimal import Decimal
from io import BytesIO
from typing import Any

import openpyxl
import pytest
from openpyxl.styles.numbers import BUILTIN_FORMATS
from openpyxl.utils.datetime import MAC_EPOCH

from agent.errors import ToolFailed
from tests.tools.tables.reported import reported
from tools.sheets import reading
from tools.sheets.grid import Formula, Money
from tools.sheets.reading import ExcelFile


def saved(book: Any) -> bytes:
    buffer = BytesIO()
    book.save(buffer)
    return buffer.getvalue()


def workbook(*rows: Sequence[Any], **formats: str) -> Any:
    """A book with one sheet `S`; `formats` are number formats by cell."""
    book = openpyxl.Workbook()
    sheet = book.active
    assert sheet is not None
    sheet.title = "S"
    for row in rows:
        sheet.append(list(row))
    for cell, number_format in formats.items():
        sheet[cell].number_format = number_format
    return book


def rewritten(content: bytes, name: str, change: tuple[bytes, bytes]) -> bytes:
    """The archive with a text of one entry replaced."""
    out = BytesIO()
    with zipfile.ZipFile(BytesIO(content)) as source, zipfile.ZipFile(out, "w") as target:
        for entry in source.namelist():
            old = source.read(entry)
            new = old.replace(*change) if entry == name else old
            assert entry != name or new != old
            target.writestr(entry, new)
    return out.getvalue()


def test_cells_of_every_kind() -> None:
    """Numbers are exact decimals as shown, dates are days, blank text is nothing."""
    book = workbook(
        ["text", 0.1 + 0.2, 1234.5, datetime.fromisoformat("2026-03-04T10:00"), True, "  ", 7], C1="#,##0.00"
    )
    assert ExcelFile(saved(book), "t.xlsx").grid("S").rows == [
        ("text", Decimal("0.3"), Decimal("1234.50"), date(2026, 3, 4), True, None, Decimal(7))
    ]


def test_currencies_of_cell_formats() -> None:
    """A format that names a currency makes the number money; Excel's own `$` formats follow the reader's country."""
    book = workbook([1, 2, 3, 4], A1="#,##0.00 [$€-407]", B1='"USD" 0.00', C1="$#,##0_);($#,##0)", D1="0.0")
    book["S"]["C1"].number_format = BUILTIN_FORMATS[5]
    assert ExcelFile(saved(book), "t.xlsx").grid("S").rows == [
        (Money(Decimal(1), "EUR"), Money(Decimal(2), "USD"), Decimal(3), Decimal(4))
    ]


def test_formula_without_stored_value() -> None:
    """H18: it is reported with its text, and is neither 0 nor dropped; with a stored value the value counts."""
    content = saved(workbook(["vendor", "amount"], ["A", 1], ["B", "=SUM(B2:B2)"]))
    assert ExcelFile(content, "t.xlsx").grid("S").rows[2] == ("B", Formula("=SUM(B2:B2)"))
    facts = reported(content, "t.xlsx")
    assert facts["problems"] == [
        {"row": 3, "column": "amount", "text": "=SUM(B2:B2)", "reason": "formula without stored value"}
    ]
    assert (facts["rows"], facts["counted"]) == (2, 1)
    stored = rewritten(content, "xl/worksheets/sheet1.xml", (b"</f><v />", b"</f><v>5</v>"))
    assert ExcelFile(stored, "t.xlsx").grid("S").rows[2] == ("B", Decimal(5))
    assert ExcelFile(stored, "t.xlsx").grid("S", formulas=True).rows[2] == ("B", Formula("=SUM(B2:B2)"))


def test_1904_workbook() -> None:
    """H13: day numbers count from the workbook's own epoch, formatted as a date or not."""
    book = workbook(["vendor", "date", "amount"], ["A", 42912, -1], ["A", 42912, -1], B2="yyyy-mm-dd")
    book.epoch = MAC_EPOCH
    facts = reported(saved(book), "t.xlsx")
    assert [refund["date"] for refund in facts["refunds"]] == ["2021-06-27", "2021-06-27"]


def test_small_day_numbers_are_flagged() -> None:
    """H14: days up to 60 are problems, in a date format or not; beside the date column they stay numbers."""
    rows: list[list[Any]] = [
        ["vendor", "address no", "date", "amount"],
        ["A", 9, 59, 1],
        ["A", 9, 60, 1],
        ["A", 9, 9, 1],
    ]
    facts = reported(saved(workbook(*rows, C2="yyyy-mm-dd", C3="yyyy-mm-dd")), "t.xlsx")
    assert [(problem["row"], problem["column"]) for problem in facts["problems"]] == [
        (2, "date"),
        (3, "date"),
        (4, "date"),
    ]
    assert all("60 or less" in problem["reason"] for problem in facts["problems"])
    assert facts["total"][0]["total"] == "3"


def test_a_wrong_dimension_cuts_nothing_off() -> None:
    """What a file says about its own size is not believed."""
    content = saved(workbook(["vendor", "amount"], ["A", 1]))
    lying = rewritten(content, "xl/worksheets/sheet1.xml", (b'<dimension ref="A1:B2" />', b'<dimension ref="A1" />'))
    assert ExcelFile(lying, "t.xlsx").grid("S").rows == [("vendor", "amount"), ("A", Decimal(1))]


def test_sheets() -> None:
    """The first sheet with amounts is analysed, others are named; hidden ones only on request."""
    book = workbook(["About this file"])
    hidden = book.create_sheet("Old")
    hidden.append(["vendor", "amount"])
    hidden.append(["A", 9])
    hidden.sheet_state = "hidden"
    data = book.create_sheet("Data")
    data.append(["vendor", "amount"])
    data.append(["A", 1])
    facts = reported(saved(book), "t.xlsx")
    assert (facts["sheet"], facts["total"][0]["total"]) == ("Data", "1")
    assert facts["notes"] == ["Other sheets, not counted here: 'S'."]
    with pytest.raises(ToolFailed, match="no sheet 'X'; it has 'S', 'Data'"):
        ExcelFile(saved(book), "t.xlsx").grid("X")
    assert ExcelFile(saved(book), "t.xlsx").grid("Old").rows[1] == ("A", Decimal(9))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"vendor,amount\nA,1\n", "not an XLSX file"),
        (b"", "not an XLSX file"),
        (saved(workbook(["a"]))[:-200], "not an XLSX file"),
        (b"\xd0\xcf\x11\xe0" + bytes(512), "without a password"),
    ],
)
def test_no_xlsx_file(content: bytes, message: str) -> None:
    """Text, a cut file and an encrypted or old one are refused in one sentence."""
    with pytest.raises(ToolFailed, match=message):
        ExcelFile(content, "t.xlsx")


@pytest.mark.parametrize("entry", ["xl/workbook.xml", "xl/worksheets/sheet1.xml"])
def test_broken_xml(entry: str) -> None:
    """An archive with damaged XML is no XLSX file."""
    broken = rewritten(saved(workbook(["a"])), entry, (b">", b""))
    with pytest.raises(ToolFailed, match="not an XLSX file"):
        ExcelFile(broken, "t.xlsx").grid("S")


def test_entities_are_refused() -> None:
    """XML entities, with which a small file grows without end, are not expanded."""
    bomb = b'<!DOCTYPE b [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;">]><worksheet'
    content = rewritten(saved(workbook(["a"])), "xl/worksheets/sheet1.xml", (b"<worksheet", bomb))
    with pytest.raises(ToolFailed, match="not an XLSX file"):
        ExcelFile(content, "t.xlsx").grid("S")


def test_a_bomb_is_stopped_while_it_unpacks() -> None:
    """A small file that unpacks beyond the limit is refused before anything is parsed."""
    out = BytesIO(saved(workbook(["a"])))
    with zipfile.ZipFile(out, "a", zipfile.ZIP_DEFLATED) as archive, archive.open("xl/media/big.bin", "w") as entry:
        for _ in range(reading.UNPACKED_BYTES // 2**20 + 1):
            entry.write(bytes(2**20))
    assert len(out.getvalue()) < 2**20
    with pytest.raises(ToolFailed, match="unpacks to more than 256 MiB"):
        ExcelFile(out.getvalue(), "t.xlsx")


def test_too_many_rows() -> None:
    """The limit is named, and so is what to do."""
    with pytest.raises(ToolFailed, match=r"more than 2 rows or 2,000,000 cells\. Split it"):
        ExcelFile(saved(workbook([1], [2], [3])), "t.xlsx", max_rows=2).grid("S")
