"""A write happens whole or not at all, only on what was expected, and leaves nothing behind."""

from __future__ import annotations

import fcntl
import hashlib
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from agent.errors import TargetChanged, ToolFailed
from tools.workspace.guard import Workspace
from tools.workspace.paths import TEMPORARY_PREFIX

ROOT = Path(__file__).parents[3]
SIZE = 1_000_000
WRITER = f"""
import sys
from tools.workspace.guard import Workspace
workspace = Workspace("w", sys.argv[1])
while True:
    for letter in b"ab":
        workspace.write("d/f", bytes([letter]) * {SIZE}, expected=workspace.sha256("d/f"))
        print(flush=True)
"""


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return Workspace("w", str(tmp_path))


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def sha(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def test_a_write_makes_folders_and_keeps_the_mode(workspace: Workspace, tmp_path: Path) -> None:
    """Missing folders are made; a file that is replaced stays executable or private."""
    workspace.write("a/b/run.sh", b"1", expected=None)
    (tmp_path / "a/b/run.sh").chmod(0o750)
    workspace.write("a/b/run.sh", b"2", expected=sha(b"1"))
    assert (tmp_path / "a/b/run.sh").read_bytes() == b"2"
    assert (tmp_path / "a/b/run.sh").stat().st_mode & 0o777 == 0o750


@pytest.mark.parametrize("expected", [None, sha(b"other")])
def test_a_changed_target_is_not_written(expected: str | None, workspace: Workspace, tmp_path: Path) -> None:
    """What is there is not what was shown: nothing is written, nothing is left behind."""
    (tmp_path / "f").write_bytes(b"theirs")
    with pytest.raises(TargetChanged, match="f was changed meanwhile"):
        workspace.write("f", b"ours", expected=expected)
    assert (tmp_path / "f").read_bytes() == b"theirs"
    assert names(tmp_path) == ["f"]


def test_a_vanished_target_is_not_made_again(workspace: Workspace, tmp_path: Path) -> None:
    """A file that was shown and is gone with its folder: neither comes back."""
    with pytest.raises(TargetChanged):
        workspace.write("a/f", b"ours", expected=sha(b"shown"))
    assert names(tmp_path) == []


def test_a_refused_name_makes_no_folders(workspace: Workspace, tmp_path: Path) -> None:
    """F8: a new name or folder that ends in a dot is refused before anything is made; an existing one is used."""
    for path in ("a/con.", "Acme Inc./f", "a/b /f"):
        with pytest.raises(ToolFailed, match="dot or a space"):
            workspace.write(path, b"x", expected=None)
    (tmp_path / "Acme Inc.").mkdir()
    workspace.write("Acme Inc./f", b"x", expected=None)
    assert workspace.read("Acme Inc./f") == b"x"


def test_a_failing_disk_leaves_the_old_file_and_nothing_else(workspace: Workspace, tmp_path: Path) -> None:
    """The system refuses to write on in the middle: the old content stays, no temporary file does."""
    (tmp_path / "f").write_bytes(b"old")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1_000, limits[1]))
    try:
        with pytest.raises(ToolFailed, match="f cannot be used: File too large"):
            workspace.write("f", b"x" * 5_000, expected=sha(b"old"))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert (tmp_path / "f").read_bytes() == b"old"
    assert names(tmp_path) == ["f"]


def test_a_killed_write_leaves_one_whole_content(workspace: Workspace, tmp_path: Path) -> None:
    """Killed at any moment, the file has the old or the new content whole; the next write removes what was left."""
    workspace.write("d/f", b"a" * SIZE, expected=None)
    for number in range(5):
        writer = subprocess.Popen([sys.executable, "-c", WRITER, str(tmp_path)], cwd=ROOT, stdout=subprocess.PIPE)
        assert writer.stdout is not None
        with writer.stdout:
            writer.stdout.readline()
            time.sleep(0.003 * number)
            writer.send_signal(signal.SIGKILL)
            writer.wait()
        content = workspace.read("d/f")
        assert content in {b"a" * SIZE, b"b" * SIZE}
        assert [info.path for info in workspace.scan()] == ["d", "d/f"]
        workspace.write("d/f", b"a" * SIZE, expected=sha(content))
        assert names(tmp_path / "d") == ["f"]


def test_only_abandoned_temporary_files_are_removed(workspace: Workspace, tmp_path: Path) -> None:
    """A writer holds a lock on its own; a link or a folder of such a name is left alone."""
    abandoned, used, link = (tmp_path / f"{TEMPORARY_PREFIX}{name}" for name in ("old", "used", "link"))
    abandoned.write_bytes(b"")
    link.symlink_to(abandoned)
    with used.open("wb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        workspace.write("f", b"x", expected=None)
    assert names(tmp_path) == sorted([used.name, link.name, "f"])
