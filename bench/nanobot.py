"""nanobot 0.3.5, for comparison: installed into an environment of its own, served on loopback with the fake model."""

from __future__ import annotations

import asyncio
import json
import sys
import venv
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp

from bench.load import Answer, Message
from bench.processes import Process, free_port, spawn
from bench.servers import DOCUMENT, write_document

PACKAGE = "nanobot-ai[api]==0.3.5"
ENVIRONMENT = Path(__file__).parent / ".venv-nanobot"
_STAMP = ENVIRONMENT / PACKAGE


@dataclass(frozen=True, kw_only=True, slots=True)
class NanobotServer:
    """`nanobot serve`, running; its session is named by the first message."""

    process: Process
    url: str
    folder: Path
    name: str = "nanobot"

    @property
    def document(self) -> str:
        """How its tools name the document."""
        return str(self.folder / "workspace" / DOCUMENT)

    def request(self, message: Message) -> dict[str, Any]:
        """The arguments of aiohttp's `post`."""
        session = message.follows.task if message.follows else message.marker
        body = {"session_id": session, "messages": [{"role": "user", "content": message.text}]}
        return {"url": f"{self.url}/v1/chat/completions", "json": body}

    def answer(self, message: Message, body: Any) -> Answer:
        """Read the answer."""
        session = message.follows.task if message.follows else message.marker
        return Answer(text=body["choices"][0]["message"]["content"], task=session)


async def install() -> str | None:
    """Install it, unless it is there; the reason when it cannot be."""
    if _STAMP.exists():
        return None
    await asyncio.to_thread(venv.create, ENVIRONMENT, with_pip=True, clear=True)
    command = [str(ENVIRONMENT / "bin" / "pip"), "install", "--quiet", "--disable-pip-version-check", PACKAGE]
    process = await asyncio.create_subprocess_exec(*command, stdout=sys.stderr, stderr=asyncio.subprocess.PIPE)
    _, errors = await process.communicate()
    if process.returncode:
        return f"{PACKAGE} could not be installed: {errors.decode(errors='replace').strip().splitlines()[-1:]}"
    _STAMP.touch()
    return None


async def start_nanobot(http: aiohttp.ClientSession, folder: Path, model_url: str) -> NanobotServer:
    """Start it in a folder that is also its home."""
    workspace = folder / "workspace"
    workspace.mkdir(exist_ok=True)
    write_document(workspace)
    config = folder / "config.json"
    config.write_text(
        json.dumps(
            {
                "agents": {"defaults": {"workspace": str(workspace), "model": "fake", "provider": "custom"}},
                "providers": {"custom": {"apiKey": "none", "apiBase": model_url}},
            }
        )
    )
    port = free_port()
    command = [str(ENVIRONMENT / "bin" / "nanobot"), "serve", "--config", str(config), "--port", str(port)]
    process = await spawn(command, folder, folder / "nanobot.log", {"HOME": str(folder)})
    await process.ready(http, f"http://127.0.0.1:{port}/health")
    return NanobotServer(process=process, url=f"http://127.0.0.1:{port}", folder=folder)
