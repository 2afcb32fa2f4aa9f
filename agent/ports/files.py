"""Workspaces, blobs and the process pool, as the core and the tools see them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypeVar

from agent.domain import Address, Member

T = TypeVar("T")
Area = Literal["files", "memory", "system"]
"""Where a write goes: what tools may change, `memory/`, or the system areas `inbox/` and `.signoff/`."""


@dataclass(frozen=True, kw_only=True, slots=True)
class FileInfo:
    """One directory entry, never followed: `outside` marks a link that leaves the workspace."""

    path: str
    kind: Literal["file", "folder", "link", "other"]
    size_bytes: int = 0
    modified_ns: int = 0
    outside: bool = False


class WorkspaceFiles(Protocol):
    """The files of one workspace behind the guard. Paths are relative, with `/`; blocking, so call it in a thread.

    Every method raises ToolFailed in one clear sentence for a path that leaves the workspace, a link, a device.
    """

    @property
    def name(self) -> str:
        """The workspace's name."""
        ...

    @property
    def root(self) -> str:
        """The absolute path of its folder; for a child process that opens it through the guard again."""
        ...

    def read(self, path: str, *, limit_bytes: int | None = None) -> bytes:
        """The bytes of a regular file; more than `limit_bytes` is refused with both sizes."""
        ...

    def stat(self, path: str) -> FileInfo | None:
        """What is there, or None."""
        ...

    def sha256(self, path: str) -> str | None:
        """The SHA-256 of a regular file, or None when there is none."""
        ...

    def scan(self, path: str = "", *, max_depth: int | None = None) -> Iterable[FileInfo]:
        """The entries below a folder, depth first in name order, without those of `.signoff/`."""
        ...

    def current(self, path: str, *, area: Area = "files") -> bytes | None:
        """What a write here would replace, None when there is nothing; refuses every path that `write` refuses.

        Previews start from it, so that nobody is asked for something that cannot be done.
        """
        ...

    def write(self, path: str, content: bytes, *, expected: str | None, area: Area = "files") -> None:
        """Replace or make a file atomically (temporary file, fsync, rename), making folders on the way.

        `expected` is the SHA-256 it must have now (None: it must not exist), else TargetChanged.
        """
        ...


class Workspaces(Protocol):
    """The workspaces by name."""

    def open(self, name: str) -> WorkspaceFiles:
        """The files of a workspace; NotFound when there is none of that name."""
        ...

    def for_address(self, address: Address) -> str:
        """The workspace an address works in: the configured pattern that fits best, or a private one made for it."""
        ...

    def for_direct(self, member: Member, address: Address) -> str:
        """The workspace of a member's direct messages: the pattern that fits best, or where they work alone."""
        ...

    def visible_to(self, member: Member) -> frozenset[str]:
        """Every workspace that a pattern opens to a member's console or direct messages, and the one they work in."""
        ...


class Processes(Protocol):
    """A small pool of killable child processes for what burns CPU or may hang."""

    async def run(self, function: Callable[..., T], *args: Any, seconds: float = 30) -> T:
        """Run a module-level function of picklable arguments; ToolTimeout after `seconds`, the process killed.

        A ToolError raised by the function arrives as itself; a process that dies is ToolFailed. A cancelled caller's
        process is killed before the cancellation goes on.
        """
        ...


class Blobs(Protocol):
    """Immutable bytes by their SHA-256."""

    async def put(self, content: bytes) -> str:
        """Store durably and return the SHA-256."""
        ...

    async def get(self, sha256: str) -> bytes:
        """The bytes; NotFound when retention removed them."""
        ...

    def path(self, sha256: str) -> str | None:
        """Where the bytes lie, for streaming them out; None when they are gone."""
        ...
