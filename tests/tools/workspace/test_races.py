"""The guard holds while something hostile swaps files and folders for links."""

from __future__ import annotations

import ctypes
import hashlib
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from agent.errors import ToolError
from tools.workspace.descriptors import FILE, FOLDER, held, open_beneath, open_in_steps
from tools.workspace.guard import Workspace

SECRET = b"outside"
INSIDE = (b"inside, one", b"inside, two")
RENAMEAT2 = ctypes.CDLL(None).renameat2  # renameat2(2): the only way to exchange a folder and a link at once
AT_FDCWD, RENAME_EXCHANGE = -100, 2
AT_LEAST, AT_MOST = 300, 20_000


@contextmanager
def swapping(swap: Callable[[], None]) -> Iterator[None]:
    """Swap back and forth in another thread until the block ends."""
    over = threading.Event()

    def work() -> None:
        while not over.is_set():
            swap()

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def attempts(attempt: Callable[[], object]) -> set[bool]:
    """Try until it went well and was refused at least once each, and often enough; which of the two occurred."""
    seen = set()
    for number in range(AT_MOST):
        try:
            attempt()
        except (ToolError, OSError):
            seen.add(False)
        else:
            seen.add(True)
        if number >= AT_LEAST and len(seen) == 2:
            break
    return seen


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A workspace with `d/f`, and beside it `outside/f`, to which `d` and `d/f` are going to be linked."""
    for folder, content in (("work/d", INSIDE[0]), ("outside", SECRET)):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "f").write_bytes(content)
    return tmp_path / "work"


def folder_swap(home: Path) -> Callable[[], None]:
    """`d` is the real folder, then a link to the one outside, and so on; there is always one of them."""
    (home / "link").symlink_to(home.parent / "outside")

    def swap() -> None:
        assert RENAMEAT2(AT_FDCWD, bytes(home / "d"), AT_FDCWD, bytes(home / "link"), RENAME_EXCHANGE) == 0

    return swap


def file_swap(home: Path) -> Callable[[], None]:
    """`d/f` is a regular file, then a link to the one outside, and so on; there is always something."""

    def swap() -> None:
        (home / "link").symlink_to(home.parent / "outside" / "f")
        (home / "link").rename(home / "d" / "f")
        (home / "file").write_bytes(INSIDE[0])
        (home / "file").rename(home / "d" / "f")

    return swap


swaps = pytest.mark.parametrize("swap", [folder_swap, file_swap])


@swaps
def test_a_read_never_returns_what_is_outside(home: Path, swap: Callable[[Path], Callable[[], None]]) -> None:
    """F13: a file or a folder that becomes a link between check and use is refused, not followed."""
    workspace = Workspace("w", str(home))

    def attempt() -> None:
        assert workspace.read("d/f") in INSIDE

    with swapping(swap(home)):
        assert attempts(attempt) == {True, False}


@swaps
@pytest.mark.parametrize("opener", [open_beneath, open_in_steps])
def test_both_ways_of_opening_hold(
    home: Path, swap: Callable[[Path], Callable[[], None]], opener: Callable[[int, tuple[str, ...], int], int]
) -> None:
    """F13: the kernel's own way and the way in steps, for kernels without it."""

    def attempt() -> None:
        with held(os.open(home, FOLDER)) as root, held(opener(root, ("d", "f"), FILE)) as file:
            assert os.read(file, 100) in INSIDE

    with swapping(swap(home)):
        assert attempts(attempt) == {True, False}


@swaps
def test_a_write_never_changes_what_is_outside(home: Path, swap: Callable[[Path], Callable[[], None]]) -> None:
    """F13: the file outside keeps its content, and no temporary file is made beside it."""
    workspace = Workspace("w", str(home))
    outside = home.parent / "outside"
    shas = {hashlib.sha256(content).hexdigest(): content for content in INSIDE}

    def attempt() -> None:
        now = workspace.sha256("d/f")
        assert now in shas
        workspace.write("d/f", INSIDE[1 - INSIDE.index(shas[now])], expected=now)

    with swapping(swap(home)):
        assert attempts(attempt) == {True, False}
    assert (outside / "f").read_bytes() == SECRET
    assert names(outside) == ["f"]


def test_new_folders_are_not_made_outside(home: Path) -> None:
    """F13: making the folders on the way goes through the same guard."""
    workspace = Workspace("w", str(home))
    numbers = iter(range(AT_MOST))
    with swapping(folder_swap(home)):
        seen = attempts(lambda: workspace.write(f"d/{next(numbers)}/f", b"x", expected=None))
    assert seen == {True, False}
    assert names(home.parent / "outside") == ["f"]


def test_a_scan_never_lists_what_is_outside(home: Path) -> None:
    """F13: a folder that becomes a link while it is listed shows as a link or not at all."""
    (home.parent / "outside" / "secret").write_bytes(SECRET)
    workspace = Workspace("w", str(home))

    def attempt() -> None:
        kinds = {info.path: info.kind for info in workspace.scan()}
        assert not any(path.endswith("secret") for path in kinds)
        if "d/f" not in kinds and kinds.get("d") == "link":
            raise OSError

    with swapping(folder_swap(home)):
        assert attempts(attempt) == {True, False}
