"""One workspace's files: every access goes through here, and none gets out of the folder."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from agent.errors import ToolFailed
from agent.ports.files import Area, FileInfo
from tools.workspace.atomic import content_of, digest, refuse_linked, regular, replace, require, standing, sweep
from tools.workspace.descriptors import FILE, FOLDER, explained, held, make_folders, open_beneath
from tools.workspace.paths import (
    RESERVED,
    TEMPORARY_PREFIX,
    Parts,
    folded,
    parts,
    refuse_foreign,
    refuse_new,
    shown,
)

Kind = Literal["file", "folder", "link", "other"]

READ_BYTES = 64 * 1024 * 1024
"""What `read` takes when the caller names no limit; above the largest upload."""

_UNLISTED = (".signoff",)
_KINDS: dict[int, Kind] = {stat.S_IFREG: "file", stat.S_IFDIR: "folder", stat.S_IFLNK: "link"}


class Workspace:
    """The files below one folder, implementing WorkspaceFiles. It holds no descriptors and can be pickled.

    `protected` are absolute paths out of every tool's reach, also for reading: the data directory or the configuration
    when they lie inside the workspace.
    """

    def __init__(self, name: str, folder: str, *, protected: Iterable[str] = ()) -> None:
        self._name = name
        self._root = os.path.realpath(folder)  # the folder itself may be reached through a link
        self._protected = frozenset(self._inside(protected))

    @property
    def name(self) -> str:
        """The workspace's name."""
        return self._name

    @property
    def root(self) -> str:
        """The absolute path of its folder, links resolved."""
        return self._root

    def read(self, path: str, *, limit_bytes: int | None = None) -> bytes:
        """The bytes of a regular file; at most `limit_bytes`, or 64 MiB."""
        with explained(path), self._opened(self._parts(path), FILE) as descriptor:
            return content_of(descriptor, path, READ_BYTES if limit_bytes is None else limit_bytes)

    def stat(self, path: str) -> FileInfo | None:
        """What is there, or None; a link is described, not followed."""
        names = self._parts(path)
        if not names:
            return FileInfo(path="", kind="folder")
        with explained(path):
            try:
                with self._opened(names[:-1], FOLDER) as folder:
                    return self._info(folder, names)
            except FileNotFoundError:
                return None

    def sha256(self, path: str) -> str | None:
        """The SHA-256 of a regular file, or None when there is none."""
        with explained(path):
            try:
                with self._opened(self._parts(path), FILE) as descriptor:
                    regular(descriptor, path)
                    return digest(descriptor)
            except FileNotFoundError:
                return None

    def scan(self, path: str = "", *, max_depth: int | None = None) -> Iterator[FileInfo]:
        """The entries below a folder, depth first in name order; a depth of 1 is the folder's own entries.

        Left out are `.signoff/`, what is protected and temporary files. A folder that cannot be opened any more, when
        its turn comes, is passed over.
        """
        with explained(path), self._opened((), FOLDER) as root:
            levels = [iter(self._entries(root, self._parts(path)))]
            while levels:
                entry = next(levels[-1], None)
                if entry is None:
                    levels.pop()
                    continue
                yield entry
                if entry.kind == "folder" and (max_depth is None or len(levels) < max_depth):
                    try:
                        levels.append(iter(self._entries(root, tuple(entry.path.split("/")))))
                    except OSError:
                        continue

    def current(self, path: str, *, area: Area = "files") -> bytes | None:
        """What a write here would replace, None when there is nothing yet; refuses every path that `write` refuses."""
        names = self._parts(path)
        refuse_foreign(path, names, area)
        with explained(path), self._opened((), FOLDER) as root:
            _refuse_alias(root, names, path, area)
            try:
                with held(open_beneath(root, names, FILE)) as descriptor:
                    # Without a name: replaced since it was opened. What it held is no base for a write any more.
                    if (found := regular(descriptor, path)).st_nlink:
                        refuse_linked(found, path)
                    return content_of(descriptor, path, READ_BYTES)
            except FileNotFoundError:
                refuse_new(path, names[-1])
                return None

    def write(self, path: str, content: bytes, *, expected: str | None, area: Area = "files") -> None:
        """Replace or make a file atomically and durably; an existing file keeps its mode."""
        names = self._parts(path)
        refuse_foreign(path, names, area)
        if expected is None:
            refuse_new(path, names[-1])

        def allow(folder: str) -> None:
            require(None, expected, path)  # where the folder is missing, the file is
            refuse_new(path, folder)

        with explained(path), self._opened((), FOLDER) as root:
            _refuse_alias(root, names, path, area)
            with held(make_folders(root, names[:-1], allow)) as folder:
                require(standing(folder, names[-1], path), expected, path)
                sweep(folder)
                replace(folder, names[-1], content, expected=expected, path=path)

    def _parts(self, path: str) -> Parts:
        names = parts(path)
        if self._is_protected(names):
            raise ToolFailed(f"{shown(path)} belongs to the product itself and is out of reach of tools.")
        return names

    def _inside(self, protected: Iterable[str]) -> Iterator[Parts]:
        for path in protected:
            relative = os.path.relpath(os.path.realpath(path), self._root)
            if relative.split("/")[0] != "..":
                yield tuple(map(folded, relative.split("/")))

    def _is_protected(self, names: Parts) -> bool:
        if not self._protected:
            return False
        same = tuple(map(folded, names))
        return any(same[: len(protected)] == protected for protected in self._protected)

    @contextmanager
    def _opened(self, names: Parts, flags: int) -> Iterator[int]:
        with held(self._open_root()) as root, held(open_beneath(root, names, flags)) as descriptor:
            yield descriptor

    def _open_root(self) -> int:
        with explained(f"The folder of the workspace {self._name}"):
            return os.open(self._root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)

    def _entries(self, root: int, names: Parts) -> list[FileInfo]:
        with held(open_beneath(root, names, FOLDER)) as folder:
            found = sorted(os.listdir(folder))  # noqa: PTH208 - a descriptor, not a path
            inner = ((*names, name) for name in found if not name.startswith(TEMPORARY_PREFIX))
            wanted = (path for path in inner if path != _UNLISTED and not self._is_protected(path))
            return [info for path in wanted if (info := self._info(folder, path))]

    def _info(self, folder: int, names: Parts) -> FileInfo | None:
        try:
            found = os.stat(names[-1], dir_fd=folder, follow_symlinks=False)
        except FileNotFoundError:
            return None
        path = "/".join(names)
        if not _is_nameable(path):  # shown, but no file to use
            return FileInfo(path=path.encode(errors="surrogateescape").decode(errors="replace"), kind="other")
        kind: Kind = _KINDS.get(stat.S_IFMT(found.st_mode), "other")
        return FileInfo(
            path=path,
            kind=kind,
            size_bytes=found.st_size,
            modified_ns=found.st_mtime_ns,
            outside=kind == "link" and self._leads_outside(names),
        )

    def _leads_outside(self, names: Parts) -> bool:
        """Where a link leads now, only for showing it: whether it may be used is never decided by this."""
        return not Path(os.path.realpath(Path(self._root, *names))).is_relative_to(self._root)


def _refuse_alias(root: int, names: Parts, path: str, area: Area) -> None:
    """ToolFailed when the top name is a reserved one under another name, as `MEMORY~1` may be on a mounted disk."""
    if area != "files":
        return
    top = _identity(root, names[0])
    if top and top in {_identity(root, name) for name in RESERVED}:
        raise ToolFailed(f"{shown(path)} steers the agent itself and is not written by tools. Choose another place.")


def _identity(root: int, name: str) -> tuple[int, int] | None:
    try:
        found = os.stat(name, dir_fd=root, follow_symlinks=False)
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino


def _is_nameable(path: str) -> bool:
    """Whether a tool can name it: Linux also takes names that are no text, or with a backslash in them."""
    try:
        parts(path)
    except ToolFailed:
        return False
    return True
