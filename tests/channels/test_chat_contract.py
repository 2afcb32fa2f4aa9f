"""What every chat platform holds to when it hands in what people write."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Protocol

import pytest

from agent.ports.channels import Chat
from bot.clock import SystemClock
from channels.telegram.channel import Telegram
from channels.telegram.state import BotState
from storage.store.sql import open_store
from tests.channels.listener import Listener
from tests.channels.slack.rig import rigged
from tests.channels.telegram.conftest import QUICK, platform_for, settings_for
from tests.servers.lines import Lines, Wire, wired
from tests.servers.slack.deliveries import Delivery
from tests.servers.slack.server import FakeSlack
from tests.servers.telegram.server import FakeTelegram
from tests.servers.telegram.world import User


class Platform(Protocol):
    """A fake platform with people on it."""

    async def say(self, who: str, text: str, *, room: str | None = None, key: str) -> bool:
        """Somebody writes, alone without a `room`; whether the bot acknowledged the event."""
        ...


@dataclass(frozen=True)
class Case:
    """A channel on its platform, handing in to a chat."""

    name: str
    running: Callable[[Chat], AbstractAsyncContextManager[Platform]]
    ids: Mapping[str, str] = field(default_factory=dict)
    """What the platform calls people and rooms, where it does not take our names."""

    def called(self, name: str) -> str:
        """The platform's id of somebody, or of a room."""
        return self.ids.get(name, name)


@dataclass(frozen=True)
class LinesPlatform:
    """The plain text platform."""

    wire: Wire

    async def say(self, who: str, text: str, *, room: str | None = None, key: str) -> bool:
        return "ack" in await self.wire.say(who, text, room=room or who, id=key)


@asynccontextmanager
async def lines(chat: Chat) -> AsyncIterator[Platform]:
    channel = Lines(chat)
    await channel.start()
    async with wired(channel) as wire:
        yield LinesPlatform(wire)
    await channel.stop()


@dataclass(frozen=True)
class SlackPlatform:
    """A fake Slack, whose patience is short."""

    slack: FakeSlack

    async def say(self, who: str, text: str, *, room: str | None = None, key: str) -> bool:
        event = {"type": "message", "user": who, "ts": f"{key}.0", "channel": room or "D1"}
        delivery = Delivery(kind="events_api", payload=self.slack.envelope({**event, "text": f"<@U0BOT> {text}"}))
        await self.slack.sockets.bring(delivery)
        return delivery.is_taken


@asynccontextmanager
async def slack(chat: Chat) -> AsyncIterator[Platform]:
    with TemporaryDirectory() as folder:
        async with rigged(Path(folder), chat) as rig:
            rig.slack.sockets.redelivery_seconds = 0.2
            yield SlackPlatform(rig.slack)


@dataclass
class TelegramPlatform:
    """A fake Telegram that knows one person and one group; it brings an update until it is confirmed."""

    tg: FakeTelegram
    updates: dict[str, dict[str, Any]] = field(default_factory=dict)

    async def say(self, who: str, text: str, *, room: str | None = None, key: str) -> bool:
        queue = self.tg.account.updates
        if key not in self.updates:
            person = User(user_id=int(TELEGRAM_IDS[who]), first_name=who)
            chat = self.tg.group("Room", person) if room else self.tg.private(person)
            self.tg.says(person, chat, f"@signoff_bot {text}" if room else text)
            self.updates[key] = queue.pending[-1]
        elif self.updates[key] not in queue.pending:
            queue.again(self.updates[key])
        with suppress(TimeoutError):
            await self.tg.until(lambda: self.updates[key] not in queue.pending, seconds=0.5)
        return self.updates[key] not in queue.pending


@asynccontextmanager
async def telegram(chat: Chat) -> AsyncIterator[Platform]:
    tg = FakeTelegram()
    tg.account.privacy = False
    await tg.start()
    with TemporaryDirectory() as folder:
        store = await open_store(Path(folder) / "rows.sqlite3", clock=SystemClock())
        state = BotState(Path(folder) / "telegram")
        channel = Telegram(settings_for(tg), state, platform_for(Path(folder), store, chat), "one", QUICK)
        await channel.start()
        yield TelegramPlatform(tg)
        await channel.stop()
        await store.close()
    await tg.close()


TELEGRAM_IDS = {"U1": "4242", "C1": "-1000000000100"}
CASES = [Case("lines", lines), Case("slack", slack), Case("telegram", telegram, TELEGRAM_IDS)]
every_chat = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)


@every_chat
async def test_a_message_says_who_where_and_what(case: Case) -> None:
    """By the platform's stable ids, and whether anybody else reads there."""
    chat = Listener()
    async with case.running(chat) as platform:
        assert await platform.say("U1", "Hello", room="C1", key="1")
        assert await platform.say("U1", "Hello again", key="2")
    company, alone = chat.heard
    who = f"{case.name}:{case.called('U1')}"
    assert (company.identity, company.text, company.direct) == (who, "Hello", False)
    assert (company.address.channel, company.address.conversation) == (case.name, case.called("C1"))
    assert (alone.identity, alone.text, alone.direct) == (who, "Hello again", True)


@every_chat
async def test_an_event_has_a_key_of_its_own(case: Case) -> None:
    """The same one when the platform sends it again, another one for an equal message."""
    chat = Listener()
    async with case.running(chat) as platform:
        for key in ("1", "1", "2"):
            await platform.say("U1", "Hello", key=key)
    first, again, other = (message.dedup_key for message in chat.heard)
    assert first == again != other
    assert first.startswith(f"{case.name}:")


@every_chat
async def test_what_was_not_taken_is_not_acknowledged(case: Case) -> None:
    """So that the platform sends it again, and it is taken then."""
    chat = Listener(draining=True)
    async with case.running(chat) as platform:
        assert not await platform.say("U1", "Hello", key="1")
        chat.draining = False
        assert await platform.say("U1", "Hello", key="1")
    assert [message.text for message in chat.heard] == ["Hello"]
