"""The channel on the fake Telegram, handing in to a chat that keeps what it hears."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from agent.domain import Address, Delivery
from agent.errors import BadInput, NotFound
from agent.people import People
from agent.ports.channels import ChannelMessage, ChannelPress, Chat, Form, Outgoing, Receipt
from agent.ports.platform import Platform
from bot.clock import SystemClock
from channels.telegram.channel import Telegram
from channels.telegram.settings import Pace, TelegramSettings
from channels.telegram.state import BotState
from storage.blobs import FileBlobs
from storage.store.people import SqlRoster
from storage.store.sql import SqlStore, open_store
from tests.servers.telegram.server import FakeTelegram
from tests.servers.telegram.world import Chat as TelegramChat
from tests.servers.telegram.world import Key, Message

QUICK = Pace(
    poll=2,
    answer=1.0,
    connect=1.0,
    quiet=0.15,
    rest=0.3,
    lease=2.0,
    pause=0.02,
    longest_pause=0.1,
    conflict=0.3,
    refused=0.3,
)


@dataclass
class Ears:
    """Implements Chat: keeps what it is handed. `failures` are raised first, one for each event; `receipts` and `forms`
    are what the next presses come to, and `strangers` are not let in."""

    heard: list[ChannelMessage] = field(default_factory=list)
    pressed: list[ChannelPress] = field(default_factory=list)
    failures: deque[Exception] = field(default_factory=deque)
    receipts: deque[Receipt] = field(default_factory=deque)
    forms: dict[str, Form | BadInput] = field(default_factory=dict)
    strangers: set[str] = field(default_factory=set)
    happened: asyncio.Event = field(default_factory=asyncio.Event)

    async def admits(self, identity: str, address: Address, company: str | None = None) -> bool:
        return identity not in self.strangers

    async def receive(self, message: ChannelMessage) -> Receipt:
        self._fail()
        self.heard.append(message)
        self.happened.set()
        return Receipt(outcome="task", task_id=len(self.heard))

    async def press(self, press: ChannelPress) -> Receipt:
        self._fail()
        self.pressed.append(press)
        self.happened.set()
        return self.receipts.popleft() if self.receipts else Receipt(outcome="decided", said="Noted.")

    async def form(self, identity: str, value: str) -> Form:
        form = self.forms.get(value, NotFound("There is no such card."))
        if isinstance(form, BadInput):
            raise form
        return form

    def _fail(self) -> None:
        if self.failures:
            raise self.failures.popleft()

    async def until(self, reached: Callable[[], Any], *, seconds: float = 10) -> None:
        """Wait until a condition holds after something was handed in."""
        async with asyncio.timeout(seconds):
            while not reached():
                self.happened.clear()
                await self.happened.wait()

    async def hears(self, count: int = 1) -> list[ChannelMessage]:
        """The messages, once there are so many."""
        await self.until(lambda: len(self.heard) >= count)
        return self.heard


def settings_for(tg: FakeTelegram, **changes: Any) -> TelegramSettings:
    """Those of a bot on a fake Telegram."""
    given = {"token": tg.token, "base_url": tg.base_url, "base_file_url": tg.base_file_url}
    return TelegramSettings.model_validate({"enabled": True, **given, **changes})


def platform_for(
    folder: Path,
    store: SqlStore,
    chat: Chat,
    report: Callable[[str, str | None], None] = lambda *_: None,
    public_url: str | None = None,
) -> Platform:
    """What a channel works with."""
    return Platform(
        chat=chat,
        people=People((), SqlRoster(store.database)),
        deliveries=store,
        leases=store,
        blobs=FileBlobs(folder / "blobs"),
        clock=SystemClock(),
        report=report,
        public_url=public_url,
    )


@dataclass(kw_only=True)
class Site:
    """A folder and a database in which channels of one bot are started."""

    tg: FakeTelegram
    folder: Path
    store: SqlStore
    ears: Ears = field(default_factory=Ears)
    problems: list[str | None] = field(default_factory=list)
    pace: Pace = QUICK

    def settings(self, **changes: Any) -> TelegramSettings:
        return settings_for(self.tg, **changes)

    def channel(self, *, owner: str = "one", public_url: str | None = None, **changes: Any) -> Telegram:
        """A channel as the configuration would make it."""
        platform = platform_for(self.folder, self.store, self.ears, self._report, public_url)
        return Telegram(self.settings(**changes), BotState(self.folder / "telegram"), platform, owner, self.pace)

    @asynccontextmanager
    async def running(self, **changes: Any) -> AsyncIterator[Telegram]:
        """A channel that receives while the block lasts."""
        channel = self.channel(**changes)
        await channel.start()
        try:
            yield channel
        finally:
            await channel.stop()

    def _report(self, name: str, problem: str | None) -> None:
        assert name == "telegram"
        if not self.problems or self.problems[-1] != problem:
            self.problems.append(problem)
        self.ears.happened.set()

    async def confirmed(self) -> None:
        """Wait until nothing is left that the bot has not confirmed."""
        await self.tg.until(lambda: not self.tg.account.updates.pending)

    def card(self, chat: TelegramChat, *keys: Key) -> Message:
        """A message of the bot's with buttons."""
        message = Message(message_id=0, chat=chat, sender=self.tg.account.bot, text="A card", keyboard=[list(keys)])
        return self.tg.account.add(message)

    def outgoing(self, chat: TelegramChat, text: str = "Hello.", **changes: Any) -> Outgoing:
        """A notice to a chat."""
        now = self.store.clock.now()
        to = Address(channel="telegram", conversation=str(chat.chat_id))
        delivery = Delivery(
            delivery_id=1, task_id=None, kind="notice", to=to, text=text, dedup_key="notice:1", status="pending",
            attempts=0, next_attempt_at=now, expires_at=now,
        )  # fmt: skip
        return Outgoing(delivery=replace(delivery, **changes), text=text)


@pytest.fixture
async def tg() -> AsyncIterator[FakeTelegram]:
    fake = FakeTelegram()
    await fake.start()
    yield fake
    await fake.close()


@pytest.fixture
async def site(tg: FakeTelegram, tmp_path: Path) -> AsyncIterator[Site]:
    store = await open_store(tmp_path / "rows.sqlite3", clock=SystemClock())
    yield Site(tg=tg, folder=tmp_path, store=store)
    await store.close()
