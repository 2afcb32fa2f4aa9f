"""A whole running Signoff and the Slack of the people who work with it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp

from agent.ports.store import TaskState
from bot.app import App, started
from bot.config import load_config
from tests.flows.bot import LOOKS, configured
from tests.servers.llm import FakeLLM
from tests.servers.slack.server import FakeSlack
from tests.servers.slack.world import Message


@dataclass(kw_only=True)
class Team:
    """Ann decides, Ben does not, Eve is nobody we know; all are in the channel with the bot. `others` are more people
    of the configuration, `agent` goes into that section of it, `url` names a database server."""

    home: Path
    slack: FakeSlack
    model: FakeLLM
    ann: str
    ben: str
    eve: str
    ops: str
    settings: dict[str, Any]
    others: list[dict[str, Any]] = field(default_factory=list)
    agent: dict[str, Any] = field(default_factory=dict)
    url: str | None = None

    @property
    def office(self) -> Path:
        """The folder that is worked in."""
        return self.home / "office"

    def mentions(self, user: str, text: str, **more: Any) -> Message:
        """Somebody speaks to the bot in the channel."""
        return self.slack.says(user, self.ops, f"<@{self.slack.bot_user}> {text}", **more)

    async def reads(self, part: str, *, thread: str | None = None, channel: str = "") -> Message:
        """What the bot said with these words, in a thread if one is named."""
        found: list[Message] = []

        def said() -> bool:
            found[:] = [
                message
                for message in self.slack.answers(channel or self.ops)
                if part in message.shown and thread in {None, message.thread}
            ]
            return bool(found)

        await self.slack.until(said)
        return found[-1]

    async def card(self, thread: str) -> Message:
        """The message in a thread that has buttons to decide with."""
        await self.slack.until(lambda: bool(self._cards(thread)))
        return self._cards(thread)[-1]

    async def whispered(self, user: str, part: str) -> Message:
        """What only this person was told."""
        await self.slack.until(lambda: any(part in message.shown for message in self.slack.whispers(user)))
        return next(message for message in self.slack.whispers(user) if part in message.shown)

    @asynccontextmanager
    async def at_work(self) -> AsyncIterator[App]:
        """A process of it."""
        async with started(load_config(self.config(), self.environment)) as app:
            yield app

    @property
    def environment(self) -> dict[str, str]:
        """What its `.env` would say."""
        return {"BOT": self.slack.bot_token, "APP": self.slack.app_token, "SECRET": self.slack.signing_secret}

    def config(self) -> Path:
        """Its config.yaml, written."""
        people: list[dict[str, Any]] = [
            {"name": "Ann", "roles": ["admin", "approver"], "slack": self.ann},
            {"name": "Ben", "slack": self.ben},
            *self.others,
        ]
        path = configured(self.home, self.model.base_url, people=people, url=self.url, **self.agent)
        settings = json.loads(path.read_text())
        settings["workspaces"]["office"]["channels"] = ["slack:*", "cli:*", "webhook:*"]
        tokens = {"bot_token": "${BOT}", "app_token": "${APP}", "signing_secret": "${SECRET}"}
        settings["channels"] = {"slack": {"enabled": True, "base_url": self.slack.api_url, **tokens, **self.settings}}
        path.write_text(json.dumps(settings))
        return path

    def _cards(self, thread: str) -> list[Message]:
        return [message for message in self.slack.thread(self.ops, thread) if "Approve" in message.buttons]


@asynccontextmanager
async def team(home: Path, **settings: Any) -> AsyncIterator[Team]:
    """The people and the servers, for as many processes as a test starts; `settings` are of `channels.slack`."""
    slack, model = FakeSlack(), FakeLLM()
    await slack.start()
    await model.start()
    ann, ben, eve = (slack.person(name) for name in ("ann", "ben", "eve"))
    ops = slack.room("ops", ann, ben, eve)
    try:
        yield Team(home=home, slack=slack, model=model, ann=ann, ben=ben, eve=eve, ops=ops, settings=settings)
    finally:
        await slack.close()
        await model.close()
    assert model.refusals == [], "a strict provider refused a request"
    assert slack.world.pings == []


async def reached(app: App, task_id: int, what: Callable[[TaskState], bool]) -> TaskState:
    """A task once a condition holds for its rows."""
    for _ in range(LOOKS):
        state = await app.services.store.load(task_id)
        if what(state):
            return state
        await asyncio.sleep(0.01)
    raise AssertionError(f"task {task_id} stayed {state.task.status} ({state.task.error_text})")


async def ready(app: App) -> dict[str, Any]:
    """What /readyz answers."""
    async with aiohttp.ClientSession() as http, http.get(f"{app.url}/readyz") as answer:
        return dict(await answer.json())
