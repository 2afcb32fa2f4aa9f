"""memory_write keeps every note, below memory/ only, and shows what it would do."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from agent.errors import BadArguments, TargetChanged, ToolFailed
from agent.tool import normalised, parse
from tests.tools.calls import Caller
from tools.memory import memory_tools

(TOOL,) = memory_tools()


@pytest.fixture
def caller(tmp_path: Path) -> Caller:
    return Caller(folder=tmp_path, tools=memory_tools())


def remembered(caller: Caller, name: str = "MEMORY.md") -> str:
    return (caller.folder / "memory" / name).read_text()


async def test_a_note_is_shown_then_appended_on_its_own_line(caller: Caller) -> None:
    """The card has the difference; what was there stays."""
    assert "New file memory/MEMORY.md" in (await caller.preview("memory_write", content="one")).text
    await caller.change("memory_write", content="one")
    shown = await caller.preview("memory_write", content="two\n")
    assert (shown.title, shown.text.splitlines()[-2:]) == ("Remember in memory/MEMORY.md", [" one", "+two"])
    assert await caller.approved(shown, "memory_write", content="two\n") == "Remembered in memory/MEMORY.md: 8 bytes."
    assert remembered(caller) == "one\ntwo\n"


async def test_a_last_line_without_end_is_not_continued(caller: Caller) -> None:
    """A file written by hand may lack its last line end."""
    (caller.folder / "memory").mkdir()
    (caller.folder / "memory" / "MEMORY.md").write_text("one")
    await caller.change("memory_write", content="two")
    assert remembered(caller) == "one\ntwo\n"


async def test_a_file_can_be_replaced(caller: Caller) -> None:
    """So that memory can be tidied; the card shows what goes."""
    await caller.change("memory_write", content="old")
    shown = await caller.preview("memory_write", content="new", mode="replace")
    assert shown.title == "Replace memory/MEMORY.md"
    assert shown.text.splitlines()[-2:] == ["-old", "+new"]
    await caller.approved(shown, "memory_write", content="new", mode="replace")
    assert remembered(caller) == "new\n"


@pytest.mark.parametrize("mode", ["append", "replace"])
async def test_two_notes_at_once_are_both_kept(caller: Caller, mode: str) -> None:
    """J9: the second, approved on the file as it was, is not written but asked for again on the file as it is."""
    await caller.change("memory_write", content="start")
    first, second = [await caller.preview("memory_write", content=note, mode=mode) for note in "ab"]
    await caller.approved(first, "memory_write", content="a", mode="append")
    with pytest.raises(TargetChanged):
        await caller.approved(second, "memory_write", content="b", mode=mode)
    assert remembered(caller) == "start\na\n"
    await caller.change("memory_write", content="b")
    assert remembered(caller) == "start\na\nb\n"


async def test_of_notes_that_race_exactly_one_is_written_each_round(caller: Caller) -> None:
    """J9: an atomic rename is no lock; eight that check the same file at once lose no note."""
    left = [f"note {number}" for number in range(8)]
    while left:
        shown = [await caller.preview("memory_write", content=note) for note in left]
        runs = [caller.approved(one, "memory_write", content=note) for one, note in zip(shown, left, strict=True)]
        ended = await asyncio.gather(*runs, return_exceptions=True)
        assert {type(end) for end in ended} <= {str, TargetChanged}
        assert sum(isinstance(end, str) for end in ended) == 1
        left = [note for note, end in zip(left, ended, strict=True) if not isinstance(end, str)]
    assert sorted(remembered(caller).splitlines()) == [f"note {number}" for number in range(8)]


@pytest.mark.parametrize(
    ("path", "written"),
    [("MEMORY.md", "MEMORY.md"), ("memory/MEMORY.md", "MEMORY.md"), ("a/2026-03-02.md", "a/2026-03-02.md")],
)
async def test_a_path_is_below_memory(caller: Caller, path: str, written: str) -> None:
    """With or without the folder's name; the arguments that are shown and hashed have the one spelling."""
    assert (
        json.loads(normalised(parse(TOOL, json.dumps({"path": path, "content": "x"}))))["path"] == f"memory/{written}"
    )
    await caller.change("memory_write", path=path, content="x")
    assert remembered(caller, written) == "x\n"


@pytest.mark.parametrize(
    "path", ["../x.md", "/etc/x.md", "memory/../skills/a.md", "notes.txt", "memory", "", "a\\b.md"]
)
async def test_no_other_place_is_written(caller: Caller, path: str) -> None:
    """F: memory_write is no way around the rules of write_file."""
    with pytest.raises(BadArguments):
        await caller.change("memory_write", path=path, content="x")
    assert list(caller.folder.rglob("*.md")) == []


async def test_links_are_not_followed(caller: Caller, tmp_path_factory: pytest.TempPathFactory) -> None:
    """F1: a memory folder that leads elsewhere is refused before anybody is asked."""
    outside = tmp_path_factory.mktemp("outside")
    (caller.folder / "memory").symlink_to(outside)
    with pytest.raises(ToolFailed):
        await caller.preview("memory_write", content="x")
    assert list(outside.iterdir()) == []


@pytest.mark.parametrize("content", ["", " \n\t", "x" * (1024 * 1024)])
async def test_what_is_not_remembered(caller: Caller, content: str) -> None:
    """Nothing, and more than 1 MiB in one file."""
    with pytest.raises(ToolFailed):
        await caller.preview("memory_write", content=content)


async def test_a_file_that_is_no_text_is_not_appended_to(caller: Caller) -> None:
    """Its bytes would be shown wrong on the card; replacing it is possible."""
    (caller.folder / "memory").mkdir()
    (caller.folder / "memory" / "MEMORY.md").write_bytes(b"\xff\xfe")
    with pytest.raises(ToolFailed, match="not UTF-8"):
        await caller.preview("memory_write", content="x")
    await caller.change("memory_write", content="x", mode="replace")
    assert remembered(caller) == "x\n"
