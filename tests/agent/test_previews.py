"""Nothing that a person is asked about hides from the eye."""

from __future__ import annotations

import subprocess
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.previews import changed_cells, new_file, shorten, unified_diff, visible

LINES = st.lists(st.sampled_from(["a", "b", "c", ""]), max_size=12)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("rm -rf x\u202egpj.", "rm -rf x\\u202egpj."),
        ("pay\u200bload", "pay\\u200bload"),
        ("one\u2028two\u2029", "one\\u2028two\\u2029"),
        ("\x00\x07\x1b[2J\x7f\x9b", "\\u0000\\u0007\\u001b[2J\\u007f\\u009b"),
        ("over\rwritten", "over\\rwritten"),
        ("\ufeffmark and \u00adhyphen", "\\ufeffmark and \\u00adhyphen"),
        ("tag \U000e0041", "tag \\U000e0041"),
        ("filler \u3164 and \u115f", "filler \\u3164 and \\u115f"),
        ("alone \ud83d", "alone \\ud83d"),
        ("tab\tand\nline, é 供应商 ❤️ עברית", "tab\tand\nline, é 供应商 ❤️ עברית"),
    ],
)
def test_unseen_characters_are_shown_as_escapes(text: str, shown: str) -> None:
    """E22: direction, zero-width, control and separator characters are visible; everything readable stays."""
    assert visible(text) == shown


@given(st.text())
def test_no_unseen_character_is_left(text: str) -> None:
    """E22: whatever the text, what is shown has no control or format character but \\n and \\t."""
    left = {unicodedata.category(character) for character in visible(text).replace("\n", "").replace("\t", "")}
    assert not left & {"Cc", "Cf", "Cs", "Zl", "Zp"}


def test_shortening_says_what_is_missing_and_where_the_whole_is() -> None:
    """E22: a cut is never silent, and the result fits."""
    short = shorten("x" * 10_000, 200, "preview.txt")
    assert len(short) == 200
    assert short.endswith("\n… 10,000 characters in all, the rest is not shown here; the whole is in preview.txt.")
    assert shorten("x" * 200, 200, "preview.txt") == "x" * 200


def test_a_new_file_is_shown_with_its_size() -> None:
    """Bytes and lines come first, then the text."""
    assert new_file("a\u202e.md", "é\nb") == "New file a\\u202e.md: 4 bytes, 2 lines\n\né\nb"
    assert new_file("a.md", "").startswith("New file a.md: 0 bytes, 0 lines")
    assert new_file("a.md", "b\n").startswith("New file a.md: 2 bytes, 1 line\n")


@given(LINES, LINES, st.booleans(), st.booleans())
def test_a_diff_turns_the_old_text_into_the_new_one(
    before: list[str], after: list[str], ends_before: bool, ends_after: bool
) -> None:
    """Reading only the marks of the diff gives both texts: no line is left out and none is invented."""
    old = "\n".join(before) + "\n" * (ends_before and bool(before))
    new = "\n".join(after) + "\n" * (ends_after and bool(after))
    diff = unified_diff("f", old, new)
    if old == new:
        assert diff == "f: no change, the file already has this content."
        return
    assert applied(old, diff) == new


def applied(old: str, diff: str) -> str:
    """A small patch(1)."""
    source, result = old.splitlines(keepends=True), ""
    position, last = 0, ""
    for line in diff.split("\n")[2:]:
        if line.startswith("@@"):
            start, count = map(int, line.split()[1][1:].split(","))
            until = start - (count > 0)
            result += "".join(source[position:until])
            position = until
        elif line.startswith("\\"):
            result = result.removesuffix("\n") if last != "-" else result
        else:
            last = line[0]
            if last in " -":
                assert source[position].rstrip("\n") == line[1:]
                position += 1
            if last in " +":
                result += line[1:] + "\n"
    return result + "".join(source[position:])


def test_patch_takes_a_diff(tmp_path: Path) -> None:
    """The form is that of diff -u: the standard tool applies it."""
    old = "".join(f"line {number}\n" for number in range(100))
    new = old.replace("line 3\n", "").replace("line 50\n", "line 50\nmore\n") + "end"
    (tmp_path / "f").write_text(old)
    subprocess.run(
        ["patch", "--silent", str(tmp_path / "f")], input=unified_diff("f", old, new) + "\n", text=True, check=True
    )
    assert (tmp_path / "f").read_text() == new


def test_a_long_change_is_shown_as_a_whole() -> None:
    """The comparison is bounded; over its bound every old and every new line is shown."""
    old = "same\n" + "x\ny\n" * 2_000 + "end\n"
    new = "same\n" + "y\nx\nx\n" * 2_000 + "end\n"
    lines = unified_diff("f", old, new).split("\n")
    assert applied(old, "\n".join(lines)) == new
    assert sum(line.startswith("@@") for line in lines) == 1


def test_line_ends_show_when_they_change() -> None:
    r"""A file that is CRLF throughout is compared without the noise; a change of line ends itself is seen."""
    assert unified_diff("f", "a\r\nb\r\n", "a\r\nc\r\n").split("\n")[2:] == ["@@ -1,2 +1,2 @@", " a", "-b", "+c"]
    assert "(lines end in CRLF)" in unified_diff("f", "a\r\nb\r\n", "a\r\nc\r\n")
    assert unified_diff("f", "a\r\n", "a\n").split("\n")[3:] == ["-a\\r", "+a"]


def test_a_diff_escapes_what_hides() -> None:
    """E22: a separator that other programs take for a line end does not break a line of the diff."""
    assert unified_diff("f", "a\n", "a\u2028-b\u202e\n").split("\n")[-1] == "+a\\u2028-b\\u202e"


def test_changed_cells_are_listed_in_reading_order() -> None:
    """Sheets in their order, then rows, then columns with Z before AA; a missing cell is empty."""
    before = {("Totals", "AA2"): "1", ("Totals", "B2"): "2", ("Totals", "B10"): "same", ("Old", "A1"): "x"}
    after = {("Totals", "AA2"): "9", ("Totals", "B2"): "", ("Totals", "B10"): "same", ("New", "A1"): "a\nb\u200b"}
    assert changed_cells(before, after).split("\n") == [
        'Totals!B2: "2" → (empty)',
        'Totals!AA2: "1" → "9"',
        'Old!A1: "x" → (empty)',
        'New!A1: (empty) → "a\\nb\\u200b"',
    ]


def test_cells_over_the_limit_are_counted() -> None:
    """E22: what a list leaves out is said."""
    after = {("S", f"A{row}"): "x" for row in range(1, 31)}
    lines = changed_cells({}, after, limit=10).split("\n")
    assert lines[-2:] == ['S!A10: (empty) → "x"', "… 20 more cells change, 30 in all."]
    assert changed_cells(after, after) == "No cell changes."
