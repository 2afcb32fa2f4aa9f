"""One place is replaced, exactly one, and everything else stays as it is."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.errors import ToolFailed
from tools.edits import replace_once


@pytest.mark.parametrize(
    ("text", "old", "new", "result"),
    [
        ("a\nb\n", "a\nb", "a\nc", "a\nc\n"),
        ("a\r\nb\r\n", "a\nb", "a\nc", "a\r\nc\r\n"),
        ("a\r\nb\r\n", "a\r\nb", "a\r\nc", "a\r\nc\r\n"),
        ("a\r\nb\r\n", "b", "b\nc", "a\r\nb\r\nc\r\n"),
        ("a\nb\r\nc\nd\n", "b\nc", "x\ny", "a\nx\r\ny\nd\n"),
        ("a\r\nb\r\n", "\nb", "\nc", "a\r\nc\r\n"),
        ("one", "one", "one\ntwo", "one\ntwo"),
        ("a.b (c) \\1", "a.b (c) \\1", "\\2 $& \\g<0>", "\\2 $& \\g<0>"),
        ("a\r\nb\r\n", "a\n", "", "b\r\n"),
    ],
)
def test_the_place_is_replaced_in_its_own_line_ends(text: str, old: str, new: str, result: str) -> None:
    r"""G1: \n from a model matches \r\n; the file keeps its line ends everywhere, and nothing is a pattern."""
    assert replace_once(text, old, new) == result


@pytest.mark.parametrize(
    ("text", "old", "why"),
    [
        ("x=1\n" + "y\n" * 7 + "x=1\n", "x=1", "2 times, on lines 1, 9"),
        ("a\nb\na\r\nb\r\n", "a\nb", "2 times, on lines 1, 3"),
        ("a\nb\na\r\nb\r\n", "a\r\nb", "2 times, on lines 1, 3"),
        ("aaa", "aa", "2 times, on lines 1, 1"),
        ("x\n" * 20, "x", r"20 times, on lines 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, …\."),
        ("abc", "", "old text is empty"),
        ("abc", "d", "is not in the file"),
        ("abc", "b", "the same"),
    ],
)
def test_anything_but_one_place_is_refused(text: str, old: str, why: str) -> None:
    """G3, G4, G5: twice, twice but for line ends, an empty text, an absent one and no change are refused with why."""
    with pytest.raises(ToolFailed, match=why):
        replace_once(text, old, "b")


@given(before=st.text("ab\n"), after=st.text("ab\n"), new=st.text("xyz"), crlf=st.booleans())
def test_everything_around_stays(before: str, after: str, new: str, crlf: bool) -> None:
    """Whatever stands around the place is untouched, in either kind of line end."""
    newline = "\r\n" if crlf else "\n"
    text = f"{before}|{after}".replace("\n", newline)
    assert replace_once(text, "|", new) == f"{before}{new}{after}".replace("\n", newline)
