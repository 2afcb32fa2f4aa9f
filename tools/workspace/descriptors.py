"""Opens what lies below a directory descriptor without ever following a link, whatever is swapped meanwhile."""

from __future__ import annotations

import ctypes
import errno
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from agent.errors import ToolFailed
from tools.workspace.paths import Parts, shown

FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NOCTTY | os.O_NONBLOCK
"""O_NONBLOCK: opening a pipe that nobody writes to would wait for ever."""

_REASONS = {
    errno.ELOOP: "is a link or lies behind one, and links are not followed. Name the file itself",
    errno.ENOTDIR: "is not a folder, or lies behind a file or a link",
    errno.ENOENT: "does not exist",
    errno.EXDEV: "leaves the workspace",
    errno.EISDIR: "is a folder, not a file",
    errno.ENXIO: "is not a regular file",
    errno.EACCES: "must not be used: the system gives no permission",
    errno.EPERM: "must not be used: the system gives no permission",
    errno.ENOSPC: "cannot be written: the disk is full",
    errno.EDQUOT: "cannot be written: the disk quota is used up",
    errno.EROFS: "cannot be written: the file system is read-only",
}

_OPENAT2 = 437  # the same on every architecture Python runs on: include/uapi/asm-generic/unistd.h
_NO_MAGIC_LINKS, _NO_SYMLINKS, _BENEATH = 0x02, 0x04, 0x08
_MISSING = frozenset({errno.ENOSYS, errno.EPERM, errno.EINVAL, errno.E2BIG})
_AGAIN = frozenset({errno.EAGAIN, errno.EINTR})
_LIBC = ctypes.CDLL(None, use_errno=True)


class _OpenHow(ctypes.Structure):
    _fields_ = (("flags", ctypes.c_uint64), ("mode", ctypes.c_uint64), ("resolve", ctypes.c_uint64))


@contextmanager
def held(descriptor: int) -> Iterator[int]:
    """Close a descriptor at the end."""
    try:
        yield descriptor
    finally:
        os.close(descriptor)


@contextmanager
def explained(path: str) -> Iterator[None]:
    """Turn what the system says about a path into the sentence that the model reads."""
    try:
        yield
    except OSError as error:
        reason = _REASONS.get(error.errno or 0) or f"cannot be used: {error.strerror}"
        raise ToolFailed(f"{shown(path)} {reason}.") from error


def open_beneath(root: int, names: Parts, flags: int) -> int:
    """A descriptor of what lies below `root`; OSError ELOOP or ENOTDIR when a link is anywhere on the way.

    openat2(2) does it in one call; kernels before 5.6, and containers whose seccomp filter answers EPERM, get the
    same in steps.
    """
    try:
        return _openat2(root, "/".join(names) or ".", flags)
    except OSError as error:
        if error.errno not in _MISSING:
            raise
    return open_in_steps(root, names, flags)


def open_in_steps(root: int, names: Parts, flags: int) -> int:
    """The same as `open_beneath`, one component after the other."""
    return _walk(root, names, flags, lambda folder, name: os.open(name, FOLDER, dir_fd=folder))


def make_folders(root: int, names: Parts, allow: Callable[[str], None]) -> int:
    """A descriptor of the innermost folder; those that are missing are made, each after `allow(name)`."""

    def step(folder: int, name: str) -> int:
        try:
            return os.open(name, FOLDER, dir_fd=folder)
        except FileNotFoundError:
            allow(name)
        try:
            os.mkdir(name, dir_fd=folder)
            os.fsync(folder)
        except FileExistsError:
            pass  # somebody else was faster; what it is, the open below finds out
        return os.open(name, FOLDER, dir_fd=folder)

    return _walk(root, (*names, "."), FOLDER, step)


def _walk(root: int, names: Parts, flags: int, step: Callable[[int, str], int]) -> int:
    folder = os.open(".", FOLDER, dir_fd=root)
    try:
        for name in names[:-1]:
            inner = step(folder, name)
            os.close(folder)
            folder = inner
        return os.open(names[-1] if names else ".", flags | os.O_NOFOLLOW, dir_fd=folder)
    finally:
        os.close(folder)


def _openat2(root: int, path: str, flags: int) -> int:
    how = _OpenHow(flags=flags, mode=0, resolve=_BENEATH | _NO_SYMLINKS | _NO_MAGIC_LINKS)
    while True:
        found = _LIBC.syscall(
            ctypes.c_long(_OPENAT2),
            ctypes.c_int(root),
            ctypes.c_char_p(path.encode()),
            ctypes.byref(how),
            ctypes.c_size_t(ctypes.sizeof(how)),
        )
        if found >= 0:
            return int(found)
        if (number := ctypes.get_errno()) not in _AGAIN:
            raise OSError(number, os.strerror(number), path)
