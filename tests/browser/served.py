"""Signoff as a process of its own, which a browser finds again on the same port after a restart."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import socket
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bot.api import access
from bot.config import load_config
from bot.services import connected

ROOT = Path(__file__).parent.parent.parent
START_SECONDS = 60


@dataclass(kw_only=True)
class Served:
    """A server in a folder with the demo's files; `link` signs the operator in, once. `people` are names with their
    roles."""

    home: Path
    model_url: str | None = None
    people: Mapping[str, Sequence[str]] = field(default_factory=dict)
    policy: Mapping[str, Any] = field(default_factory=dict)
    url: str = ""
    link: str = ""
    port: int = 0
    _process: Process | None = field(default=None, init=False)

    async def start(self) -> None:
        """Start, or start again, on the same port and data."""
        if not self.port:
            self.port = _free_port()
            self._configure()
        environment = {name: value for name, value in os.environ.items() if not name.startswith("SIGNOFF_")}
        command = (sys.executable, "-m", "bot", "run", "--config", str(self.home / "config.yaml"))
        with (self.home / "server.log").open("ab") as log:
            self._process = await asyncio.create_subprocess_exec(
                *command, cwd=ROOT, stdout=PIPE, stderr=log, env=environment
            )
        async with asyncio.timeout(START_SECONDS):
            await self._ready(self._process)

    async def stop(self, *, kill: bool = False) -> None:
        """End it in order, or at once as a power cut does."""
        process = self._process
        if process is not None and process.returncode is None:
            process.send_signal(signal.SIGKILL if kill else signal.SIGTERM)
            await process.wait()

    async def way_in(self, name: str) -> str:
        """A login link of somebody."""
        async with connected(load_config(self.home / "config.yaml")) as services:
            return self.url + await access.login_path(services, name)

    async def _ready(self, process: Process) -> None:
        assert process.stdout is not None
        async for raw in process.stdout:
            line = raw.decode().strip()
            if line.startswith("console: "):
                self.link = line.removeprefix("console: ")
                self.url = self.link.rsplit("/login/", 1)[0]
            if line == "ready":
                return
        raise AssertionError(f"the server did not start:\n{(self.home / 'server.log').read_text()}")

    def _configure(self) -> None:
        shutil.copytree(ROOT / "demo-workspace", self.home / "demo")
        models = {"demo": {"model": "scripted/demo"}}
        if self.model_url:
            models["demo"] = {"model": "openai/fake", "api_base": self.model_url}
        settings: dict[str, Any] = {
            "bot": {
                "data_dir": str(self.home / "data"),
                "grace_seconds": 0,
                "timezone": "Europe/Berlin",
                "http": {"port": self.port},
            },
            "agent": {"models": models, "policy": dict(self.policy)},
            "people": [{"name": name, "roles": list(roles)} for name, roles in self.people.items()],
            "workspaces": {"demo": {"path": str(self.home / "demo"), "channels": ["console:*"]}},
        }
        (self.home / "config.yaml").write_text(json.dumps(settings))


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])
