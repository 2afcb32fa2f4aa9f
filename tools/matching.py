"""Finds files by name and lines by content; runs in a child process, because a pattern can take for ever."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

from agent.errors import ToolFailed
from agent.ports.files import FileInfo, WorkspaceFiles
from agent.previews import visible
from tools.encoding import decode, is_binary
from tools.workspace.paths import Parts, shown

SHOWN = 100
FILE_BYTES = 16 * 1024 * 1024
LINE_CHARACTERS = 240
RESULT_CHARACTERS = 12_000


@dataclass(kw_only=True, slots=True)
class _Found:
    """What a search has found so far, and what it had to leave out."""

    lines: list[str] = field(default_factory=list)
    characters: int = 0
    unshown: int = 0
    too_large: list[str] = field(default_factory=list)

    def add(self, line: str) -> None:
        if len(self.lines) < SHOWN and self.characters + len(line) <= RESULT_CHARACTERS:
            self.lines.append(line)
            self.characters += len(line) + 1
        else:
            self.unshown += 1


def find_paths(workspace: WorkspaceFiles, pattern: str) -> str:
    """The files whose paths match, a line each."""
    wanted = glob_parts(pattern)
    found = _Found()
    for info in workspace.scan():
        if info.kind == "file" and matches(tuple(info.path.split("/")), wanted):
            found.add(_one_line(info.path))
    return "\n".join(found.lines) + _rest(found, "paths") if found.lines else f"No file matches {shown(pattern)}."


def find_lines(workspace: WorkspaceFiles, pattern: str, path: str) -> str:
    """The lines that match, as `path:number: text`; of a long line what is around the hit."""
    try:
        expression = re.compile(pattern)
    except (re.error, OverflowError, RecursionError) as error:
        raise ToolFailed(f"The pattern is no valid regular expression: {error}. Correct it.") from None
    found = _Found()
    for info in _files(workspace, path):
        if info.size_bytes > FILE_BYTES:
            found.too_large.append(info.path)
            continue
        for number, line, hit in _hits(workspace, info.path, expression):
            found.add(f"{_one_line(info.path)}:{number}: {_around(line, hit)}")
    return ("\n".join(found.lines) or f"No line matches {shown(pattern)}.") + _rest(found, "lines")


def glob_parts(pattern: str) -> Parts:
    """A shell pattern cut at its slashes, checked; one without a slash is for names in every folder."""
    names = tuple(name for name in pattern.split("/") if name not in {"", "."})
    if pattern.startswith("/") or "\\" in pattern or ".." in names or not names:
        raise ToolFailed(f"{shown(pattern)} is no pattern for this workspace. Write it like reports/*.md or **/*.csv.")
    return ("**", *names) if len(names) == 1 else names


def matches(names: Parts, pattern: Parts) -> bool:
    """Whether a path matches: each part its own, `**` any number of folders."""
    if not pattern:
        return not names
    if pattern[0] == "**":
        return matches(names, pattern[1:]) or (bool(names) and matches(names[1:], pattern))
    return bool(names) and fnmatchcase(names[0], pattern[0]) and matches(names[1:], pattern[1:])


def _files(workspace: WorkspaceFiles, path: str) -> Iterable[FileInfo]:
    """The regular files to look into: one, or all below a folder; links and pipes are left out."""
    info = workspace.stat(path)
    if info is None:
        raise ToolFailed(f"{shown(path)} does not exist.")
    if info.kind == "file":
        return [info]
    return (entry for entry in workspace.scan(path) if entry.kind == "file")


def _hits(workspace: WorkspaceFiles, path: str, expression: re.Pattern[str]) -> Iterator[tuple[int, str, int]]:
    try:
        content = workspace.read(path, limit_bytes=FILE_BYTES)
    except ToolFailed:
        return  # gone or swapped since it was listed
    if is_binary(content):
        return
    for number, ended in enumerate(_text(content, path).split("\n"), start=1):
        line = ended.removesuffix("\r")
        if hit := expression.search(line):
            yield number, line, hit.start()


def _text(content: bytes, path: str) -> str:
    try:
        return decode(content, path).text
    except ToolFailed:
        return content.decode(errors="replace")  # a search finds the readable part of text in other encodings


def _around(line: str, hit: int) -> str:
    start = max(0, min(hit - LINE_CHARACTERS // 3, len(line) - LINE_CHARACTERS))
    end = start + LINE_CHARACTERS
    tail = f"… ({len(line):,} characters)" if end < len(line) else ""
    return ("…" if start else "") + _one_line(line[start:end]) + tail


def _rest(found: _Found, what: str) -> str:
    rest = f"\n… {found.unshown:,} more {what} match. Narrow the search." if found.unshown else ""
    if found.too_large:
        names = ", ".join(map(_one_line, found.too_large[:5])) + (", …" if len(found.too_large) > 5 else "")
        rest += f"\nNot searched, over {FILE_BYTES // 1024**2} MiB: {names}."
    return rest


def _one_line(text: str) -> str:
    return visible(text).replace("\n", "\\n")
