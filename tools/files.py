"""The tools that list, read, write and edit text files."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from typing import Annotated

from pydantic import Field

from agent.errors import TargetChanged, ToolFailed
from agent.ports.files import FileInfo, WorkspaceFiles
from agent.previews import new_file, unified_diff, visible
from agent.tool import Arguments, Preview, Tool, ToolContext, in_thread
from tools.arguments import WorkspacePath
from tools.edits import replace_once
from tools.encoding import Text, decode
from tools.formulas import formula_warning
from tools.targets import sha256, target
from tools.workspace.paths import shown

WRITE_BYTES = 5 * 1024 * 1024
READ_BYTES = 16 * 1024 * 1024
PAGE_CHARACTERS = 15_500
"""What `read_file` shows at once: with its first line, below the 16,000 characters of a result."""

_COUNTED = 10_000
_WORKBOOK = re.compile(r".*\.xls[xm]", re.IGNORECASE | re.DOTALL)
_BINARY = re.compile(
    r".*\.(7z|bin|bmp|bz2|class|db|dll|docm?|docx|exe|gif|gz|heic|ico|jar|jpe?g|mov|mp[34]|od[pst]|parquet|pdf|png"
    r"|ppt[mx]?|rar|so|sqlite3?|tar|tgz|tiff?|wav|webp|whl|xls[bmx]?|xz|zip|zst)",
    re.IGNORECASE | re.DOTALL,
)


class ListFiles(Arguments):
    path: WorkspacePath = ""
    max_depth: Annotated[int, Field(ge=1, le=20)] = 2
    max_entries: Annotated[int, Field(ge=1, le=1000)] = 100


class ReadFile(Arguments):
    path: WorkspacePath
    offset: Annotated[int, Field(ge=0)] = 0


class WriteFile(Arguments):
    path: WorkspacePath
    content: str


class EditFile(Arguments):
    path: WorkspacePath
    old: str
    new: str


def file_tools() -> list[Tool]:
    """The four tools for text files."""
    return [
        Tool(
            name="list_files",
            description="List a folder of the workspace. Links are shown and never followed.",
            parameters=ListFiles,
            capability="file:read",
            run=list_files,
        ),
        Tool(
            name="read_file",
            description="Read a text file. A long one comes in pages; go on with the offset (in characters) it names.",
            parameters=ReadFile,
            capability="file:read",
            run=read_file,
        ),
        Tool(
            name="write_file",
            description="Make a text file or replace all of it.",
            parameters=WriteFile,
            capability="file:write",
            run=write_file,
            preview=preview_write,
            idempotent=True,
        ),
        Tool(
            name="edit_file",
            description="Replace one place of a text file. `old` must be in it exactly once; quote enough around it.",
            parameters=EditFile,
            capability="file:write",
            run=edit_file,
            preview=preview_edit,
            idempotent=True,
        ),
    ]


async def list_files(context: ToolContext, arguments: ListFiles) -> str:
    """A line for each entry, with what it is where that is not a plain file."""
    return await in_thread(_listing, context.workspace, arguments)


async def read_file(context: ToolContext, arguments: ReadFile) -> str:
    """A page of the file below a line that says which part of how much it is."""
    content = await in_thread(context.workspace.read, arguments.path, limit_bytes=READ_BYTES)
    return _page(decode(content, arguments.path), arguments)


async def preview_write(context: ToolContext, arguments: WriteFile) -> Preview:
    """The whole new file or the difference, and what a spreadsheet would make of it."""
    return await in_thread(_preview_write, context.workspace, arguments)


async def write_file(context: ToolContext, arguments: WriteFile) -> str:
    """Write exactly the content that was approved."""
    return await _store(context, arguments.path, arguments.content.encode())


async def preview_edit(context: ToolContext, arguments: EditFile) -> Preview:
    """The difference that the edit makes."""
    return await in_thread(_preview_edit, context.workspace, arguments)


async def edit_file(context: ToolContext, arguments: EditFile) -> str:
    """Make the edit on the content that was shown, and on no other."""
    before = await in_thread(context.workspace.current, arguments.path)
    if before is None or sha256(before) != context.base[arguments.path]:
        raise TargetChanged(f"{shown(arguments.path)} was changed meanwhile, so nothing was edited. Read it again.")
    _, _, after = await in_thread(_edited, before, arguments)
    return await _store(context, arguments.path, after)


async def _store(context: ToolContext, path: str, content: bytes) -> str:
    await in_thread(context.workspace.write, path, content, expected=context.base[path])
    await context.publish(path)
    return f"Wrote {path}: {len(content):,} bytes."


def _listing(workspace: WorkspaceFiles, arguments: ListFiles) -> str:
    entries = iter(workspace.scan(arguments.path, max_depth=arguments.max_depth))
    lines = [_entry(info) for info in islice(entries, arguments.max_entries)]
    more = sum(1 for _ in islice(entries, _COUNTED))
    if more:
        count = f"{more:,}" if more < _COUNTED else f"{_COUNTED:,} or"
        lines.append(f"… {count} more entries are not shown. List a folder of them, or set max_entries.")
    return "\n".join(lines) or f"{shown(arguments.path)} is empty."


def _entry(info: FileInfo) -> str:
    path = visible(info.path).replace("\n", "\\n").replace("\t", "\\t")
    match info.kind:
        case "file":
            return f"{path} ({info.size_bytes:,} bytes)"
        case "folder":
            return f"{path}/"
        case "link":
            return f"{path} (link, outside)" if info.outside else f"{path} (link, not followed)"
        case "other":
            return f"{path} (not a regular file)"


def _page(text: Text, arguments: ReadFile) -> str:
    total, offset = len(text.text), arguments.offset
    if offset and offset >= total:
        raise ToolFailed(f"{shown(arguments.path)} has {total:,} characters; there is nothing at {offset:,}.")
    page = text.text[offset : offset + PAGE_CHARACTERS]
    end = offset + len(page)
    which = "all" if len(page) == total else f"{offset:,} to {end:,} of"
    onward = f"; go on with offset {end}" if end < total else ""
    return f"{shown(arguments.path)}: {which} {total:,} characters, {text.encoding}{onward}\n\n{page}"


def _preview_write(workspace: WorkspaceFiles, arguments: WriteFile) -> Preview:
    path, content = arguments.path, arguments.content.encode()
    _refuse_unwritable(path, arguments.content, content)
    before = workspace.current(path)
    text = new_file(path, arguments.content) if before is None else "".join(_replacement(path, before, arguments))
    return Preview(
        title=f"{'Write new file' if before is None else 'Replace'} {shown(path)}",
        text=formula_warning(path, arguments.content) + text,
        targets=(target(path, before, content),),
    )


def _replacement(path: str, before: bytes, arguments: WriteFile) -> Iterator[str]:
    try:
        old = decode(before, path)
    except ToolFailed:
        yield f"This replaces a file of {len(before):,} bytes that is no text.\n\n"
        yield new_file(path, arguments.content)
        return
    if old.codec != "utf-8" or old.bom:
        yield f"The encoding changes from {old.encoding} to UTF-8.\n\n"
    yield unified_diff(path, old.text, arguments.content)


def _preview_edit(workspace: WorkspaceFiles, arguments: EditFile) -> Preview:
    path = arguments.path
    before = workspace.current(path)
    if before is None:
        raise ToolFailed(f"{shown(path)} does not exist. Make it with write_file.")
    old, new, after = _edited(before, arguments)
    return Preview(
        title=f"Edit {shown(path)}",
        text=formula_warning(path, new) + unified_diff(path, old, new),
        targets=(target(path, before, after),),
    )


def _edited(before: bytes, arguments: EditFile) -> tuple[str, str, bytes]:
    """The text before and after, and the bytes to write: only those of the place itself differ."""
    old = decode(before, arguments.path)
    if old.encode(old.text) != before:
        raise ToolFailed(f"{shown(arguments.path)} would not keep its other bytes in {old.encoding}. Use write_file.")
    new = replace_once(old.text, arguments.old, arguments.new)
    after = old.encode(new)
    _refuse_unwritable(arguments.path, arguments.new, after)
    return old.text, new, after


def _refuse_unwritable(path: str, text: str, content: bytes) -> None:
    if _BINARY.fullmatch(path):
        instead = "Use write_sheet" if _WORKBOOK.fullmatch(path) else "Choose another ending"
        raise ToolFailed(f"{shown(path)} would not be a text file. {instead}.")
    if "\0" in text:
        raise ToolFailed("The text has a NUL character in it, so the file would not be text. Send it without.")
    if len(content) > WRITE_BYTES:
        raise ToolFailed(f"{len(content):,} bytes are more than the {WRITE_BYTES:,} that can be written at once.")
