"""The channel `telegram`: puts together what receives, what sends and what fetches files of one bot."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial
from typing import Any

import structlog

from agent.domain import Address
from agent.ports.channels import Feature, Outgoing, Shown
from agent.ports.platform import Platform
from agent.rounds import repeated
from channels.telegram.calls import Calls
from channels.telegram.files import Files
from channels.telegram.intake import Intake
from channels.telegram.polling import Polling
from channels.telegram.sending import Sending
from channels.telegram.settings import Pace, TelegramSettings
from channels.telegram.state import BotState
from channels.telegram.uploads import most_bytes
from channels.telegram.webhook import Webhook

log = structlog.get_logger()


class Telegram:
    """Implements the port Channel. It can send without having been started. `owner` tells this process from others
    that would receive for the same bot."""

    name = "telegram"
    features: frozenset[Feature] = frozenset(
        {"buttons", "forms", "threads", "uploads", "edits", "streaming", "rich_text"}
    )

    def __init__(
        self, settings: TelegramSettings, state: BotState, platform: Platform, owner: str, pace: Pace | None = None
    ) -> None:
        pace = pace or Pace()
        report = partial(platform.report, self.name)
        clock = platform.clock
        self._settings = settings
        self._owner = owner
        self._public_url = platform.public_url
        self._clock = clock
        self._calls = Calls(settings, state, pace)
        self._files = Files(self._calls)
        self._intake = Intake(settings, state, platform.chat, self._calls, clock, pace)
        self._polling = Polling(self._calls, self._intake, platform.leases, clock, pace, report)
        self._webhook = Webhook(self._calls, self._intake, state, clock, pace, report)
        self._sending = Sending(self._calls, platform, most_bytes(settings.base_url))
        self._receiving: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Begin to receive; what is wrong with that is reported, and tried again."""
        self._receiving = asyncio.create_task(repeated(self._receive, self._clock), name=self.name)

    async def stop(self) -> None:
        """Stop receiving, let what is being said come to its end, hang up."""
        if self._receiving is not None:
            self._receiving.cancel()
            await asyncio.wait([self._receiving])
        await self._intake.close()
        await self._sending.close()
        await self._calls.close()

    async def send(self, outgoing: Outgoing) -> str | None:
        """Send a delivery."""
        return await self._sending.send(outgoing)

    async def settle(self, outgoing: Outgoing, sent_as: str) -> None:
        """Edit a card to what has become of it."""
        await self._sending.settle(outgoing, sent_as)

    async def progress(self, to: Address, shown: Shown) -> None:
        """Show what a task is doing."""
        await self._sending.progress(to, shown)

    async def download(self, reference: str) -> bytes:
        """The bytes of a file, by its id."""
        return await self._files.download(reference)

    def routes(self) -> Sequence[Any]:
        """Where Telegram posts, in webhook mode."""
        return self._webhook.routes() if self._settings.mode == "webhook" else ()

    async def _receive(self) -> None:
        if self._settings.mode == "webhook":
            await self._webhook.turn(self._public_url or "")
        else:
            await self._polling.turn(f"telegram:{self._settings.bot_id}", self._owner)
