"""What a reaction on the request says of its task: seen, waiting, done, failed."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

import structlog

from agent.domain import Task, TaskStatus
from agent.errors import ChannelError
from channels.slack.calls import Calls
from channels.slack.directory import Directory
from channels.slack.events import CHANNEL
from channels.slack.messages import Sent

log = structlog.get_logger()

SEEN = "eyes"
WAITING = "hourglass_flowing_sand"
_NAMES: Mapping[TaskStatus, str] = {
    "queued": SEEN,
    "running": SEEN,
    "waiting_approval": WAITING,
    "done": "white_check_mark",
    "failed": "x",
    "expired": "x",
    "cancelled": "octagonal_sign",
}


class Reactions:
    """Sets one reaction at a time on a message, in the background and best effort: the newest one counts."""

    def __init__(self, calls: Calls, directory: Directory) -> None:
        self._calls = calls
        self._directory = directory
        self._wanted: dict[Sent, Task] = {}
        self._shown: dict[Sent, str] = {}
        self._working: dict[Sent, asyncio.Task[None]] = {}

    def show(self, task: Task) -> None:
        """Say on the request how far its task is; nothing when nobody asked for it in Slack."""
        asked = next((to for to in task.reply_to if to.channel == CHANNEL), None)
        if task.message_id is None or asked is None:
            return
        request = Sent(channel=asked.conversation, ts=task.message_id)
        if self._shown.get(request) == _NAMES[task.status] and request not in self._wanted:
            return
        self._wanted[request] = task
        if request not in self._working:
            self._working[request] = asyncio.create_task(self._work(request), name="slack reaction")

    async def close(self) -> None:
        """Leave what is not said yet."""
        working = list(self._working.values())
        for task in working:
            task.cancel()
        await asyncio.gather(*working, return_exceptions=True)

    async def _work(self, request: Sent) -> None:
        try:
            while (task := self._wanted.pop(request, None)) is not None:
                await self._change(request, task)
        except ChannelError as error:
            log.debug("reaction_not_set", reason=str(error))
        finally:
            del self._working[request]

    async def _change(self, request: Sent, task: Task) -> None:
        """Whatever it was before goes; after a restart nobody remembers what that was."""
        name = _NAMES[task.status]
        place = {"channel": await self._directory.channel(request.channel), "timestamp": request.ts}
        before = self._shown.pop(request, None)
        is_first = (task.status, task.epoch) in {("queued", 0), ("running", 1)}
        outdated = {before} if before else set() if is_first else {SEEN, WAITING}
        await self._tried("reactions.add", name=name, **place)
        for one in outdated - {name}:
            await self._tried("reactions.remove", name=one, **place)
        if name in {SEEN, WAITING}:
            self._shown[request] = name

    async def _tried(self, method: str, **arguments: str) -> None:
        try:
            await self._calls.call(method, **arguments)
        except ChannelError as error:
            log.debug("reaction_not_set", method=method, reason=str(error))
