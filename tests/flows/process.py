"""Processes of a team's Signoff: as `signoff run` starts them, and ones that begin faster and may die at once."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import signal
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from multiprocessing.context import ForkServerProcess
from pathlib import Path

import structlog

from bot.app import started
from bot.config import load_config
from tests.flows.team import Team

ROOT = Path(__file__).parents[2]
LIVES = multiprocessing.get_context("forkserver")
LIVES.set_forkserver_preload(["tests.flows.process"])


@asynccontextmanager
async def served(people: Team) -> AsyncIterator[Process]:
    """A process that is ready, and asked to end afterwards if it still lives."""
    command = [sys.executable, "-m", "bot", "run", "--config", str(people.config())]
    environment = {**os.environ, **people.environment}
    with (people.home / "server.log").open("ab") as log:
        process = await asyncio.create_subprocess_exec(
            *command, cwd=ROOT, env=environment, stdin=DEVNULL, stdout=PIPE, stderr=log
        )
    assert process.stdout is not None
    try:
        async for line in process.stdout:
            if line == b"ready\n":
                break
        assert process.returncode is None, (people.home / "server.log").read_text()
        yield process
    finally:
        if process.returncode is None:
            process.terminate()
        await process.wait()


async def killed(process: Process) -> None:
    """With SIGKILL, as when the power fails."""
    process.kill()
    await process.wait()


class Life:
    """One life of a process, for tests of many deaths."""

    def __init__(self, process: ForkServerProcess) -> None:
        self._process = process

    @classmethod
    @asynccontextmanager
    async def of(cls, people: Team) -> AsyncIterator[Life]:
        """A process that runs, and ends gracefully with the block if it still lives."""
        process = LIVES.Process(target=_live, args=(people.config(), people.environment))
        process.start()
        try:
            yield cls(process)
        finally:
            process.terminate()
            await asyncio.to_thread(process.join)

    @property
    def pid(self) -> int | None:
        """The process's id."""
        return self._process.pid

    async def ended(self) -> int | None:
        """Its exit code, once it has ended."""
        await asyncio.to_thread(self._process.join)
        return self._process.exitcode


def _live(config: Path, environment: dict[str, str]) -> None:
    structlog.configure(logger_factory=structlog.ReturnLoggerFactory())
    asyncio.run(_lived(config, environment))


async def _lived(config: Path, environment: dict[str, str]) -> None:
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    async with started(load_config(config, environment)):
        await stop.wait()
