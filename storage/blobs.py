"""Immutable bytes in files named after their SHA-256."""

from __future__ import annotations

import hashlib
import os
import secrets
from collections.abc import Container
from datetime import datetime
from pathlib import Path

from agent.errors import NotFound, StorageError
from agent.tool import in_thread


class FileBlobs:
    """Implements Blobs below one folder: `ab/cd/abcd…`, so that no folder grows beyond what file systems like."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    async def put(self, content: bytes) -> str:
        """Store durably and return the SHA-256; content that is there already only becomes young again."""
        return await in_thread(self._put, content)

    async def get(self, sha256: str) -> bytes:
        """The bytes; NotFound when retention removed them, StorageError when the file was altered."""
        return await in_thread(self._get, sha256)

    def path(self, sha256: str) -> str | None:
        """Where the bytes lie; None when they are gone."""
        path = self._path(sha256)
        return str(path) if path.is_file() else None

    async def remove_unreferenced(self, needed: Container[str], before: datetime) -> int:
        """Remove what is not `needed` and was last put before a time; how many."""
        return await in_thread(self._remove_unreferenced, needed, before.timestamp())

    def _path(self, sha256: str) -> Path:
        return self._folder / sha256[:2] / sha256[2:4] / sha256

    def _put(self, content: bytes) -> str:
        sha256 = hashlib.sha256(content).hexdigest()
        path = self._path(sha256)
        try:
            if path.exists():
                os.utime(path)
            else:
                _write(path, content)
        except OSError as error:
            raise StorageError(f"The blob folder {self._folder} cannot be written: {error.strerror}.") from error
        return sha256

    def _get(self, sha256: str) -> bytes:
        try:
            content = self._path(sha256).read_bytes()
        except FileNotFoundError as error:
            raise NotFound("The file's content was removed; storage.retention.blobs says after how long.") from error
        except OSError as error:
            raise StorageError(f"The blob folder {self._folder} cannot be read: {error.strerror}.") from error
        if hashlib.sha256(content).hexdigest() != sha256:
            raise StorageError(f"The blob {sha256} was altered on disk; restore it from a backup.")
        return content

    def _remove_unreferenced(self, needed: Container[str], before: float) -> int:
        removed = 0
        for path in self._folder.glob("??/??/*"):
            if path.name not in needed and path.stat().st_mtime < before:
                path.unlink()
                removed += 1
        return removed


def _write(path: Path, content: bytes) -> None:
    """Whole or not at all, also when the power fails: the bytes and every new name reach the disk."""
    _make_folder(path.parent)
    temporary = path.with_name(f".{secrets.token_hex(8)}")
    with os.fdopen(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    temporary.rename(path)
    _sync_folder(path.parent)


def _make_folder(path: Path) -> None:
    if not path.is_dir():
        _make_folder(path.parent)
        path.mkdir(mode=0o700, exist_ok=True)
        _sync_folder(path.parent)


def _sync_folder(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
