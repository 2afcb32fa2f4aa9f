"""Excludes a second runner on one data directory; clients need no lock."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from agent.errors import ConfigError


class RunnerLock:
    """`runner.lock` in the data directory. The kernel lets go of it when the process ends, however it ends."""

    def __init__(self, data_dir: Path) -> None:
        self._path = data_dir / "runner.lock"
        self._descriptor: int | None = None

    def acquire(self) -> None:
        """Become the runner; ConfigError names the process that is."""
        if not self.try_acquire():
            raise ConfigError(
                f"bot.data_dir: process {self._path.read_text() or '?'} runs on {self._path.parent} already; "
                "stop it, or give this one another directory."
            )

    def try_acquire(self) -> bool:
        """Become the runner unless somebody is."""
        try:
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise ConfigError(f"bot.data_dir: {self._path} cannot be written ({error.strerror}).") from error
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            return False
        os.ftruncate(descriptor, 0)
        os.write(descriptor, str(os.getpid()).encode())
        self._descriptor = descriptor
        return True

    def release(self) -> None:
        """Let the next one in."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None
