"""Previews as parts of a page: nothing of them is lost, and both sides are what they were."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from agent.previews import new_file, unified_diff, visible
from bot.web.diff import Line, shown

TEXTS = st.lists(st.sampled_from(["a", "b", "c", "-- x", "++ y", "@@ -1,1 +1,1 @@", ""]), max_size=14).map("\n".join)


def texts(lines: object) -> list[str]:
    assert isinstance(lines, list)
    return [line.text for line in lines if isinstance(line, Line)]


def test_a_changed_line_marks_its_changed_middle() -> None:
    """So that one figure in a long line is found."""
    preview = shown(unified_diff("a.md", "x\nTotal: 100 EUR\ny\n", "x\nTotal: 250 EUR\ny\n"))
    assert preview.intro == "a.md"
    same, change, after = preview.hunks[0].changes
    assert (texts(same.old), texts(after.new)) == (["x"], ["y"])
    assert (change.old[0].parts, change.new[0].parts) == (("Total: ", "10", "0 EUR"), ("Total: ", "25", "0 EUR"))
    assert (change.old[0].number, change.new[0].number) == (2, 2)


def test_lines_without_likeness_are_not_compared() -> None:
    """Marking all of both says nothing."""
    [change] = shown(unified_diff("a", "red\n", "blue sky\n")).hunks[0].changes
    assert change.old[0].parts == ("red", "", "") or change.old[0].parts == ("", "", "red")


def test_a_missing_line_end_is_told() -> None:
    """It is a change that cannot be seen."""
    [change] = shown(unified_diff("a", "x", "x\n")).hunks[0].changes
    assert texts(change.old) == ["x\n\\ No newline at end of file"]


def test_a_new_file_has_numbered_lines() -> None:
    """And its size above them, also when it looks like a difference itself."""
    preview = shown(new_file("a.diff", "--- a\n+++ b\n@@ -1,1 +1,1 @@\n-x\n+y\n"))
    assert preview.intro == "New file a.diff: 34 bytes, 5 lines"
    assert [(line.number, line.text) for line in preview.new_file][:2] == [(1, "--- a"), (2, "+++ b")]
    assert preview.hunks == ()


def test_anything_else_stays_text() -> None:
    """A preview that is not understood is shown as it is."""
    for text in ('Totals!B7: (empty) → "3"', "--- a\n+++ b\nno hunk", "--- a\n+++ b\n@@ -1,1 +1,1 @@\nwhat?"):
        assert shown(text).intro == text


@given(TEXTS, TEXTS)
def test_both_sides_can_be_read_off(before: str, after: str) -> None:
    """Every changed and unchanged line of the hunks stands on its side, in order."""
    preview = unified_diff("a.md", before, after)
    if before == after:
        return
    got = shown(preview)
    body = [line for line in preview.split("\n")[2:] if not line.startswith(("@@", "\\"))]
    old = [line[1:] for line in body if line.startswith((" ", "-"))]
    new = [line[1:] for line in body if line.startswith((" ", "+"))]

    def side(name: str) -> list[str]:
        changes = [change for hunk in got.hunks for change in hunk.changes]
        return [line.text.split("\n")[0] for change in changes for line in getattr(change, name)]

    assert (side("old"), side("new")) == (old, new)


@given(TEXTS)
def test_a_new_file_is_shown_whole(content: str) -> None:
    """Line by line."""
    got = shown(new_file("a.md", content))
    assert "\n".join(line.text for line in got.new_file) == visible(content.removesuffix("\n"))
