"""What the agent remembers in a workspace: read by its members, written by admins."""

from __future__ import annotations

import hashlib
from typing import Annotated

from pydantic import Field

from agent.errors import BadInput, Conflict, NotFound, TargetChanged, ToolFailed
from agent.memory import FOLDER, MEMORY_BYTES
from agent.ports.files import WorkspaceFiles
from agent.tool import in_thread
from bot.api import audit
from bot.api.shapes import Body, Parameters, Shown, Text
from bot.api.viewer import Viewer
from bot.api.workspaces import opened
from bot.services import Services

NOTES = "MEMORY.md"


class MemoryView(Shown):
    """A memory file and the names of all of them. `sha256` null: there is none of this name yet."""

    workspace: str
    names: list[str]
    name: str
    text: str
    sha256: str | None


class MemoryQuery(Parameters):
    """Which file below `memory/`."""

    name: Text = NOTES


class MemoryText(Body):
    """The new content of a memory file. `expected_sha256` is that of the text it was made from; null: a new file."""

    name: Text = NOTES
    text: Text
    expected_sha256: Annotated[str, Field(pattern="^[0-9a-f]{64}$")] | None = None


async def read_memory(services: Services, viewer: Viewer, workspace: str, name: str = NOTES) -> MemoryView:
    """A memory file; an empty text for `MEMORY.md` when nothing is remembered yet, NotFound for any other."""
    viewer.require("memory:read")
    return await in_thread(_read, opened(services, viewer, workspace), name)


async def write_memory(services: Services, viewer: Viewer, workspace: str, new: MemoryText) -> MemoryView:
    """Replace a memory file, with a row in the audit; Conflict when it is not the expected one any more."""
    viewer.require_role("admin")
    viewer.require("memory:write")
    files = opened(services, viewer, workspace)
    await in_thread(_write, files, new)
    await audit.record(services, viewer, "memory_written", f"{workspace}:{_path(new.name)}", characters=len(new.text))
    return await in_thread(_read, files, new.name)


def _read(files: WorkspaceFiles, name: str) -> MemoryView:
    path = _path(name)
    try:
        there = files.stat(FOLDER)
        entries = files.scan(FOLDER, max_depth=1) if there and there.kind == "folder" else ()
        names = [entry.path.rpartition("/")[2] for entry in entries if entry.kind == "file"]
        content = files.read(path, limit_bytes=MEMORY_BYTES) if files.stat(path) else None
    except ToolFailed as error:
        raise BadInput(str(error), field="name") from None
    if content is None and name != NOTES:
        raise NotFound(f"There is no memory file of this name; they are: {', '.join(names) or 'none'}.")
    return MemoryView(
        workspace=files.name,
        names=[one for one in names if one.endswith(".md")],
        name=name,
        text=(content or b"").decode(errors="replace"),
        sha256=None if content is None else hashlib.sha256(content).hexdigest(),
    )


def _write(files: WorkspaceFiles, new: MemoryText) -> None:
    content = new.text.encode()
    if len(content) > MEMORY_BYTES:
        raise BadInput(f"A memory file has at most {MEMORY_BYTES:,} bytes, not {len(content):,}.", field="text")
    try:
        files.write(_path(new.name), content, expected=new.expected_sha256, area="memory")
    except TargetChanged:
        raise Conflict("The file was changed meanwhile; read it again.", code="changed") from None
    except ToolFailed as error:
        raise BadInput(str(error), field="name") from None


def _path(name: str) -> str:
    if "/" in name or "\\" in name or not name.endswith(".md"):
        raise BadInput("A memory file is named like 2026-03-02.md, without a path.", field="name")
    return f"{FOLDER}/{name}"
