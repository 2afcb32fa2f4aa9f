"""The tool that remembers: notes below memory/, which file tools do not touch."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator

from agent.errors import TargetChanged, ToolFailed
from agent.memory import FOLDER, MEMORY_BYTES
from agent.ports.files import WorkspaceFiles
from agent.previews import new_file, unified_diff
from agent.tool import Arguments, Preview, Tool, ToolContext, in_thread
from tools.arguments import WorkspacePath
from tools.targets import sha256, target
from tools.workspace.paths import shown


def _below_memory(path: str) -> str:
    inside = path if path.startswith(f"{FOLDER}/") else f"{FOLDER}/{path}"
    if not inside.endswith(".md"):
        raise ValueError("a memory file ends in .md")
    return inside


class MemoryWrite(Arguments):
    path: Annotated[WorkspacePath, AfterValidator(_below_memory)] = f"{FOLDER}/MEMORY.md"
    content: str
    mode: Literal["append", "replace"] = "append"


def memory_tools() -> list[Tool]:
    """The one tool that writes memory."""
    return [
        Tool(
            name="memory_write",
            description="Remember for later conversations, in a .md file below memory/ (of one day: YYYY-MM-DD.md).",
            parameters=MemoryWrite,
            capability="memory:write",
            run=write_memory,
            preview=preview_memory,
        )
    ]


async def preview_memory(context: ToolContext, arguments: MemoryWrite) -> Preview:
    """The file as it would be, as a difference."""
    return await in_thread(_preview, context.workspace, arguments)


async def write_memory(context: ToolContext, arguments: MemoryWrite) -> str:
    """Write on what the preview showed.

    Two tasks may remember at once. An append is approved as a difference from the file as it was, like every change:
    when another note came in between, TargetChanged issues the card again with the difference from the file as it is
    now, so neither note is lost and nobody's note is placed where no one looked. The same guards a replace, which
    would take the other note away.
    """
    return await in_thread(_write, context, arguments)


def _preview(workspace: WorkspaceFiles, arguments: MemoryWrite) -> Preview:
    path = arguments.path
    before = workspace.current(path, area="memory")
    after = _after(before, arguments)
    text = after.decode()
    return Preview(
        title=f"{'Remember in' if arguments.mode == 'append' else 'Replace'} {shown(path)}",
        text=new_file(path, text) if before is None else unified_diff(path, before.decode(errors="replace"), text),
        targets=(target(path, before, after),),
    )


def _write(context: ToolContext, arguments: MemoryWrite) -> str:
    path = arguments.path
    before = context.workspace.current(path, area="memory")
    if sha256(before) != context.base[path]:
        raise TargetChanged(f"{shown(path)} was changed meanwhile, so nothing was written.")
    after = _after(before, arguments)
    context.workspace.write(path, after, expected=context.base[path], area="memory")
    return f"Remembered in {path}: {len(after):,} bytes."


def _after(before: bytes | None, arguments: MemoryWrite) -> bytes:
    """The file as it will be. An appended note begins on a line of its own; what is there stays byte for byte."""
    path, note = arguments.path, arguments.content.encode()
    if not note.strip():
        raise ToolFailed("There is nothing to remember in an empty note.")
    if arguments.mode == "append" and before:
        try:
            before.decode()
        except UnicodeDecodeError:
            raise ToolFailed(f"{shown(path)} is not UTF-8 text. Replace it, or use another file.") from None
        note = before + (b"" if before.endswith(b"\n") else b"\n") + note
    after = note if note.endswith(b"\n") else note + b"\n"
    if len(after) > MEMORY_BYTES:
        raise ToolFailed(
            f"{shown(path)} would have {len(after):,} bytes, more than {MEMORY_BYTES:,}. Shorten it first."
        )
    return after
