"""What a reaction on the request says of its task: seen, waiting for a signature, done, failed."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Mapping

import structlog

from agent.domain import Task, TaskStatus
from agent.errors import ChannelError
from channels.telegram import messages
from channels.telegram.calls import Calls, Refused

log = structlog.get_logger()

# Out of those a bot may use (core.telegram.org/bots/api#reactiontypeemoji).
_EMOJI: Mapping[TaskStatus, str] = {
    "queued": "👀",
    "running": "👀",
    "waiting_approval": "✍",
    "done": "👌",
    "failed": "😢",
    "expired": "😢",
    "cancelled": "🫡",
}
REMEMBERED = 1_000
"""Requests of which it is known what stands on them."""

Request = tuple[str, str]


class Reactions:
    """Sets one reaction at a time on a message, in the background and best effort: the newest one counts."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls
        self._wanted: dict[Request, str] = {}
        self._shown: OrderedDict[Request, str] = OrderedDict()
        self._working: dict[Request, asyncio.Task[None]] = {}
        self._refused: set[str] = set()

    def show(self, task: Task) -> None:
        """Say on the request how far its task is, unless its chat takes no reactions."""
        asked, emoji = messages.request(task), _EMOJI[task.status]
        if asked is None or asked[0].conversation in self._refused:
            return
        request = asked[0].conversation, asked[1]
        if self._shown.get(request) == emoji and request not in self._wanted:
            return
        self._wanted[request] = emoji
        if request not in self._working:
            self._working[request] = asyncio.create_task(self._work(request), name="telegram reaction")

    async def close(self) -> None:
        """Leave what is not said yet."""
        working = list(self._working.values())
        for task in working:
            task.cancel()
        await asyncio.gather(*working, return_exceptions=True)

    async def _work(self, request: Request) -> None:
        try:
            while (emoji := self._wanted.pop(request, None)) is not None:
                await self._set(request, emoji)
        except ChannelError as error:
            log.debug("telegram_reaction_not_set", reason=str(error))
            if isinstance(error, Refused) and error.kind != "message_gone":
                self._refused.add(request[0])
        finally:
            del self._working[request]

    async def _set(self, request: Request, emoji: str) -> None:
        await self._calls.to_message(
            *request,
            lambda chat_id, message_id: self._calls.bot.set_message_reaction(chat_id, message_id, emoji),
        )
        self._shown[request] = emoji
        self._shown.move_to_end(request)
        if len(self._shown) > REMEMBERED:
            self._shown.popitem(last=False)
