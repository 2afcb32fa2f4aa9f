"""The servers of one run: each is started when a measure first asks for it, and all are stopped at its end."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, TypeVar

import aiohttp

from bench import fake_slack
from bench.fake_slack import FakeSlack
from bench.load import Load, Sample, Target
from bench.nanobot import NanobotServer, start_nanobot
from bench.servers import (
    BoltServer,
    FakeModelServer,
    FloorServer,
    SignoffServer,
    start_fake_model,
    start_floor,
    start_signoff,
)

T = TypeVar("T", FloorServer, SignoffServer, NanobotServer, BoltServer)
_WARMING_MESSAGES = 20


class WrongAnswers(RuntimeError):
    """A server lost, doubled or swapped messages, or answered with an error: its figures mean nothing."""


class Fleet:
    """Everything a measure needs. Servers stay up side by side, so that rounds can go from one to the next."""

    def __init__(
        self, stack: AsyncExitStack, folder: Path, model: FakeModelServer, *, quick: bool, with_nanobot: bool
    ) -> None:
        self.http = model.http
        self.model = model
        self.load = Load(model.http)
        self.with_nanobot = with_nanobot
        self._stack = stack
        self._folder = folder
        self._quick = quick
        self._started: dict[str, Any] = {}

    @classmethod
    async def assemble(cls, stack: AsyncExitStack, folder: Path, *, quick: bool, with_nanobot: bool) -> Fleet:
        """Start the model."""
        http = await stack.enter_async_context(aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)))
        model = await start_fake_model(http, folder)
        stack.push_async_callback(model.process.stop)
        return cls(stack, folder, model, quick=quick, with_nanobot=with_nanobot)

    def size(self, full: int, quick: int) -> int:
        """How much to measure."""
        return quick if self._quick else full

    async def floor(self) -> FloorServer:
        """The floor."""
        return await self._once("floor", lambda folder: start_floor(self.http, folder, self.model.url))

    async def signoff(self, transport: str = "direct") -> SignoffServer:
        """Signoff, asking the model over this transport."""
        name = f"signoff-{transport}"
        return await self._once(name, lambda folder: start_signoff(self.http, folder, self.model.url, transport))

    async def nanobot(self) -> NanobotServer | None:
        """nanobot, when it takes part."""
        if not self.with_nanobot:
            return None
        return await self._once("nanobot", lambda folder: start_nanobot(self.http, folder, self.model.url))

    async def slack(self) -> FakeSlack:
        """A Slack for one app at a time."""
        if "slack" not in self._started:
            self._started["slack"] = await self._stack.enter_async_context(fake_slack.running())
        slack: FakeSlack = self._started["slack"]
        return slack

    async def start(self, name: str, starter: Callable[[Path], Awaitable[T]]) -> T:
        """Start a server in the folder of that name; it is stopped at the end of the run if it still is there."""
        folder = self._folder / name
        folder.mkdir(exist_ok=True)
        server = await starter(folder)
        self._stack.push_async_callback(server.process.stop)
        return server

    async def send(self, target: Target, count: int, concurrency: int = 1, text: str = "hello there") -> Sample:
        """Send new sessions' messages; WrongAnswers unless every one was answered rightly."""
        return right(target, await self.load.send(target, self.load.messages(count, text), concurrency))

    async def _once(self, name: str, starter: Callable[[Path], Awaitable[T]]) -> T:
        if name not in self._started:
            self._started[name] = await self.start(name, starter)
            await self.send(self._started[name], _WARMING_MESSAGES)
        server: T = self._started[name]
        return server


def right(target: Target, sample: Sample) -> Sample:
    """The sample, if it is worth anything."""
    if sample.errors:
        raise WrongAnswers(f"{target.name}: {len(sample.errors)} of {sample.sent} failed; first: {sample.errors[0]}")
    return sample
