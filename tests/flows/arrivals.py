"""Events from the chat platform `lines`, and rows in which they arrive, without a worker."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from agent.chat import PlatformChat
from agent.domain import Address, ApproverRule
from agent.pairing import HOLDS
from agent.ports.channels import ChannelMessage, ChannelPress, Receipt
from agent.ports.people import Pairing
from agent.ports.store import Step
from bot.services import Services, connected
from tests.clock import START, FakeClock
from tests.flows.talk import KNOWN, know, with_lines
from tests.storage import given

ROOM = Address(channel="lines", conversation="room")
RULE = ApproverRule(groups=(("approver",),))
ASKED = Pairing(identity="lines:N1", shown_name="Nell", code="ABCDEFGH", asked_at=START, expires_at=START)


Event = Callable[[PlatformChat], Awaitable[Receipt]]


def said(who: str, words: str, *, room: str | None = "room", key: str = "event", **more: Any) -> Event:
    """Somebody writes, alone when there is no `room`."""
    message = ChannelMessage(
        dedup_key=f"lines:{key}",
        address=Address(channel="lines", conversation=room or who),
        identity=f"lines:{who}",
        text=words,
        received_at=START,
        shown_name="Nell",
        direct=room is None,
        **more,
    )
    return lambda chat: chat.receive(message)


def pressed(who: str, value: str, *, room: str = "room", key: str = "event", **fields: str) -> Event:
    """Somebody presses a button, or sends a form's fields."""
    press = ChannelPress(
        dedup_key=f"lines:{key}",
        address=Address(channel="lines", conversation=room),
        identity=f"lines:{who}",
        value=value,
        pressed_at=START,
        fields=fields,
    )
    return lambda chat: chat.press(press)


@asynccontextmanager
async def prepared(home: Path) -> AsyncIterator[Services]:
    """In the room a card of Ben's waits and another request behind it; a stranger asks to be let in."""
    home.mkdir()
    other = {"model": "openai/other", "api_base": "http://127.0.0.1:9/v1"}
    config = with_lines(home, "http://127.0.0.1:9/v1", models={"fake": other, "other": other})
    async with connected(config, FakeClock()) as services:
        await know(services, KNOWN)
        place: dict[str, Any] = {"workspace": "office", "files": ()}
        await services.store.accept(
            given.message(address=ROOM, sender="Ben", text="Write", dedup_key="before"), **place
        )
        [state] = await services.store.claim("before", 1)
        arguments = '{"path":"a.md","content":"x"}'
        step = Step(
            entries=given.said("May I?"),
            new_calls=(given.call(arguments=arguments, rule=RULE),),
            approval=given.card("c1", token="token", shown_at=(ROOM,)),
            status="waiting_approval",
        )
        await services.store.advance(given.key(state), step)
        await services.store.accept(
            given.message(address=ROOM, sender="Ben", text="Then that", dedup_key="behind"), **place
        )
        asked = replace(ASKED, asked_at=services.clock.now(), expires_at=services.clock.now() + HOLDS)
        await services.roster.ask_pairing(asked, 1)
        yield services
