"""A whole server process of a team's Signoff, as `signoff run` starts it."""

from __future__ import annotations

import asyncio
import os
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from tests.flows.team import Team

ROOT = Path(__file__).parents[2]


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
