"""A whole running Signoff with the fake Telegram in front and a strict model server behind it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from agent import buttons
from agent.domain import Approval, Task
from agent.ports.listings import ApprovalSelection
from agent.ports.store import TaskState
from bot.app import App, started
from bot.config import load_config
from tests.flows.bot import LOOKS, configured
from tests.servers.llm import FakeLLM
from tests.servers.telegram.server import FakeTelegram
from tests.servers.telegram.world import Answer, Chat, Key, Message, User

TOKEN = "TELEGRAM_BOT_TOKEN"


@dataclass(kw_only=True)
class House:
    """A folder with people on Telegram: Ann and Eve decide, Ben does not, Nell is a stranger. `database`: the URL of
    one for several processes."""

    folder: Path
    database: str | None = None
    tg: FakeTelegram = field(default_factory=FakeTelegram)
    model: FakeLLM = field(default_factory=FakeLLM)

    def __post_init__(self) -> None:
        self.ann, self.ben, self.eve, self.nell = map(self.tg.user, ("Ann", "Ben", "Eve", "Nell"))

    @asynccontextmanager
    async def running(self, *, channels: Sequence[str] = ("telegram:*",), **telegram: Any) -> AsyncIterator[Signoff]:
        """Start it; `channels` are the conversations that work in `office`."""
        people = [
            {"name": "Ann", "roles": ["admin", "approver"], "telegram": self.ann.user_id},
            {"name": "Ben", "telegram": self.ben.user_id},
            {"name": "Eve", "roles": ["approver"], "telegram": self.eve.user_id},
        ]
        path = configured(self.folder, self.model.base_url, url=self.database, people=people)
        settings = json.loads(path.read_text())
        settings["channels"] = {
            "telegram": {
                "enabled": True,
                "token": f"${{{TOKEN}}}",
                "base_url": self.tg.base_url,
                "base_file_url": self.tg.base_file_url,
                **telegram,
            }
        }
        settings["workspaces"]["office"]["channels"] += channels
        path.write_text(json.dumps(settings))
        async with started(load_config(path, {TOKEN: self.tg.token})) as app:
            yield Signoff(app=app, tg=self.tg, model=self.model, office=self.folder / "office")


@asynccontextmanager
async def house(folder: Path) -> AsyncIterator[House]:
    """The servers, for as many starts as a test likes."""
    made = House(folder=folder)
    await made.tg.start()
    await made.model.start()
    try:
        yield made
    finally:
        await made.model.close()
        await made.tg.close()
    assert made.model.refusals == [], "a strict provider refused a request"


@dataclass(kw_only=True)
class Signoff:
    """One start of it."""

    app: App
    tg: FakeTelegram
    model: FakeLLM
    office: Path

    async def hears(self, chat: Chat, part: str) -> Message:
        """The newest message of the bot's with these words."""
        await self.tg.until(lambda: any(part in message.text for message in self.tg.from_bot(chat)))
        return [message for message in self.tg.from_bot(chat) if part in message.text][-1]

    async def tasks(self, count: int = 1) -> list[Task]:
        """All tasks, oldest first, once there are so many."""
        for _ in range(LOOKS):
            found = await self.app.services.store.tasks()
            if len(found) >= count:
                return found[::-1]
            await asyncio.sleep(0.01)
        raise AssertionError(f"there are {len(found)} tasks, not {count}")

    async def settled(self, task_id: int) -> TaskState:
        """A task once it has ended or waits for a person."""
        for _ in range(LOOKS):
            state = await self.app.services.store.load(task_id)
            if state.task.status not in {"queued", "running"}:
                return state
            await asyncio.sleep(0.01)
        raise AssertionError(f"task {task_id} stayed {state.task.status}")

    async def card(self) -> Approval:
        """The only open card."""
        for _ in range(LOOKS):
            if found := await self.app.services.store.approvals(which=ApprovalSelection(status="open")):
                return found[0]
            await asyncio.sleep(0.01)
        raise AssertionError("no card is open")

    async def press(self, user: User, card: Approval, label: str, chat: Chat) -> Answer:
        """Press a button of a card, on a message that shows them all."""
        keys = [Key(label=one.label, data=one.value) for one in buttons.card_buttons(card)]
        message = Message(message_id=0, chat=chat, sender=self.tg.account.bot, text="A card", keyboard=[keys])
        return await self.tg.press(user, self.tg.account.add(message), label)
