"""Files are found by name and lines by content, within bounds of time and length, and nothing outside is."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.errors import ToolFailed, ToolTimeout
from agent.tool import schema
from tests.tools.calls import Caller
from tools.matching import FILE_BYTES, find_lines, find_paths, glob_parts, matches
from tools.processes import ProcessPool
from tools.search import search_tools
from tools.workspace.guard import Workspace


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "work").mkdir()
    return tmp_path / "work"


@pytest.fixture
def workspace(home: Path) -> Workspace:
    return Workspace("w", str(home))


@pytest.fixture
async def caller(home: Path) -> AsyncIterator[Caller]:
    """The tools over a real pool of processes, with less patience than usual."""
    pool = ProcessPool(1)
    yield Caller(folder=home, tools=search_tools(pool, seconds=1))
    await pool.close()


@pytest.mark.parametrize(
    ("pattern", "path", "found"),
    [
        ("*.md", "a.md", True),
        ("*.md", "x/y/a.md", True),
        ("x/*.md", "x/a.md", True),
        ("x/*.md", "x/y/a.md", False),
        ("x/**/*.md", "x/a.md", True),
        ("x/**/*.md", "x/y/z/a.md", True),
        ("**/a.md", "a.md", True),
        ("x/**", "x/y/a.md", True),
        ("x/**", "y/a.md", False),
        ("./x/a.md", "x/a.md", True),
        ("?.md", "ab.md", False),
        ("[ab].md", "b.md", True),
        ("[!ab].md", "b.md", False),
        ("A.md", "a.md", False),
        ("a+(b).md", "a+(b).md", True),
    ],
)
def test_patterns_match_as_in_a_shell(pattern: str, path: str, found: bool) -> None:
    """Stars stay in a folder, two span folders, and a pattern without a slash looks everywhere."""
    assert matches(tuple(path.split("/")), glob_parts(pattern)) is found


@given(st.lists(st.text("ab", min_size=1, max_size=3), min_size=1, max_size=4))
def test_every_path_matches_itself_and_everything(names: list[str]) -> None:
    """A literal path, `**` and `**/name` find it."""
    path = tuple(names)
    assert matches(path, glob_parts("/".join(["**", *names])))
    assert matches(path, glob_parts("**"))
    assert matches(path, glob_parts(f"**/{names[-1]}"))


@pytest.mark.parametrize("pattern", ["", "/etc/*", "../*", "a/../*", "a\\*", "."])
def test_patterns_that_mean_outside_are_refused(pattern: str, workspace: Workspace) -> None:
    """F4, F8: no pattern starts above the workspace."""
    with pytest.raises(ToolFailed, match="no pattern for this workspace"):
        find_paths(workspace, pattern)


def test_links_and_pipes_are_passed_over(workspace: Workspace, home: Path) -> None:
    """F1, F14: neither search follows a link, and a pipe blocks nobody."""
    outside = home.parent / "outside"
    outside.mkdir()
    (outside / "secret.md").write_text("needle")
    (home / "link.md").symlink_to(outside / "secret.md")
    (home / "folder").symlink_to(outside)
    os.mkfifo(home / "p.md")
    assert find_paths(workspace, "**") == "No file matches **."
    assert find_lines(workspace, "needle", "") == "No line matches needle."
    for path in ("link.md", "folder", "p.md"):
        with pytest.raises(ToolFailed):
            find_lines(workspace, "needle", path)


def test_lines_are_found_in_every_encoding(workspace: Workspace, home: Path) -> None:
    """H1: GB18030 and UTF-16 are searched as text, binary files are not; line ends do not matter."""
    (home / "a.csv").write_bytes("供应商\r\n金额 5\r\n".encode("gb18030"))
    (home / "b.txt").write_bytes("金额 6".encode("utf-16"))
    (home / "c.bin").write_bytes(b"\0" + "金额".encode())
    (home / "d.txt").write_bytes("金额 7".encode() + b"\n caf\xe9\n")
    assert find_lines(workspace, "^金额", "").split("\n") == ["a.csv:2: 金额 5", "b.txt:1: 金额 6", "d.txt:1: 金额 7"]
    assert find_lines(workspace, r"5$", "a.csv") == "a.csv:2: 金额 5"


def test_a_long_line_is_clipped_around_the_hit(workspace: Workspace, home: Path) -> None:
    """G9, B19: a bundle of one line gives a line that fits, with its length, and the hit in it."""
    (home / "bundle.js").write_text("x" * 500_000 + "needle" + "y" * 500_000)
    result = find_lines(workspace, "needle", "")
    assert "needle" in result
    assert "(1,000,006 characters)" in result
    assert len(result) < 400


def test_many_hits_are_capped_and_counted(workspace: Workspace, home: Path) -> None:
    """G9: what is not shown is counted, for both searches, and the result stays below the cap of results."""
    (home / "a.txt").write_text(f"{'needle ' * 40}\n" * 1_000)
    for number in range(300):
        (home / f"{number:0200}.md").write_bytes(b"")
    lines, paths = find_lines(workspace, "needle", ""), find_paths(workspace, "*.md")
    for result in (lines, paths):
        assert len(result) < 16_000
    shown = lines.count("a.txt:")
    assert lines.endswith(f"… {1_000 - shown} more lines match. Narrow the search.")
    assert paths.endswith(f"… {300 - paths.count('.md')} more paths match. Narrow the search.")


def test_what_was_not_searched_is_said(workspace: Workspace, home: Path) -> None:
    """A file over the limit is named instead of being silently left out."""
    (home / "huge.log").touch()
    os.truncate(home / "huge.log", FILE_BYTES + 1)
    assert find_lines(workspace, "x", "").endswith("Not searched, over 16 MiB: huge.log.")


@pytest.mark.parametrize("pattern", ["(", "[", "a{5,1}", "*"])
def test_an_invalid_expression_is_a_clear_error(pattern: str, workspace: Workspace) -> None:
    """The message says where the pattern is wrong."""
    with pytest.raises(ToolFailed, match=r"no valid regular expression: .* at position"):
        find_lines(workspace, pattern, "")


async def test_both_tools_answer_from_the_pool(caller: Caller) -> None:
    """The workspace is opened again in the child, behind the same guard."""
    (caller.folder / "a.md").write_text("one\ntwo\n")
    assert await caller.read("glob", pattern="*.md") == "a.md"
    assert await caller.read("grep", pattern="t.o") == "a.md:2: two"
    assert await caller.read("grep", pattern="t.o", path="./a.md") == "a.md:2: two"
    with pytest.raises(ToolFailed, match="nope does not exist"):
        await caller.read("grep", pattern="x", path="nope")


async def test_a_pattern_without_an_end_is_stopped(caller: Caller) -> None:
    """A regular expression that would run for years ends in an error, and the next search works."""
    (caller.folder / "a.txt").write_text("a" * 60 + "b")
    with pytest.raises(ToolTimeout, match=r"stopped after 1 seconds\. Use a simpler pattern"):
        await caller.read("grep", pattern="(a+)+$")
    assert await caller.read("grep", pattern="b$") == "a.txt:1: " + "a" * 60 + "b"


async def test_a_glob_without_an_end_is_stopped(caller: Caller) -> None:
    """The same for a shell pattern."""
    deep = caller.folder.joinpath(*["a"] * 60)
    deep.mkdir(parents=True)
    (deep / "f").touch()
    with pytest.raises(ToolTimeout):
        await caller.read("glob", pattern="**/a/" * 20 + "x")


def test_the_tools_are_small() -> None:
    """G12: their share of the first request's 8 KB."""
    assert max(len(str(schema(tool))) for tool in search_tools(ProcessPool())) <= 450
