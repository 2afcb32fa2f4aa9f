"""What is remembered between conversations: two small files of the workspace, the end of them in every prompt."""

from __future__ import annotations

from datetime import date

from agent.errors import ToolFailed
from agent.ports.files import FileInfo, WorkspaceFiles

FOLDER = "memory"
MEMORY_BYTES = 1024 * 1024
"""The size up to which a memory file is written and read."""
PROMPT_BYTES = 8_192

_KEPT = 256
"""Workspaces whose text is kept; above it the oldest goes."""
_CUT = "[Older notes are left out here; read_file has all of {path}.]\n"

_Stamp = tuple[FileInfo | None, ...]


class Memory:
    """Reads the memory of workspaces; a file that did not change is not read again. Blocking: call it in a thread."""

    def __init__(self) -> None:
        self._read: dict[str, tuple[_Stamp, str]] = {}

    def text(self, workspace: WorkspaceFiles, today: date) -> str:
        """The end of MEMORY.md and of today's file, at most 8,192 bytes; empty when nothing is remembered."""
        paths = (f"{FOLDER}/MEMORY.md", f"{FOLDER}/{today.isoformat()}.md")
        stamp = tuple(workspace.stat(path) for path in paths)
        if not any(stamp):
            return ""
        known = self._read.get(workspace.root)
        if known is None or known[0] != stamp:
            notes = [_note(workspace, path) for path, found in zip(paths, stamp, strict=True) if found]
            known = stamp, tail("\n\n".join(notes), paths[0])
            self._read.pop(workspace.root, None)
            self._read[workspace.root] = known
            if len(self._read) > _KEPT:
                self._read.pop(next(iter(self._read)))
        return known[1]


def tail(text: str, path: str) -> str:
    """The last 8,192 bytes of a text from the start of a line, where there is one, and never half a character."""
    whole = text.encode()
    if len(whole) <= PROMPT_BYTES:
        return text
    note = _CUT.format(path=path)
    end = whole[len(note.encode()) - PROMPT_BYTES :].decode(errors="ignore")
    _, line_end, rest = end.partition("\n")
    return note + (rest if line_end and rest else end)


def _note(workspace: WorkspaceFiles, path: str) -> str:
    try:
        content = workspace.read(path, limit_bytes=MEMORY_BYTES)
    except ToolFailed as error:
        return f"[{path} is not here: {error}]"
    return f"[{path}]\n{content.decode(errors='replace').strip()}"
