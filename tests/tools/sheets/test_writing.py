"""Sheet files that are made: typed, safe, and the same bytes each time."""

from __future__ import annotations

import json
import zipfile
from io import BytesIO
from typing import Any

import openpyxl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.errors import BadArguments, ToolFailed
from tools.sheets.cells import Sheet
from tools.sheets.files import Made, make

FORMULAS = ["=cmd|'/c calc'!A1", "@SUM(1)", "+1+1", "\t=1", "-2+3+cmd", "=1", "#N/A", "_x0041_"]
CLEAN = st.text(
    st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="_\ufeff\ufffe\uffff"), min_size=1, max_size=8
).filter(str.strip)


def sheet(*rows: list[Any], name: str = "T") -> Sheet:
    return Sheet.model_validate_json(json.dumps({"name": name, "rows": rows}))


def made(*rows: list[Any], path: str = "t.xlsx") -> Made:
    return make(path, [sheet(*rows)])


def opened(file: Made) -> Any:
    return openpyxl.load_workbook(BytesIO(file.content))


def test_typed_cells() -> None:
    """Texts, numbers, exact decimals, booleans and days have their types in the file."""
    page = opened(made(["a", 7, 1.5, {"number": "1234.50"}, True, {"date": "2026-03-04"}, None]))["T"]
    assert [cell.data_type for cell in page[1]] == ["s", "n", "n", "n", "b", "d"]
    assert page["D1"].value == 1234.5
    assert page["D1"].number_format == "#,##0.00"
    assert page["F1"].value.date().isoformat() == "2026-03-04"


def test_the_first_row_is_a_heading() -> None:
    """It is bold and stays in sight; columns are as wide as their texts, within bounds."""
    page = opened(made(["Vendor", "x" * 200], ["供应商" * 4, 1]))["T"]
    assert page["A1"].font.bold
    assert not page["A2"].font.bold
    assert page.freeze_panes == "A2"
    assert [page.column_dimensions[column].width for column in "AB"] == [26, 60]


def test_text_never_becomes_a_formula() -> None:
    """H20: text that looks like a formula, an error or an escape is text in XLSX, also after a person edits it."""
    page = opened(made(FORMULAS))["T"]
    assert [cell.data_type for cell in page[1]] == ["s"] * len(FORMULAS)
    assert [cell.quotePrefix for cell in page[1]] == [True] * 6 + [False] * 2
    assert made(FORMULAS).texts == {"T": [FORMULAS]}


def test_csv_is_guarded_and_numbers_stay_numbers() -> None:
    """H20, H21: an apostrophe goes before formulas and not before negative numbers, typed or as text."""
    file = made(["=1+1", "-1,234.56", "-1250.5", "-2+3+cmd", {"number": "-1250.50"}, True, None], path="t.csv")
    assert file.content.decode() == "'=1+1,\"-1,234.56\",-1250.5,'-2+3+cmd,-1250.50,TRUE,\n"
    assert file.guarded == 2


def test_the_same_cells_give_the_same_bytes() -> None:
    """An approval is bound to the bytes, so neither the time nor the machine is in them."""
    file = made(["a", 1.5, {"date": "2026-03-04"}])
    assert file.content == made(["a", 1.5, {"date": "2026-03-04"}]).content
    with zipfile.ZipFile(BytesIO(file.content)) as archive:
        assert {entry.date_time for entry in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}
        assert archive.read("docProps/core.xml").count(b"1980-01-01T00:00:00Z") == 2


def test_forbidden_characters_are_cleaned_and_counted() -> None:
    """M: what XML cannot hold is taken out instead of breaking the file, and line ends become line feeds."""
    file = made(["a\x07b", "c\uffff", "d\r\ne\rf", "\ufeffg", "fine\n\t"])
    assert file.texts == {"T": [["ab", "c", "d\ne\nf", "g", "fine\n\t"]]}
    assert file.cleaned == 4


def test_binary_fractions_lose_their_noise() -> None:
    """A JSON number is written with the 15 digits that a spreadsheet keeps."""
    assert made([0.30000000000000004, 100.0, 1e20, 33.333333333333336]).texts == {
        "T": [["0.3", "100", "100000000000000000000", "33.3333333333333"]]
    }


@pytest.mark.parametrize(
    ("cell", "message"),
    [
        ({"number": "12345678901234567.89"}, "T!A1: 12345678901234567.89 has more than the 15 digits"),
        ({"number": "1" + "0" * 28 + "1"}, "T!A1: 10+1 has more than the 15 digits"),
        ("x" * 32_768, "T!A1: the text has 32,768 characters"),
        ({"date": "1899-12-31"}, "T!A1: 1899-12-31 is before 1900-03-01"),
    ],
)
def test_what_a_spreadsheet_cannot_hold(cell: Any, message: str) -> None:
    """The cell is named, nothing is cut or rounded in silence; a CSV file holds it all."""
    with pytest.raises(BadArguments, match=message):
        made([cell])
    assert made([cell], path="t.csv").content


@pytest.mark.parametrize(
    ("path", "names", "message"),
    [
        ("t.xlsx", ["a/b"], "must have 1–31 characters"),
        ("t.xlsx", [""], "must have 1–31 characters"),
        ("t.xlsx", ["x" * 32], "must have 1–31 characters"),
        ("t.xlsx", ["'a"], "must have 1–31 characters"),
        ("t.xlsx", ["a", "A"], "Two sheets are named 'a'"),
        ("t.xlsx", [], "no sheet to write"),
        ("t.csv", ["a", "b"], "holds one sheet"),
        ("t.xls", ["a"], r"writes \.xlsx and \.csv files, not 't\.xls'"),
    ],
)
def test_sheets_that_cannot_be_written(path: str, names: list[str], message: str) -> None:
    """M: a name like `a/b` is refused with the rule, before anything is made."""
    with pytest.raises(BadArguments, match=message):
        make(path, [sheet(["x"], name=name) for name in names])


def test_files_over_five_mebibytes_are_refused() -> None:
    """The size is named."""
    with pytest.raises(ToolFailed, match=r"would have 5,\d{3},\d{3} bytes, over 5,242,880"):
        made(*(["x" * 10_000] for _ in range(530)), path="t.csv")


@given(rows=st.lists(st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=8), max_size=4), max_size=4))
@pytest.mark.parametrize("path", ["t.xlsx", "t.csv"])
def test_any_text_gives_a_file_that_opens(path: str, rows: list[list[str]]) -> None:
    """Whatever a model writes, a file comes out; making it reads it back and raises when it differs."""
    assert make(path, [Sheet(name="T", rows=[list(row) for row in rows])]).content.startswith(b"PK") == (
        path == "t.xlsx"
    )


@given(rows=st.lists(st.lists(CLEAN, min_size=1, max_size=4), min_size=1, max_size=4))
def test_clean_text_reopens_equal(rows: list[list[str]]) -> None:
    """Text without forbidden characters is in the file as it was given, seen by another reader."""
    page = opened(make("t.xlsx", [Sheet(name="T", rows=[list(row) for row in rows])]))["T"]
    assert [[cell.value for cell in row if cell.value is not None] for row in page] == rows


@given(st.decimals(min_value=-(10**9), max_value=10**9, places=4))
def test_decimals_reopen_exactly(value: Any) -> None:
    """A decimal written as text comes back with the same value."""
    texts = made([{"number": f"{value:f}"}]).texts
    assert texts == {"T": [[f"{value:f}"]]}
