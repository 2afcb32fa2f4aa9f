"""What is said once an event is acknowledged, best effort: to one person alone, or about an assistant's thread."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

import structlog

from agent.domain import Address
from agent.errors import ChannelError
from channels.slack.calls import Calls, SlackRefused
from channels.slack.directory import Directory
from channels.slack.inert import escaped

log = structlog.get_logger()

CLOSING_SECONDS = 2.0
"""For what is still to be said when the channel stops."""


class Whispers:
    """Speaks in the background; nobody waits for it, and an error is logged."""

    def __init__(self, calls: Calls, directory: Directory) -> None:
        self._calls = calls
        self._directory = directory
        self._speaking: set[asyncio.Task[None]] = set()

    def tell(self, user: str, place: Address, text: str) -> None:
        """Say something to one person where they are; in their direct messages when nobody whispers there."""
        self.later(self._told(user, place, text))

    def later(self, work: Coroutine[Any, Any, None]) -> None:
        """Do something that may fail."""
        task = asyncio.create_task(self._tried(work), name="slack whisper")
        self._speaking.add(task)
        task.add_done_callback(self._speaking.discard)

    async def close(self) -> None:
        """Finish."""
        if self._speaking:
            await asyncio.wait(list(self._speaking), timeout=CLOSING_SECONDS)
        for task in list(self._speaking):
            task.cancel()

    async def _tried(self, work: Coroutine[Any, Any, None]) -> None:
        try:
            await work
        except ChannelError as error:
            log.warning("slack_whisper_lost", reason=str(error))

    async def _told(self, user: str, place: Address, text: str) -> None:
        said = escaped(text)
        channel = await self._directory.channel(place.conversation)
        thread = {"thread_ts": place.thread} if place.thread else {}
        try:
            await self._calls.call("chat.postEphemeral", channel=channel, user=user, text=said, **thread)
        except SlackRefused:
            channel = await self._directory.channel(user)
            await self._calls.call("chat.postMessage", channel=channel, text=said)
