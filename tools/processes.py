"""A small pool of child processes that can be killed, for what burns CPU or may hang."""

from __future__ import annotations

import asyncio
import contextlib
import os
import pickle
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import structlog

from agent.errors import ToolFailed, ToolTimeout
from tools.process_child import LENGTH, Answer

T = TypeVar("T")

MEMORY_BYTES = 1024 * 1024 * 1024

_BOOT = """
import sys
parent, memory_bytes, *sys.path = sys.argv[1:]
from tools.process_child import serve
serve(int(parent), int(memory_bytes))
"""
# Nothing else of the environment, which holds the product's secrets, reaches a child.
_PASSED_ON = ("PATH", "LD_LIBRARY_PATH", "LANG", "TZ")

log = structlog.get_logger(__name__)


class ProcessPool:
    """Implements Processes. At most `executions` calls run at once, each in a process of its own.

    Processes are started when they are first needed and kept for the next call; one that was stopped in the middle is
    killed and replaced. None outlives this process.
    """

    def __init__(self, executions: int = 4, *, memory_bytes: int = MEMORY_BYTES) -> None:
        self._slots = asyncio.Semaphore(executions)
        self._memory_bytes = memory_bytes
        self._idle: list[Process] = []
        self._closed = False

    async def run(self, function: Callable[..., T], *args: Any, seconds: float = 30) -> T:
        """Run a module-level function of picklable arguments in a child process."""
        async with self._slots:
            process = self._waiting() or await self._start()
            try:
                async with asyncio.timeout(seconds):
                    answer = await _call(process, function, args)
            except TimeoutError:
                raise ToolTimeout(f"It took longer than {seconds:g} seconds and was stopped.") from None
            except (asyncio.IncompleteReadError, ConnectionError) as error:
                raise ToolFailed(_death(await _ended(process))) from error
            else:
                if answer.crash is None and not self._closed:
                    self._idle.append(process)
            finally:
                if process not in self._idle:
                    await _kill(process)
        value: T = self._value(answer)
        return value

    async def close(self) -> None:
        """End the idle processes now, and those in use when their call is over."""
        self._closed = True
        while self._idle:
            await _kill(self._idle.pop())

    def _waiting(self) -> Process | None:
        while self._idle:
            if (process := self._idle.pop()).returncode is None:
                return process
        return None

    async def _start(self) -> Process:
        return await asyncio.create_subprocess_exec(
            *(sys.executable, "-I", "-S", "-c", _BOOT, str(os.getpid()), str(self._memory_bytes), *_search_path()),
            stdin=PIPE,
            stdout=PIPE,
            stderr=DEVNULL,
            env={name: os.environ[name] for name in _PASSED_ON if name in os.environ},
            cwd="/",
            start_new_session=True,  # Ctrl-C on a terminal is for the parent, which decides
        )

    def _value(self, answer: Answer) -> Any:
        if answer.error is not None:
            raise answer.error
        if answer.crash == "MemoryError":
            raise ToolFailed(f"It needed more than the {self._memory_bytes // 1024**2:,} MiB that a call may use.")
        if answer.crash is not None:
            log.error("process_crashed", kind=answer.crash, frames=answer.frames)
            raise ToolFailed(f"It failed in an unforeseen way ({answer.crash}). The log has the place.")
        return answer.value


async def _call(process: Process, function: Callable[..., Any], args: tuple[Any, ...]) -> Answer:
    assert process.stdin is not None  # noqa: S101 - both are pipes, as _start asked for
    assert process.stdout is not None  # noqa: S101
    message = pickle.dumps((function, args))
    process.stdin.write(LENGTH.pack(len(message)) + message)
    with contextlib.suppress(ConnectionError):  # a process that died while it was written to may have said why
        await process.stdin.drain()
    (size,) = LENGTH.unpack(await process.stdout.readexactly(LENGTH.size))
    answer: Answer = pickle.loads(await process.stdout.readexactly(size))  # noqa: S301 - from our own child
    return answer


async def _kill(process: Process) -> None:
    """Kill and wait for the end, also when the caller is cancelled meanwhile."""
    with contextlib.suppress(ProcessLookupError):
        process.kill()
    ended = asyncio.ensure_future(_ended(process))
    try:
        await asyncio.shield(ended)
    except asyncio.CancelledError:
        await asyncio.wait([ended])
        raise


async def _ended(process: Process) -> int:
    # With unread output asyncio does not see that the pipe is closed, and wait() would wait for ever.
    if process.stdout is not None:
        await process.stdout.read()
    return await process.wait()


def _death(code: int) -> str:
    log.error("process_died", code=code)
    return f"The process that did it ended without an answer (code {code}), perhaps for lack of memory."


def _search_path() -> list[str]:
    return [str(Path(entry).absolute()) for entry in sys.path]
