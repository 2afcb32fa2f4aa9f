"""What is remembered enters the prompt, bounded, and is read only when it changed."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.memory import PROMPT_BYTES, Memory, tail
from tests.agent.counted import Counted
from tools.workspace.guard import Workspace

TODAY = date(2026, 3, 2)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "memory").mkdir()
    return tmp_path / "memory"


def text(folder: Path, today: date = TODAY) -> str:
    return Memory().text(Workspace("w", str(folder.parent)), today)


def test_nothing_remembered_is_nothing(tmp_path: Path) -> None:
    """A workspace without the folder has no memory and no complaint."""
    assert text(tmp_path / "memory") == ""


def test_it_is_the_general_file_and_that_of_the_day(folder: Path) -> None:
    """Each under its path; the notes of other days stay out."""
    (folder / "MEMORY.md").write_text("Ann likes tables.\n")
    (folder / "2026-03-01.md").write_text("yesterday")
    (folder / "2026-03-02.md").write_text("today")
    assert text(folder) == "[memory/MEMORY.md]\nAnn likes tables.\n\n[memory/2026-03-02.md]\ntoday"
    assert text(folder, today=date(2026, 3, 3)) == "[memory/MEMORY.md]\nAnn likes tables."


def test_the_oldest_notes_are_left_out_and_that_is_said(folder: Path) -> None:
    """At most 8,192 bytes, from the start of a line on."""
    (folder / "MEMORY.md").write_text("".join(f"note {number}\n" for number in range(5_000)))
    shown = text(folder)
    assert 8_000 < len(shown.encode()) <= PROMPT_BYTES
    first, second, *_, last = shown.splitlines()
    assert first == "[Older notes are left out here; read_file has all of memory/MEMORY.md.]"
    assert second.startswith("note ")
    assert last == "note 4999"


def test_a_file_that_cannot_be_read_is_named(folder: Path, tmp_path: Path) -> None:
    """A link, or a file over 1 MiB, is not silently missing."""
    (tmp_path / "outside").write_text("secret")
    (folder / "MEMORY.md").symlink_to(tmp_path / "outside")
    (folder / "2026-03-02.md").write_text("x" * (1024 * 1024 + 1))
    shown = text(folder)
    assert "secret" not in shown
    assert shown.startswith("[memory/MEMORY.md is not here: memory/MEMORY.md is a link")
    assert "[memory/2026-03-02.md is not here:" in shown


def test_bytes_that_are_no_text_do_no_harm(folder: Path) -> None:
    """They are shown as U+FFFD."""
    (folder / "MEMORY.md").write_bytes(b"ok \xff")
    assert text(folder).endswith("ok �")


def test_it_is_read_again_only_when_it_changed(folder: Path) -> None:
    """A change of size or time is seen at the next request."""
    file = folder / "MEMORY.md"
    file.write_text("one")
    memory, workspace = Memory(), Counted(folder.parent)
    assert {memory.text(workspace, TODAY) for _ in range(3)} == {"[memory/MEMORY.md]\none"}
    assert workspace.reads == ["memory/MEMORY.md"]
    file.write_text("other")
    assert memory.text(workspace, TODAY) == "[memory/MEMORY.md]\nother"


@given(st.text(alphabet="aé漢😀\n", min_size=2_000, max_size=4_000).map(lambda text: text * 4))
def test_no_character_is_cut_in_two(whole: str) -> None:
    """Whatever is cut, the rest is the end of the text and within its size."""
    shown = tail(whole, "memory/MEMORY.md")
    assert len(shown.encode()) <= PROMPT_BYTES
    assert whole.endswith(shown.partition("]\n")[2] or shown)


def test_one_endless_line_is_cut_between_characters() -> None:
    """Without a line to begin at, the last characters are kept."""
    assert tail("漢" * 10_000, "memory/MEMORY.md").endswith("漢" * 2_000)
