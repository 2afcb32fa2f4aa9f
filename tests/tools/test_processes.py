"""What burns CPU runs in processes that can be killed, and that end with whoever started them."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path

import psutil
import pytest
import structlog

from agent.errors import BadArguments, TargetChanged, ToolFailed, ToolTimeout
from tools.processes import ProcessPool

ROOT = Path(__file__).parents[2]
ORPHAN = """
import asyncio, os, sys, time
from tests.tools.test_processes import announce
from tools.processes import ProcessPool
asyncio.run(ProcessPool().run(announce, sys.argv[1], 60))
"""


def add(left: int, right: int) -> int:
    return left + right


def environment() -> dict[str, str]:
    return dict(os.environ)


def refuse(text: str) -> None:
    raise BadArguments(text)


def changed() -> None:
    raise TargetChanged("it changed")


def fail(text: str) -> None:
    raise ValueError(text)


def allocate(size: int) -> int:
    return len(bytearray(size))


def chat() -> str:
    os.write(1, b"to standard output, not to the answer")
    os.write(2, b"to standard error" * 100_000)
    return "answer"


def announce(path: str, seconds: float) -> None:
    """Say who runs, then be busy without ever looking up."""
    Path(path).write_text(str(os.getpid()))
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        pass


def open_files() -> list[str]:
    """What a child holds open besides its own pipes."""
    return [file.path for file in psutil.Process().open_files()]


@pytest.fixture
async def pool() -> AsyncIterator[ProcessPool]:
    others = set(psutil.Process().children())
    pool = ProcessPool(2)
    yield pool
    await pool.close()
    assert set(psutil.Process().children()) <= others


def pid_in(path: Path) -> int:
    """Wait until a child has said who it is."""
    while not path.exists() or not path.read_text():
        time.sleep(0.01)
    return int(path.read_text())


async def test_a_process_is_started_once_and_used_again(pool: ProcessPool) -> None:
    """The second call finds the first one's process."""
    assert await pool.run(add, 1, 2) == 3
    first = await pool.run(os.getpid)
    assert first != os.getpid()
    assert await pool.run(os.getpid) == first


async def test_large_arguments_and_answers_pass(pool: ProcessPool) -> None:
    """More than a pipe holds goes through, both ways."""
    assert len(await pool.run(bytes.upper, b"x" * 5_000_000)) == 5_000_000


async def test_tool_errors_arrive_as_themselves(pool: ProcessPool) -> None:
    """The model reads what the function said, under the same class."""
    with pytest.raises(BadArguments, match=r"^no such column$"):
        await pool.run(refuse, "no such column")
    with pytest.raises(TargetChanged):
        await pool.run(changed)
    assert await pool.run(add, 1, 2) == 3


async def test_another_error_is_logged_without_its_message(pool: ProcessPool) -> None:
    """A mistake in the code fails the call; its type and place are logged, not its text, which may quote a file."""
    with structlog.testing.capture_logs() as logs, pytest.raises(ToolFailed, match="ValueError"):
        await pool.run(fail, "secret content")
    assert [(entry["event"], entry["kind"]) for entry in logs] == [("process_crashed", "ValueError")]
    assert "in fail" in logs[0]["frames"]
    assert "secret content" not in str(logs)
    assert await pool.run(add, 1, 2) == 3


@pytest.mark.parametrize("code", [0, 3])
async def test_a_process_that_dies_fails_the_call(pool: ProcessPool, code: int) -> None:
    """No answer is an error, whatever the exit code; the next call gets a new process."""
    with pytest.raises(ToolFailed, match="ended without an answer"):
        await pool.run(os._exit, code)
    assert await pool.run(add, 1, 2) == 3


async def test_a_process_that_died_while_idle_is_replaced(pool: ProcessPool) -> None:
    """Somebody else killed it between two calls: nobody notices."""
    pid = await pool.run(os.getpid)
    os.kill(pid, signal.SIGKILL)
    for _ in range(100):
        await asyncio.sleep(0.01)  # the loop sees the end of a child a moment after it
    assert not psutil.pid_exists(pid)
    assert await pool.run(add, 1, 2) == 3


async def test_too_much_time_kills(pool: ProcessPool, tmp_path: Path) -> None:
    """A busy loop is stopped and gone when the error arrives."""
    assert await pool.run(add, 1, 2) == 3  # the children are there: a busy machine starts one for longer than that
    with pytest.raises(ToolTimeout, match=r"longer than 0\.5 seconds"):
        await pool.run(announce, str(tmp_path / "pid"), 60, seconds=0.5)
    assert not psutil.pid_exists(pid_in(tmp_path / "pid"))
    assert await pool.run(add, 1, 2) == 3


async def test_an_answer_cut_off_in_the_middle_does_not_hang(pool: ProcessPool) -> None:
    """Time runs out while a large answer is on its way: the process is killed and its end is seen."""
    await pool.run(add, 1, 2)
    for _ in range(5):
        with pytest.raises(ToolTimeout):
            await pool.run(bytes, 300_000_000, seconds=0.05)


async def test_a_cancelled_call_is_over_when_its_caller_is(pool: ProcessPool, tmp_path: Path) -> None:
    """B15: nothing runs on after the cancellation was reported."""
    call = asyncio.ensure_future(pool.run(announce, str(tmp_path / "pid"), 60))
    pid = await asyncio.to_thread(pid_in, tmp_path / "pid")
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert not psutil.pid_exists(pid)
    assert await pool.run(add, 1, 2) == 3


async def test_too_much_memory_fails_the_call() -> None:
    """The limit is the process's own: this one is not touched."""
    pool = ProcessPool(1, memory_bytes=256 * 1024 * 1024)
    with pytest.raises(ToolFailed, match="more than the 256 MiB"):
        await pool.run(allocate, 300 * 1024 * 1024)
    assert await pool.run(allocate, 1_000) == 1_000
    await pool.close()


async def test_no_secret_and_no_open_file_is_inherited(
    pool: ProcessPool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A child knows neither the environment nor the files and sockets of its parent."""
    monkeypatch.setenv("LLM_TOKEN", "secret")
    with (tmp_path / "open").open("w"):
        assert "LLM_TOKEN" not in await pool.run(environment)
        assert await pool.run(open_files) == []


async def test_what_a_function_prints_is_not_its_answer(pool: ProcessPool) -> None:
    """L11: output on either stream neither disturbs the answer nor fills a pipe."""
    assert await pool.run(chat) == "answer"
    assert await pool.run(add, 1, 2) == 3


async def test_no_more_than_the_executions_run_at_once(pool: ProcessPool, tmp_path: Path) -> None:
    """Four calls of a pool of two use two processes."""
    await asyncio.gather(*(pool.run(announce, str(tmp_path / str(number)), 0.1) for number in range(4)))
    assert len({path.read_text() for path in tmp_path.iterdir()}) == 2


async def test_closing_ends_every_process(tmp_path: Path) -> None:
    """The idle ones at once, those in use with their call."""
    pool = ProcessPool(2)
    idle = await pool.run(os.getpid)
    busy = [asyncio.ensure_future(pool.run(announce, str(tmp_path / name), 0.3)) for name in "ab"]
    pids = [await asyncio.to_thread(pid_in, tmp_path / name) for name in "ab"]
    assert idle in pids
    await busy[0]
    await pool.close()
    await busy[1]
    assert not any(psutil.pid_exists(pid) for pid in pids)


def test_a_killed_parent_takes_its_processes_along(tmp_path: Path) -> None:
    """A child in a busy loop ends when its parent is killed, so none is ever left over."""
    parent = subprocess.Popen([sys.executable, "-c", ORPHAN, str(tmp_path / "pid")], cwd=ROOT)
    while not (tmp_path / "pid").exists() or not (tmp_path / "pid").read_text():
        assert parent.poll() is None
        time.sleep(0.01)
    child = psutil.Process(int((tmp_path / "pid").read_text()))
    parent.kill()
    parent.wait()
    child.wait(10)
    assert not child.is_running()


def test_little_is_imported_to_start(tmp_path: Path) -> None:
    """Start-up goal: the pool brings neither pydantic nor a parser into a process that never uses it."""
    code = "import sys, tools.processes; print([m for m in ('pydantic', 'openpyxl', 'aiohttp') if m in sys.modules])"
    assert subprocess.check_output([sys.executable, "-c", code], cwd=ROOT, text=True) == "[]\n"
