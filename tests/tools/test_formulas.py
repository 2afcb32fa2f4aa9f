"""Cells that a spreadsheet would run are pointed out; numbers are not."""

from __future__ import annotations

import pytest

from tools.formulas import formula_warning


@pytest.mark.parametrize(
    "cell",
    ["=cmd|'/c calc'!A1", "@SUM(1)", "+1+1", "-2+3+cmd", '"\t=1"', '"\r=1"', '"=1,2"'],
)
def test_formula_cells_are_named(cell: str) -> None:
    """H20, H21: every character that starts a formula is seen, also inside quotes."""
    warning = formula_warning("out.CSV", f"vendor,amount\nA,{cell}\n")
    assert warning.startswith("Warning: a spreadsheet may run these cells as formulas:\n  row 2: ")
    assert warning.endswith("\n\n")


@pytest.mark.parametrize("cell", ["-1250.5", '"-1,234.56"', "+49", "-5 €", "a=b", "x@y.z", "'=1", ""])
def test_numbers_and_plain_text_are_not(cell: str) -> None:
    """H21: a negative number is no formula, nor is a sign in the middle of a text."""
    assert formula_warning("out.csv", f"vendor,amount\nA,{cell}\n") == ""


def test_the_reader_chooses_the_delimiter() -> None:
    """H20: what a comma file keeps in one cell, a spreadsheet set to semicolons cuts in two."""
    assert "row 1: =1+1" in formula_warning("out.csv", "a;=1+1,b\n")


def test_only_tables_are_searched_and_many_cells_are_counted() -> None:
    """A Markdown list is no formula; of many cells the first are shown and the rest counted, escapes visible."""
    assert formula_warning("notes.md", "- a\n- b\n") == ""
    warning = formula_warning("out.tsv", "".join(f"=\u202e{number}\n" for number in range(9)))
    assert warning.count("row") == 5
    assert "row 1: =\\u202e0" in warning
    assert "and 4 more" in warning
    assert "could not be searched" in formula_warning("out.csv", "x" * 200_000)
