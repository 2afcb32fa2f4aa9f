"""The channel `slack`: puts together what receives, what sends and what fetches files."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial
from typing import Any

import structlog

from agent.domain import Address
from agent.errors import ChannelError
from agent.ports.channels import Feature, Outgoing, Shown
from agent.ports.platform import Platform
from channels.slack.calls import Calls
from channels.slack.condition import Condition
from channels.slack.directory import Directory
from channels.slack.downloads import Downloads
from channels.slack.http import Requests
from channels.slack.intake import Intake, Rows
from channels.slack.sending import Sender
from channels.slack.settings import SlackSettings
from channels.slack.sockets import Sockets

log = structlog.get_logger()


class Slack:
    """Implements the port Channel. It can send without having been started."""

    name = "slack"
    features: frozenset[Feature] = frozenset(
        {"buttons", "forms", "threads", "uploads", "edits", "streaming", "rich_text"}
    )

    def __init__(self, settings: SlackSettings, platform: Platform, *, rows: Rows, max_file_bytes: int) -> None:
        clock = platform.clock
        self._settings = settings
        self._calls = Calls(settings, Condition(partial(platform.report, self.name)), clock)
        self._directory = Directory(self._calls)
        self._intake = Intake(settings, platform.chat, rows, self._directory, self._calls, clock)
        self._sender = Sender(self._calls, self._directory, rows, platform.blobs, platform.people, clock)
        self._downloads = Downloads(self._calls, max_file_bytes)
        self._sockets = Sockets(self._calls, settings.app_token.get_secret_value(), self._intake.take, clock)
        self._requests = Requests(settings.signing_secret.get_secret_value(), self._intake.take, clock)
        self._clock = clock
        self._receiving: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Begin to receive; what is wrong with that is reported, and tried again."""
        self._receiving = asyncio.create_task(self._receive(), name="slack")
        self._receiving.add_done_callback(self._ended)

    async def stop(self) -> None:
        """Stop receiving, let what is under way end, hang up."""
        if self._receiving is not None:
            self._receiving.cancel()
            await asyncio.wait([self._receiving])
        await self._sockets.close()
        await self._intake.close()
        await self._sender.close()
        await self._calls.close()

    async def send(self, outgoing: Outgoing) -> str | None:
        """Send and return where it lies."""
        return await self._sender.send(outgoing)

    async def settle(self, outgoing: Outgoing, sent_as: str) -> None:
        """Redraw a card."""
        await self._sender.settle(outgoing, sent_as)

    async def progress(self, to: Address, shown: Shown) -> None:
        """Show what a task is doing."""
        await self._sender.progress(to, shown)

    async def download(self, reference: str) -> bytes:
        """The bytes of a file, by its id."""
        return await self._downloads.fetch(reference)

    def routes(self) -> Sequence[Any]:
        """Where Slack calls, in the HTTP mode."""
        return self._requests.routes() if self._settings.mode == "http" else ()

    def _ended(self, receiving: asyncio.Task[None]) -> None:
        """It ends when it is told to, or by a mistake of ours, which somebody has to hear of."""
        if not receiving.cancelled() and (error := receiving.exception()) is not None:
            log.error("slack_receiving_failed_unexpectedly", exc_info=error)
            self._calls.condition.fails("connection", "Receiving from Slack failed; the log says how. Restart Signoff.")

    async def _receive(self) -> None:
        await self._known()
        if self._settings.mode == "socket":
            await self._sockets.run()

    async def _known(self) -> None:
        """Until Slack says who the bot is: what is wrong with its token shows at once, not with the first event."""
        pause = 1.0
        while True:
            try:
                me = await self._directory.me()
            except ChannelError as error:
                self._calls.condition.fails("connection", str(error))
                pause = getattr(error, "retry_after", None) or min(pause * 2, 60.0)
                await self._clock.sleep(pause)
            else:
                self._calls.condition.works("connection")
                log.info("slack_signed_in", team=me.team, bot=me.user)
                return
