"""Servers as processes: started, waited for, measured, and stopped by their id."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import aiohttp
import psutil

_READY_SECONDS = 60
_STOP_SECONDS = 25  # Signoff may take 20 s to finish what it runs


class Process:
    """A running server with its children."""

    def __init__(self, process: asyncio.subprocess.Process, log: Path) -> None:
        self._process = process
        self._log = log

    @property
    def pid(self) -> int:
        """The id of the server itself."""
        return self._process.pid

    def cpu_seconds(self) -> float:
        """User and system time so far: of the process, of its living children and of those it has waited for."""
        tree = [psutil.Process(self.pid), *psutil.Process(self.pid).children(recursive=True)]
        return sum(_cpu_seconds(process) for process in tree)

    def rss_bytes(self) -> int:
        """Resident memory, children included."""
        tree = [psutil.Process(self.pid), *psutil.Process(self.pid).children(recursive=True)]
        return sum(process.memory_info().rss for process in tree)

    async def ready(self, http: aiohttp.ClientSession, url: str) -> None:
        """Return once the URL answers 200; RuntimeError with the end of its log when it does not."""
        deadline = time.monotonic() + _READY_SECONDS
        while time.monotonic() < deadline and self._process.returncode is None:
            with suppress(aiohttp.ClientConnectionError):
                async with http.get(url) as response:
                    if response.status == 200:
                        return
            await asyncio.sleep(0.01)
        raise RuntimeError(f"{url} did not become ready:\n{self._log.read_text(errors='replace')[-2000:]}")

    async def stop(self) -> None:
        """Ask it to end; kill it, and what it started, when it does not."""
        if self._process.returncode is not None:
            return
        self._process.send_signal(signal.SIGTERM)
        try:
            await asyncio.wait_for(self._process.wait(), _STOP_SECONDS)
        finally:
            with suppress(ProcessLookupError):
                os.killpg(self.pid, signal.SIGKILL)  # it leads its own session: this is it and what it left behind


async def spawn(command: Sequence[str], folder: Path, log: Path, environ: Mapping[str, str] | None = None) -> Process:
    """Start a server in a session of its own, so that Ctrl-C reaches only this program, which then stops it.

    Byte code is kept, as an installation keeps it: else every start would compile all of Signoff, and no library.
    """
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    with log.open("ab") as output:
        process = await asyncio.create_subprocess_exec(
            *command,
            cwd=folder,
            env={**kept, **(environ or {})},
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
    return Process(process, log)


def free_port() -> int:
    """A port of loopback that nobody uses now."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


def _cpu_seconds(process: psutil.Process) -> float:
    """What /proc/PID/stat counts, but not rounded to its 10 ms: Linux has a clock for every process.

    The clock's id is made as clock_getcpuclockid(3) makes it.
    """
    try:
        waited = process.cpu_times()
        return time.clock_gettime(~process.pid << 3 | 2) + waited.children_user + waited.children_system
    except (psutil.NoSuchProcess, OSError):
        return 0.0
