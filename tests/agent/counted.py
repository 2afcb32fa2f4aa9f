"""A workspace that tells what was read of it."""

from __future__ import annotations

from pathlib import Path

from tools.workspace.guard import Workspace


class Counted(Workspace):
    """A workspace that remembers which files were read."""

    def __init__(self, folder: Path) -> None:
        super().__init__("w", str(folder))
        self.reads: list[str] = []

    def read(self, path: str, *, limit_bytes: int | None = None) -> bytes:
        self.reads.append(path)
        return super().read(path, limit_bytes=limit_bytes)
