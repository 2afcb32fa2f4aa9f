"""The channel `telegram`: private chats, groups and topics of one bot."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from agent.domain import Address
from agent.errors import ChannelError
from agent.ports.channels import Chat, Feature, Outgoing, Shown
from agent.ports.clock import Clock
from agent.ports.files import Blobs
from agent.rounds import repeated
from channels.telegram.calls import Calls
from channels.telegram.files import Files
from channels.telegram.gathering import Gathering
from channels.telegram.intake import Intake
from channels.telegram.menu import offer_words
from channels.telegram.polling import Polling
from channels.telegram.sending import Sending
from channels.telegram.settings import Pace, TelegramSettings
from channels.telegram.state import BotState
from channels.telegram.webhook import Pushes

Report = Callable[[str | None], None]
"""Says what is wrong with the channel, or None: it works (again)."""


class Rows(Protocol):
    """What the channel keeps in the database."""

    async def lease(self, name: str, owner: str, seconds: float) -> bool: ...

    async def part_sent(self, delivery_id: int, sent_as: str) -> None: ...

    async def live_message(self, task_id: int, to: Address) -> str | None: ...

    async def save_live_message(self, task_id: int, to: Address, sent_as: str | None) -> None: ...


@dataclass(frozen=True, kw_only=True, slots=True)
class Surroundings:
    """What the channel works with. `owner` tells this process from others that may receive for the same bot;
    `public_url` is where Telegram reaches this server in webhook mode."""

    chat: Chat
    rows: Rows
    blobs: Blobs
    clock: Clock
    owner: str
    report: Report
    public_url: str | None = None


class TelegramChannel:
    """Receives by long polling or by a webhook, and sends. It can send without having been started."""

    name = "telegram"
    features: frozenset[Feature] = frozenset(
        {"buttons", "forms", "threads", "uploads", "edits", "streaming", "rich_text"}
    )

    def __init__(
        self, settings: TelegramSettings, state: BotState, around: Surroundings, pace: Pace | None = None
    ) -> None:
        pace = pace or Pace()
        self._around = around
        self._calls = Calls(settings, state, pace)
        self._sending = Sending(self._calls)
