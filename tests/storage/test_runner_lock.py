"""One runner for each data directory."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from agent.errors import ConfigError
from storage.runner_lock import RunnerLock

ROOT = Path(__file__).parents[2]
HOLD = (
    "import sys, pathlib; from storage.runner_lock import RunnerLock\n"
    "lock = RunnerLock(pathlib.Path(sys.argv[1])); lock.acquire(); print('held', flush=True); sys.stdin.read()"
)


def test_a_second_runner_is_refused_until_the_first_is_gone(tmp_path: Path) -> None:
    """The message names the process; kill -9 frees the directory."""
    command = [sys.executable, "-c", HOLD, str(tmp_path)]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout
        assert holder.stdout.readline() == b"held\n"
        lock = RunnerLock(tmp_path)
        with pytest.raises(ConfigError, match=f"process {holder.pid} runs on {tmp_path} already"):
            lock.acquire()
        assert not lock.try_acquire()
        holder.kill()
    lock.acquire()
    assert (tmp_path / "runner.lock").read_text() == str(os.getpid())
    lock.release()


def test_a_released_lock_is_free(tmp_path: Path) -> None:
    """Who only borrows the runner's place gives it back; releasing twice does no harm."""
    first, second = RunnerLock(tmp_path / "new"), RunnerLock(tmp_path / "new")
    assert first.try_acquire()
    assert not second.try_acquire()
    first.release()
    first.release()
    assert second.try_acquire()
    second.release()


def test_a_directory_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    """One line with the key of the configuration."""
    (tmp_path / "file").touch()
    with pytest.raises(ConfigError, match=r"bot\.data_dir: .*runner\.lock cannot be written"):
        RunnerLock(tmp_path / "file").acquire()
