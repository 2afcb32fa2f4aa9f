"""The channel `slack` on a fake Slack, over real sockets."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from agent.people import People
from agent.ports.channels import Channel, ChannelPress, Chat, Form, Receipt
from agent.ports.platform import Platform
from bot.clock import SystemClock
from bot.server import Health, Server
from channels.slack.channel import Slack
from channels.slack.http import PATH
from channels.slack.settings import SlackSettings
from storage.blobs import FileBlobs
from storage.store.people import SqlRoster
from storage.store.sql import SqlStore, open_store
from tests.channels.listener import Listener
from tests.servers.slack.server import FakeSlack, running

MAX_FILE_BYTES = 1_000


@dataclass
class Desk(Listener):
    """A chat that says what a test wants."""

    receipt: Receipt = field(default_factory=lambda: Receipt(outcome="decided"))
    forms: dict[str, Form] = field(default_factory=dict)
    admitted: bool = True

    async def admits(self, identity: str, address: Any, company: str | None = None) -> bool:
        return self.admitted

    async def press(self, press: ChannelPress) -> Receipt:
        self.pressed.append(press)
        return self.receipt

    async def form(self, identity: str, value: str) -> Form:
        return self.forms[value] if value in self.forms else await super().form(identity, value)


@dataclass
class Problems:
    """What the channel reported; `now` is what is wrong at the moment."""

    now: str | None = None
    _told: asyncio.Event = field(default_factory=asyncio.Event)

    def report(self, problem: str | None) -> None:
        self.now = problem
        self._told.set()

    async def say(self, part: str) -> str:
        """The problem, once it says this."""
        await self._until(lambda: part in (self.now or ""))
        return self.now or ""

    async def pass_by(self) -> None:
        """Until nothing is wrong any more."""
        await self._until(lambda: self.now is None)

    async def _until(self, reached: Callable[[], bool]) -> None:
        while not reached():
            self._told.clear()
            await self._told.wait()


@dataclass(kw_only=True)
class Rig:
    """A channel at work, and two people in a channel with the bot."""

    slack: FakeSlack
    channel: Slack
    store: SqlStore
    ann: str
    bob: str
    ops: str
    problems: Problems
    url: str = ""

    @property
    def bot(self) -> str:
        """A mention of the bot."""
        return f"<@{self.slack.bot_user}>"


@asynccontextmanager
async def rigged(folder: Path, chat: Chat, *, slack: FakeSlack | None = None, **settings: Any) -> AsyncIterator[Rig]:
    """A Slack with two people in a channel with the bot, and the channel `slack` connected to it."""
    if slack is None:
        async with running() as own, rigged(folder, chat, slack=own, **settings) as rig:
            yield rig
        return
    store = await open_store(folder / "signoff.sqlite3", clock=SystemClock())
    problems = Problems()
    channel = Slack(
        _settings(slack, **settings),
        _platform(chat, store, folder, problems),
        rows=store,
        max_file_bytes=MAX_FILE_BYTES,
    )
    ann, bob = slack.person("ann"), slack.person("bob")
    ops = slack.room("ops", ann, bob)
    rig = Rig(slack=slack, channel=channel, store=store, ann=ann, bob=bob, ops=ops, problems=problems)
    try:
        async with _served(rig):
            await channel.start()
            yield rig
            await channel.stop()
    finally:
        await channel.stop()
        await store.close()


def _settings(slack: FakeSlack, **settings: Any) -> SlackSettings:
    return SlackSettings.model_validate(
        {
            "enabled": True,
            "bot_token": slack.bot_token,
            "app_token": slack.app_token,
            "signing_secret": slack.signing_secret,
            "base_url": slack.api_url,
            **settings,
        }
    )


def _platform(chat: Chat, store: SqlStore, folder: Path, problems: Problems) -> Platform:
    return Platform(
        chat=chat,
        people=People((), SqlRoster(store.database)),
        deliveries=store,
        leases=store,
        blobs=FileBlobs(folder / "blobs"),
        clock=store.clock,
        report=lambda _channel, problem: problems.report(problem),
        public_url=None,
    )


@asynccontextmanager
async def _served(rig: Rig) -> AsyncIterator[None]:
    """In the HTTP mode, a server with the channel's routes, which Slack calls."""
    if not rig.channel.routes():
        yield
        return
    channels: list[Channel] = [rig.channel]
    server = Server(Health(listings=rig.store), channels, max_body=2**20)
    rig.url = f"http://127.0.0.1:{await server.start('127.0.0.1', 0)}{PATH}"
    rig.slack.http.request_url = rig.url
    try:
        yield
    finally:
        await server.close()
