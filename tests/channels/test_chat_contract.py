"""What every chat platform holds to when it hands in what people write."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from typing import Protocol

import pytest

from agent.domain import Address
from agent.ports.channels import Chat
from tests.channels.listener import Listener
from tests.servers.lines import Lines, Wire, wired


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


CASES = [Case("lines", lines)]
every_chat = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)


@every_chat
async def test_a_message_says_who_where_and_what(case: Case) -> None:
    """By the platform's stable ids, and whether anybody else reads there."""
    chat = Listener()
    async with case.running(chat) as platform:
        assert await platform.say("U1", "Hello", room="C1", key="1")
        assert await platform.say("U1", "Hello again", key="2")
    company, alone = chat.heard
    assert (company.identity, company.text, company.direct) == (f"{case.name}:U1", "Hello", False)
    assert company.address == Address(channel=case.name, conversation="C1")
    assert (alone.identity, alone.text, alone.direct) == (f"{case.name}:U1", "Hello again", True)


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
