"""Replaces one file of an opened folder: all of it or nothing, and only what the caller saw."""

from __future__ import annotations

import fcntl
import hashlib
import os
import secrets
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from agent.errors import TargetChanged, ToolFailed
from tools.workspace.descriptors import FILE, held
from tools.workspace.paths import TEMPORARY_PREFIX, shown

_MODE_BITS = 0o777
_TRIES = 5
_LOCK_TRIES = 1_000
_LOCK_PAUSE_SECONDS = 0.02


@dataclass(frozen=True, kw_only=True, slots=True)
class Standing:
    """What a write would replace."""

    sha256: str
    mode: int


def regular(descriptor: int, path: str) -> os.stat_result:
    """The status of an opened file; ToolFailed unless it is a regular one."""
    found = os.fstat(descriptor)
    if stat.S_ISDIR(found.st_mode):
        raise ToolFailed(f"{shown(path)} is a folder, not a file.")
    if not stat.S_ISREG(found.st_mode):
        raise ToolFailed(f"{shown(path)} is a pipe, a socket or a device. Only regular files are used.")
    return found


def refuse_linked(found: os.stat_result, path: str) -> None:
    """ToolFailed for a file with several names: one of them may lie outside (operators share files so, to be read)."""
    if found.st_nlink == 1:
        return
    names = f"{found.st_nlink} names" if found.st_nlink else "an unknown number of names"
    raise ToolFailed(f"{shown(path)} has {names}; copy it first and change the copy.")


def content_of(descriptor: int, path: str, limit_bytes: int) -> bytes:
    """The bytes of an opened file; ToolFailed unless it is a regular one within the limit."""
    size = regular(descriptor, path).st_size
    if size > limit_bytes:
        raise ToolFailed(f"{shown(path)} has {size:,} bytes, more than the {limit_bytes:,} that can be read at once.")
    with os.fdopen(os.dup(descriptor), "rb") as file:
        return file.read(size)  # what is added from now on is not waited for


def digest(descriptor: int) -> str:
    """The SHA-256 of an opened file."""
    with os.fdopen(os.dup(descriptor), "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def standing(folder: int, name: str, path: str) -> Standing | None:
    """What is there now under a name of the folder; ToolFailed when it is nothing that a write may replace."""
    try:
        descriptor = os.open(name, FILE, dir_fd=folder)
    except FileNotFoundError:
        return None
    with held(descriptor):
        found = regular(descriptor, path)
        if found.st_nlink == 0 and not _is_named(found, folder, name):
            raise TargetChanged(f"{shown(path)} was replaced while it was looked at. Read it again.")
        refuse_linked(found, path)
        return Standing(sha256=digest(descriptor), mode=found.st_mode & _MODE_BITS)


def _is_named(found: os.stat_result, folder: int, name: str) -> bool:
    """Whether the name stands for the opened file still; a file that was replaced has no name left."""
    try:
        now = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return os.path.samestat(found, now)


def require(found: Standing | None, expected: str | None, path: str) -> None:
    """TargetChanged unless it is what the caller expects."""
    if (found.sha256 if found else None) != expected:
        raise TargetChanged(f"{shown(path)} was changed meanwhile, so nothing was written. Read it again.")


def replace(folder: int, name: str, content: bytes, *, expected: str | None, path: str) -> None:
    """Put new content under a name of the folder, durably; TargetChanged when it is not what is expected any more."""
    descriptor, temporary = _temporary(folder)
    try:
        with held(descriptor):
            _fill(descriptor, content)
            if found := standing(folder, name, path):
                os.fchmod(descriptor, found.mode)
            os.fsync(descriptor)
            with _alone(folder, path):
                require(standing(folder, name, path), expected, path)
                # The name may become a link or a folder even now: rename replaces a link itself and fails on a folder.
                os.rename(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(temporary, dir_fd=folder)
        raise
    os.fsync(folder)


def sweep(folder: int) -> None:
    """Remove temporary files that a killed process left in the folder; those in use are locked by their writer."""
    for name in os.listdir(folder):
        if name.startswith(TEMPORARY_PREFIX):
            with suppress(OSError), held(os.open(name, FILE, dir_fd=folder)) as descriptor:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                os.unlink(name, dir_fd=folder)


@contextmanager
def _alone(folder: int, path: str) -> Iterator[None]:
    """Keep other writers of the folder away, in any process here, so that of two that expect the same one is refused.

    It is held for a moment only, so whoever holds it for long means harm, and is not waited for.
    """
    for _ in range(_LOCK_TRIES):
        if _lock(folder):
            break
        time.sleep(_LOCK_PAUSE_SECONDS)
    else:
        raise ToolFailed(f"The folder of {shown(path)} is kept locked by another program. Try again.")
    try:
        yield
    finally:
        with suppress(OSError):  # a file system without locks
            fcntl.flock(folder, fcntl.LOCK_UN)


def _temporary(folder: int) -> tuple[int, str]:
    """A new file with a lock on it. A sweeper may come between making and locking; then it is gone, and made anew."""
    for _ in range(_TRIES):
        name = TEMPORARY_PREFIX + secrets.token_hex(8)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        descriptor = os.open(name, flags, 0o666, dir_fd=folder)
        if _lock(descriptor) and os.fstat(descriptor).st_nlink:
            return descriptor, name
        os.close(descriptor)
    raise ToolFailed("The temporary file keeps being removed by another program. Try again.")


def _lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return True  # a file system without locks: a sweeper gets none either and leaves the file alone
    return True


def _fill(descriptor: int, content: bytes) -> None:
    left = memoryview(content)
    while left:
        left = left[os.write(descriptor, left) :]
