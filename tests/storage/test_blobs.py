"""Blobs: whole, private, and what they say they are."""

from __future__ import annotations

import hashlib
import os
import stat
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from agent.errors import NotFound, StorageError
from storage.blobs import FileBlobs

CONTENT = b"a,b\n1,2\n"
SHA256 = hashlib.sha256(CONTENT).hexdigest()
OLD = datetime(2020, 1, 1, tzinfo=UTC)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "blobs"


@pytest.fixture
def blobs(folder: Path) -> FileBlobs:
    return FileBlobs(folder)


def age(blobs: FileBlobs, sha256: str) -> None:
    path = blobs.path(sha256)
    assert path
    os.utime(path, (OLD.timestamp(), OLD.timestamp()))


async def test_bytes_are_found_by_their_hash(blobs: FileBlobs, folder: Path) -> None:
    """Two levels of folders, one private file, nothing else left behind."""
    assert await blobs.put(CONTENT) == SHA256
    assert await blobs.put(CONTENT) == SHA256
    assert await blobs.get(SHA256) == CONTENT
    [file] = [path for path in folder.rglob("*") if path.is_file()]
    assert file == folder / SHA256[:2] / SHA256[2:4] / SHA256
    assert blobs.path(SHA256) == str(file)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


async def test_what_is_gone_is_not_found(blobs: FileBlobs) -> None:
    """Bytes that retention removed are told apart from bytes that somebody changed."""
    assert blobs.path(SHA256) is None
    with pytest.raises(NotFound, match="removed"):
        await blobs.get(SHA256)


async def test_altered_bytes_are_refused(blobs: FileBlobs) -> None:
    """A file that is not what its name says is never handed out."""
    path = blobs.path(await blobs.put(CONTENT))
    assert path
    Path(path).write_bytes(b"other")
    with pytest.raises(StorageError, match="altered"):
        await blobs.get(SHA256)


async def test_old_unreferenced_blobs_are_removed(blobs: FileBlobs) -> None:
    """Needed ones stay, young ones stay: their row may be on its way."""
    needed, old, young = [await blobs.put(content) for content in (b"needed", b"old", b"young")]
    age(blobs, needed)
    age(blobs, old)
    assert await blobs.remove_unreferenced({needed}, OLD + timedelta(seconds=1)) == 1
    assert (blobs.path(old), bool(blobs.path(needed)), bool(blobs.path(young))) == (None, True, True)


async def test_storing_again_makes_young_again(blobs: FileBlobs) -> None:
    """Content that a new task needs is not removed for its age before the task's row names it."""
    await blobs.put(CONTENT)
    age(blobs, SHA256)
    await blobs.put(CONTENT)
    assert await blobs.remove_unreferenced(set(), OLD + timedelta(seconds=1)) == 0


async def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    """The message says which folder and why."""
    (tmp_path / "file").touch()
    with pytest.raises(StorageError, match=r"blob folder .*file/blobs cannot be written"):
        await FileBlobs(tmp_path / "file" / "blobs").put(CONTENT)
