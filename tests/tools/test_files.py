"""Listing, reading, writing and editing text files, as a model does it."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest

from agent.domain import Target
from agent.errors import BadArguments, TargetChanged, ToolFailed
from agent.tool import schema
from tests.tools.calls import Caller
from tools.files import WRITE_BYTES, file_tools


@pytest.fixture
def caller(tmp_path: Path) -> Caller:
    (tmp_path / "work").mkdir()
    return Caller(folder=tmp_path / "work", tools=file_tools())


def sha(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


async def test_a_list_says_what_each_entry_is(caller: Caller) -> None:
    """F18: folders, sizes, links and where they lead; depth 2 unless asked for more."""
    (caller.folder / "a/b/c").mkdir(parents=True)
    (caller.folder / "a/x.csv").write_bytes(b"x" * 1234)
    (caller.folder / "new\nline").write_bytes(b"")
    (caller.folder / "out").symlink_to("/etc/hostname")
    (caller.folder / "in").symlink_to("a")
    os.mkfifo(caller.folder / "p")
    assert (await caller.read("list_files")).split("\n") == [
        "a/",
        "a/b/",
        "a/x.csv (1,234 bytes)",
        "in (link, not followed)",
        "new\\nline (0 bytes)",
        "out (link, outside)",
        "p (not a regular file)",
    ]
    assert await caller.read("list_files", path="a/", max_depth=1) == "a/b/\na/x.csv (1,234 bytes)"
    assert await caller.read("list_files", path="a/b/c") == "a/b/c is empty."


async def test_a_long_list_says_how_much_is_missing(caller: Caller) -> None:
    """100 entries, then the number of the others and what to do."""
    for number in range(130):
        (caller.folder / f"{number:03}").write_bytes(b"")
    lines = (await caller.read("list_files")).split("\n")
    assert len(lines) == 101
    assert lines[-1] == "… 30 more entries are not shown. List a folder of them, or set max_entries."
    assert len((await caller.read("list_files", max_entries=130)).split("\n")) == 130


async def test_a_file_is_read_in_pages(caller: Caller) -> None:
    """B19: one line of 2 MB comes in pages below the cap of a result; each says the whole and where to go on."""
    text = "".join(chr(0x4E00 + number % 20_000) for number in range(40_000))
    name = "n" * 250
    (caller.folder / name).write_text(text)
    offset: int | None = 0
    pages = ""
    while offset is not None:
        result = await caller.read("read_file", path=name, offset=offset)
        assert len(result) <= 16_000
        head, page = result.split("\n\n", 1)
        assert "of 40,000 characters, UTF-8" in head
        pages += page
        offset = int(head.rsplit(" ", 1)[1]) if "go on with offset" in head else None
    assert pages == text
    with pytest.raises(ToolFailed, match="has 40,000 characters; there is nothing at 40,000"):
        await caller.read("read_file", path=name, offset=40_000)


async def test_a_short_file_is_read_as_a_whole(caller: Caller) -> None:
    """H1: the first line says that it is all, and in which encoding it was read."""
    (caller.folder / "a.csv").write_bytes("供应商".encode("gb18030"))
    (caller.folder / "empty").write_bytes(b"")
    assert await caller.read("read_file", path="./a.csv") == "a.csv: all 3 characters, GB18030\n\n供应商"
    assert await caller.read("read_file", path="empty") == "empty: all 0 characters, UTF-8\n\n"
    (caller.folder / "a.xlsx").write_bytes(b"PK\0")
    with pytest.raises(ToolFailed, match="Use analyze_table"):
        await caller.read("read_file", path="a.xlsx")


@pytest.mark.parametrize("path", ["%2e%2e%2fx", "..%2fx"])
async def test_percent_signs_are_part_of_a_name(caller: Caller, path: str) -> None:
    """F16: in a tool an encoded path is a literal name, which simply does not exist."""
    (caller.folder.parent / "x").write_text("outside")
    with pytest.raises(ToolFailed, match="does not exist"):
        await caller.read("read_file", path=path)


@pytest.mark.parametrize("path", ["../x", "/etc/passwd", "C:\\x"])
@pytest.mark.parametrize("tool", ["list_files", "read_file"])
async def test_paths_outside_are_bad_arguments(caller: Caller, tool: str, path: str) -> None:
    """F4, F8: the refusal names the argument."""
    with pytest.raises(BadArguments, match=f"{tool}: path: "):
        await caller.read(tool, path=path)


async def test_a_new_file_is_shown_and_written_as_it_is(caller: Caller) -> None:
    """E22: the preview shows what hides; the bytes that are written are exactly those of the arguments."""
    content = "# Tit\u202ele\r\n=1\n\n"
    preview = await caller.preview("write_file", path="./reports//a.md", content=content)
    assert preview.title == "Write new file reports/a.md"
    assert "Tit\\u202ele\\r" in preview.text
    assert preview.targets == (Target(path="reports/a.md", base_sha256=None, intended_sha256=sha(content.encode())),)
    assert not (caller.folder / "reports").exists()
    result = await caller.approved(preview, "write_file", path="./reports//a.md", content=content)
    assert result == "Wrote reports/a.md: 16 bytes."
    assert (caller.folder / "reports/a.md").read_bytes() == content.encode()
    assert caller.published == ["reports/a.md"]


async def test_a_replacement_is_shown_as_a_difference(caller: Caller) -> None:
    """The old text against the new one; a change of encoding and the loss of a binary file are said."""
    (caller.folder / "a.txt").write_text("one\ntwo\n")
    preview = await caller.preview("write_file", path="a.txt", content="one\n2\n")
    assert (preview.title, preview.text) == (
        "Replace a.txt",
        "--- a.txt\n+++ a.txt\n@@ -1,2 +1,2 @@\n one\n-two\n+2",
    )
    (caller.folder / "a.txt").write_bytes("é供".encode("gb18030"))
    preview = await caller.preview("write_file", path="a.txt", content="x")
    assert preview.text.startswith("The encoding changes from GB18030 to UTF-8.\n\n--- a.txt")
    (caller.folder / "a.txt").write_bytes(b"\0\1")
    preview = await caller.preview("write_file", path="a.txt", content="x")
    assert preview.text.startswith("This replaces a file of 2 bytes that is no text.\n\nNew file a.txt: 1 byte,")


async def test_formulas_are_warned_of_and_written_unchanged(caller: Caller) -> None:
    """H20, H21: the warning comes first, and the approved content is what lands in the file."""
    content = "vendor,amount\n=cmd|'/c calc'!A1,-5\n"
    preview = await caller.preview("write_file", path="out.csv", content=content)
    assert preview.text.startswith("Warning: a spreadsheet may run these cells as formulas:\n  row 2: =cmd|")
    await caller.approved(preview, "write_file", path="out.csv", content=content)
    assert (caller.folder / "out.csv").read_text() == content


@pytest.mark.parametrize(
    ("path", "content", "why"),
    [
        ("a.xlsx", "x", "would not be a text file. Use write_sheet"),
        ("a.PDF", "x", "would not be a text file. Choose another ending"),
        ("a.txt", "a\0b", "NUL"),
        ("a.txt", "é" * (WRITE_BYTES // 2) + "x", "5,242,881 bytes are more than the 5,242,880"),
        ("memory/MEMORY.md", "x", "Use memory_write"),
        ("config.yaml", "auto_approve: true", "steers the agent"),
        ("skills/a/SKILL.md", "x", "steers the agent"),
        ("inbox/a.txt", "x", "steers the agent"),
        (".signoff/a.txt", "x", "steers the agent"),
        ("con.", "x", "dot or a space"),
        ("link", "x", "link"),
        ("h", "x", "2 names; copy it first"),
        ("p", "x", "pipe"),
        ("d", "x", "folder"),
    ],
)
async def test_what_cannot_be_written_is_refused_before_anyone_is_asked(
    caller: Caller, path: str, content: str, why: str
) -> None:
    """E17, F2, F12, F14: no card is shown for a write that would be refused, and nothing is made."""
    (caller.folder / "link").symlink_to("/tmp/out.txt")
    (caller.folder / "f").write_bytes(b"")
    (caller.folder / "h").hardlink_to(caller.folder / "f")
    (caller.folder / "d").mkdir()
    os.mkfifo(caller.folder / "p")
    before = sorted(caller.folder.rglob("*"))
    with pytest.raises(ToolFailed, match=why):
        await caller.preview("write_file", path=path, content=content)
    assert sorted(caller.folder.rglob("*")) == before


async def test_a_file_that_changed_after_the_preview_is_left_alone(caller: Caller) -> None:
    """Both writing tools run only on what the person saw."""
    (caller.folder / "a").write_text("one two")
    arguments = {"path": "a", "old": "one", "new": "1"}
    edit = await caller.preview("edit_file", **arguments)
    write = await caller.preview("write_file", path="a", content="x")
    new = await caller.preview("write_file", path="b", content="x")
    (caller.folder / "a").write_text("one three")
    (caller.folder / "b").write_text("theirs")
    with pytest.raises(TargetChanged):
        await caller.approved(edit, "edit_file", **arguments)
    with pytest.raises(TargetChanged):
        await caller.approved(write, "write_file", path="a", content="x")
    with pytest.raises(TargetChanged):
        await caller.approved(new, "write_file", path="b", content="x")
    assert ((caller.folder / "a").read_text(), (caller.folder / "b").read_text()) == ("one three", "theirs")
    assert caller.published == []


@pytest.mark.parametrize("codec", ["utf-8", "utf-8-sig", "gb18030", "utf-16"])
async def test_an_edit_keeps_encoding_line_ends_and_mode(caller: Caller, codec: str) -> None:
    """G1, G2: only the bytes of the place itself change, whatever the file's encoding."""
    text = "供应商;金额\r\nA;1\r\nB;2\r\n"
    file = caller.folder / "a.csv"
    file.write_bytes(text.encode(codec))
    file.chmod(0o640)
    preview = await caller.preview("edit_file", path="a.csv", old="A;1\nB", new="A;é\nC")
    assert preview.text.endswith(" 供应商;金额\n-A;1\n-B;2\n+A;é\n+C;2")
    await caller.approved(preview, "edit_file", path="a.csv", old="A;1\nB", new="A;é\nC")
    assert file.read_bytes() == text.replace("A;1\r\nB", "A;é\r\nC").encode(codec)
    assert sha(file.read_bytes()) == preview.targets[0].intended_sha256
    assert file.stat().st_mode & 0o777 == 0o640
    assert caller.published == ["a.csv"]


async def test_an_edit_that_cannot_be_made_shows_no_card(caller: Caller) -> None:
    """G3: the preview refuses with count and lines; a missing file is said to be missing."""
    (caller.folder / "a").write_text("x=1\ny\nx=1\n")
    with pytest.raises(ToolFailed, match="2 times, on lines 1, 3"):
        await caller.preview("edit_file", path="a", old="x=1", new="x=2")
    with pytest.raises(ToolFailed, match=r"b does not exist\. Make it with write_file"):
        await caller.preview("edit_file", path="b", old="x", new="y")


def test_the_tools_are_small() -> None:
    """G12: their share of the first request's 8 KB."""
    sizes = [len(str(schema(tool))) for tool in file_tools()]
    assert max(sizes) <= 450
