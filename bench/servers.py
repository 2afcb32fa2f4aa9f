"""The servers under test, each in a folder of its own, and how each is spoken to."""

from __future__ import annotations

import asyncio
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp
import orjson
import yaml

from bench.bot_api import TOKEN
from bench.fake_slack import APP_TOKEN, BOT_TOKEN, FakeSlack
from bench.load import Answer, Message
from bench.processes import Process, free_port, spawn

ROOT = Path(__file__).parent.parent
WAIT_SECONDS = 60
DOCUMENT = "notes.txt"
"""A file of 2 KB in the workspace, for the tool's round trip."""


@dataclass(frozen=True, kw_only=True, slots=True)
class FakeModelServer:
    """The model all servers ask."""

    process: Process
    url: str
    http: aiohttp.ClientSession

    async def set(self, *, latency: int = 0, chunks: int = 20, pause: int = 0) -> None:
        """How it answers from now on, and a new record."""
        root = self.url.removesuffix("/v1")
        await (
            await self.http.post(f"{root}/set", params={"latency": latency, "chunks": chunks, "pause": pause})
        ).read()
        await (await self.http.post(f"{root}/reset")).read()

    async def record(self) -> dict[str, Any]:
        """What it was asked since `set`; see bench/fake_model.py."""
        async with self.http.get(f"{self.url.removesuffix('/v1')}/record") as response:
            record: dict[str, Any] = await response.json()
            return record


@dataclass(frozen=True, kw_only=True, slots=True)
class FloorServer:
    """bench/floor.py, running."""

    process: Process
    url: str
    database: Path
    name: str = "floor"

    def request(self, message: Message) -> dict[str, Any]:
        """The arguments of aiohttp's `post`."""
        return {"url": f"{self.url}/chat", "json": {"session": message.marker, "text": message.text}}

    def answer(self, message: Message, body: Any) -> Answer:
        """Read the answer."""
        return Answer(text=body["text"])


@dataclass(frozen=True, kw_only=True, slots=True)
class SignoffServer:
    """Signoff, running with one hook and one workspace; its database is SQLite in `folder`."""

    process: Process
    url: str
    token: str = field(repr=False)
    database: Path
    config: Path
    name: str = "Signoff"

    def request(self, message: Message) -> dict[str, Any]:
        """The arguments of aiohttp's `post`."""
        body: dict[str, Any] = {"text": message.text}
        if message.follows:
            body["follow_up_of"] = message.follows.task
        return {
            "url": f"{self.url}/hooks/bench?wait={WAIT_SECONDS}",
            "json": body,
            "headers": {"Authorization": f"Bearer {self.token}"},
        }

    def answer(self, message: Message, body: Any) -> Answer:
        """Read the outcome of a task that is done."""
        if body["status"] != "done":
            raise ValueError(f"the task ended {body['status']}: {body['error']}")
        return Answer(text=body["text"], task=body["task_id"])


@dataclass(frozen=True, kw_only=True, slots=True)
class BoltServer:
    """bench/bolt.py, running; it takes Slack's events alone."""

    process: Process


async def start_fake_model(http: aiohttp.ClientSession, folder: Path) -> FakeModelServer:
    """Start the model."""
    port = free_port()
    command = [sys.executable, "-m", "bench.fake_model", "--port", str(port)]
    process = await spawn(command, ROOT, folder / "fake_model.log")
    server = FakeModelServer(process=process, url=f"http://127.0.0.1:{port}/v1", http=http)
    await process.ready(http, f"http://127.0.0.1:{port}/record")
    return server


async def start_floor(http: aiohttp.ClientSession, folder: Path, model_url: str) -> FloorServer:
    """Start the floor."""
    port = free_port()
    database = folder / "floor.sqlite3"
    arguments = ["--port", str(port), "--model", model_url, "--path", str(database)]
    process = await spawn([sys.executable, "-m", "bench.floor", *arguments], ROOT, folder / "floor.log")
    await process.ready(http, f"http://127.0.0.1:{port}/readyz")
    return FloorServer(process=process, url=f"http://127.0.0.1:{port}", database=database)


async def start_bolt(folder: Path, slack: FakeSlack) -> BoltServer:
    """Start Bolt."""
    process = await spawn([sys.executable, "-m", "bench.bolt", "--slack", slack.url], ROOT, folder / "bolt.log")
    await slack.connected()
    return BoltServer(process=process)


async def start_signoff(
    http: aiohttp.ClientSession,
    folder: Path,
    model_url: str,
    transport: str,
    slack: FakeSlack | None = None,
    bot_api: str | None = None,
) -> SignoffServer:
    """Start Signoff, connected to `slack` and to Telegram at `bot_api` if given; the first time in a folder, its
    configuration and its hook are made."""
    config = folder / "config.yaml"
    port = free_port()
    first = not config.exists()
    config.write_text(_config(port, model_url, transport, slack, bot_api))
    if first:
        workspace = folder / "workspace"
        workspace.mkdir()
        write_document(workspace)
        secrets = folder / ".env"
        secrets.touch(mode=0o600)
        tokens = {"SLACK_BOT_TOKEN": BOT_TOKEN, "SLACK_APP_TOKEN": APP_TOKEN, "TELEGRAM_BOT_TOKEN": TOKEN}
        lines = [f"{name}={value}\n" for name, value in {"LLM_API_KEY": "none", **tokens}.items()]
        secrets.write_text("".join(lines))
        (folder / "hook.json").write_bytes(
            await run_command("webhooks", "create", "bench", "--json", "--config", str(config))
        )
    token = orjson.loads((folder / "hook.json").read_bytes())["token"]
    command = [sys.executable, "-m", "bot", "run", "--config", str(config)]
    process = await spawn(command, ROOT, folder / "signoff.log")
    await process.ready(http, f"http://127.0.0.1:{port}/readyz")
    if slack is not None:
        await slack.connected()
    database = next((folder / "data").glob("*.sqlite3"))
    url = f"http://127.0.0.1:{port}"
    return SignoffServer(process=process, url=url, token=token, database=database, config=config)


def write_document(workspace: Path) -> None:
    """Put the document where the tools read it."""
    (workspace / DOCUMENT).write_text("A line of some fifty characters, to be read.    \n" * 40)


def _config(port: int, model_url: str, transport: str, slack: FakeSlack | None, bot_api: str | None) -> str:
    model = {"model": "openai/fake", "api_base": model_url, "api_key": "${LLM_API_KEY}", "transport": transport}
    channels: dict[str, Any] = {"webhook": {"enabled": True}}
    if slack is not None:
        tokens = {"bot_token": "${SLACK_BOT_TOKEN}", "app_token": "${SLACK_APP_TOKEN}"}
        channels["slack"] = {"enabled": True, "base_url": slack.url, "allow": ["*"], **tokens}
    if bot_api is not None:
        channels["telegram"] = {"enabled": True, "token": "${TELEGRAM_BOT_TOKEN}", "base_url": bot_api}
    return yaml.safe_dump(
        {
            "bot": {"data_dir": "./data", "grace_seconds": 2 if slack else 20, "http": {"port": port}},
            "agent": {"model": "fake", "models": {"fake": model}, "workers": 200 if slack else 64},
            "channels": channels,
            "workspaces": {"bench": {"path": "./workspace", "channels": ["webhook:*", "slack:*"]}},
        }
    )


async def run_command(*arguments: str) -> bytes:
    """The output of one `signoff` command."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "bot", *arguments, cwd=ROOT, stdout=asyncio.subprocess.PIPE
    )
    output, _ = await process.communicate()
    if process.returncode:
        raise RuntimeError(f"signoff {' '.join(arguments)} ended with {process.returncode}.")
    return output
