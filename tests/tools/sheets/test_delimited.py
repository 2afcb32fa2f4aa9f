"""Text tables: delimiters found, records read, formulas guarded."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.errors import ToolFailed
from tools.sheets.delimited import guarded, read_delimited, read_records, write_records


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("a,b\n1,2\n", [("a", "b"), ("1", "2")]),
        ("a;b\n1,5;2,5\n", [("a", "b"), ("1,5", "2,5")]),
        ("a\tb\n1\t2\n", [("a", "b"), ("1", "2")]),
        ("a|b\r\n1|2\r\n", [("a", "b"), ("1", "2")]),
        ("one\n1,5\n", [("one",), ("1,5",)]),
        ("one\n", [("one",)]),
        ("a,b\n\n1,\n", [("a", "b"), (), ("1", None)]),
        ('a,b\n"x\ny",2\n', [("a", "b"), ("x\ny", "2")]),
        ('a,b\n"x"y,2\n', [("a", "b"), ("xy", "2")]),
        ("sep=;\na;b\n1,5;2\n", [(), ("a", "b"), ("1,5", "2")]),
        ("a,b\rc,d\r", [("a", "b"), ("c", "d")]),
        ("", []),
    ],
)
def test_records(text: str, rows: list[tuple[str | None, ...]]) -> None:
    """H4: the delimiter is the one that cuts the records evenly; a file of one column has none."""
    assert read_delimited(text.encode(), "t.csv").rows == rows


@pytest.mark.parametrize("text", ['a,b\n"x,1\ny,2\n', "a,b\n" + "x" * 200_000 + ",1\n"])
def test_unreadable_records(text: str) -> None:
    """A quote that is never closed would swallow rows, so it is refused; so is a cell without end."""
    with pytest.raises(ToolFailed, match=r"t\.csv"):
        read_delimited(text.encode(), "t.csv")


@pytest.mark.parametrize(
    "text", ["=cmd|'/c calc'!A1", "@SUM(1)", "+1+1", "\t=1", "\n=1", "-2+3+cmd", "＝1+1", "-", "=1"]
)
def test_formulas_are_guarded(text: str) -> None:
    """H20, H21: what a spreadsheet would run gets an apostrophe."""
    assert guarded(text) == f"'{text}"


@pytest.mark.parametrize("text", ["-1250.5", "-1,234.56", "+49", "-1.234,56 €", "", "A-1", "1=1", "'=1", "−5"])
def test_numbers_and_text_are_left_alone(text: str) -> None:
    """H21: a negative number stays a number."""
    assert guarded(text) == text


@given(
    st.lists(
        st.lists(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0\r"), max_size=8), max_size=4)
    )
)
def test_written_records_read_back(rows: list[list[str]]) -> None:
    """Any texts come back as they were written; carriage returns are cleaned away before."""
    assert read_records(write_records(rows).decode(), ",") == rows
