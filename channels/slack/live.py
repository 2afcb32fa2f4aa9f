"""Shows what a task is doing while it works: in a native stream, else in one message that is edited.

Best effort: each place has the newest state drawn as often as Slack has room for it, and the answer never waits. What
shows a task is written down, so that its answer can take it away also after a crash.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from dataclasses import replace
from typing import Protocol

import structlog

from agent.domain import Address, Task
from agent.errors import ChannelError, ChannelUnavailable, StorageError
from agent.ports.channels import Shown
from agent.ports.clock import Clock
from agent.ports.platform import Members
from channels.slack.calls import Calls, Json, SlackRefused
from channels.slack.directory import Directory
from channels.slack.drawing import holds_answer
from channels.slack.edited import Edited
from channels.slack.messages import Sent, sent
from channels.slack.pace import PacedCalls
from channels.slack.shows import Key, Show
from channels.slack.streams import Streams

log = structlog.get_logger()

PAUSES = {"stream": 1.0, "edited": 3.0}
"""Seconds between two looks of one place."""
CLOSING_SECONDS = 3.0
"""For a call that is under way when the answer comes."""
REMEMBERED = 1_000
"""Places, and those whose showing is over, so that news that come late do not begin it again."""


class Rows(Protocol):
    """Where it is written down what shows a task."""

    async def live_message(self, task_id: int, to: Address) -> str | None:
        """What shows the work on a task at an address."""
        ...

    async def save_live_message(self, task_id: int, to: Address, sent_as: str | None) -> None:
        """Note what does; None: nothing does any more."""
        ...


class Live:
    """One show for each task and address."""

    def __init__(self, calls: Calls, directory: Directory, rows: Rows, members: Members, clock: Clock) -> None:
        self._calls = PacedCalls(calls)
        self._directory = directory
        self._rows = rows
        self._clock = clock
        self._streams = Streams(self._calls, directory, members, clock)
        self._edited = Edited(self._calls, clock)
        self._shows: OrderedDict[Key, Show] = OrderedDict()
        self._over: OrderedDict[Key, int] = OrderedDict()

    async def progress(self, to: Address, shown: Shown) -> None:
        """Show the newest state soon, and return at once."""
        key = (shown.task.task_id, to)
        if shown.task.epoch <= self._over.get(key, -1):
            return
        show = self._shows.setdefault(key, Show(key=key, newest=shown))
        show.newest = shown
        if show.worker is None or show.worker.done():
            show.worker = asyncio.create_task(self._work(show), name=f"slack shows task {shown.task.task_id}")
        while len(self._shows) > REMEMBERED:
            _, forgotten = self._shows.popitem(last=False)
            forgotten.is_closing.set()

    async def close(self, task: Task, to: Address) -> Show | None:
        """End a showing: nothing more is drawn. What becomes of what stands there is up to `finish` and `leave`."""
        key = (task.task_id, to)
        self._over[key] = task.epoch
        self._over.move_to_end(key)
        if len(self._over) > REMEMBERED:
            self._over.popitem(last=False)
        show = self._shows.pop(key, None)
        if show is None:
            return None
        show.is_closing.set()
        if show.worker is not None:
            _, late = await asyncio.wait([show.worker], timeout=CLOSING_SECONDS)
            if late:
                show.worker.cancel()
                show.leave(is_known=False)
        show.newest = replace(show.newest, task=task)
        return show

    async def finish(self, show: Show, answer: str, part: str, tag: Json) -> Sent | None:
        """End a stream with the first part of the answer below its cards; None when that is to be sent by itself."""
        return await self._streams.finish(show, answer, part, tag) if show.kind == "stream" else None

    async def leave(self, show: Show, answer: str = "", waiting: frozenset[str] = frozenset()) -> None:
        """Close what is open: its steps stay, the beginning of an `answer` that stands elsewhere goes."""
        if show.message is not None and holds_answer(show.drawn, answer):
            show.leave()
        elif show.kind == "stream":
            await self._streams.end(show, waiting)
        else:
            await self._edited.end(show)
        for message in show.outdated(answer):
            await self._removed(message)
        if show.is_noted:
            await self._rows.save_live_message(*show.key, None)

    async def clear(self, task: Task, to: Address, arrived: frozenset[str] = frozenset()) -> None:
        """Take away what a process that died left behind, unless it is an answer that arrived."""
        where = await self._rows.live_message(task.task_id, to)
        if where is None:
            return
        if where not in arrived:
            await self._removed(sent(where))
        await self._rows.save_live_message(task.task_id, to, None)

    async def stop(self) -> None:
        """Draw nothing more."""
        workers = [show.worker for show in self._shows.values() if show.worker is not None]
        for worker in workers:
            worker.cancel()
        await asyncio.gather(*workers, return_exceptions=True)

    async def _work(self, show: Show) -> None:
        """Draw until the newest is drawn, or until Slack says that it cannot be."""
        while show.looked is not show.newest and not show.is_closing.is_set():
            newest = show.newest
            try:
                wait = await self._draw(show)
            except (ChannelError, StorageError) as error:
                log.debug("progress_not_shown", task=show.task.task_id, reason=str(error))
                is_final = isinstance(error, SlackRefused)
                wait = 0.0 if is_final else _retry_after(error) or PAUSES["edited"]
            if wait == 0:
                show.looked = newest
            await _until(show.is_closing, max(wait, PAUSES[show.kind]))

    async def _draw(self, show: Show) -> float:
        """Draw the newest; 0, or the seconds until there is room for it."""
        if not show.channel:
            await self.clear(show.task, show.to)
            show.channel = await self._directory.channel(show.to.conversation)
            show.first_at = self._clock.now().timestamp()
            show.kind = "stream" if await self._streams.can(show) else "edited"
        before = show.message
        wait = await self._drawn(show)
        if show.message is not None and show.message != before:
            show.is_noted = True
            await self._rows.save_live_message(*show.key, str(show.message))
        return wait

    async def _drawn(self, show: Show) -> float:
        if show.kind == "stream":
            try:
                return await self._streams.draw(show)
            except SlackRefused as error:
                log.info("slack_streams_refused", code=error.code)
                show.kind = "edited"
        return await self._edited.draw(show)

    async def _removed(self, message: Sent) -> None:
        """A stream is closed first; of anything else Slack says that it is none."""
        where = {"channel": message.channel, "ts": message.ts}
        await self._calls.try_call("chat.stopStream", **where)
        await self._calls.try_call("chat.delete", **where)


def _retry_after(error: Exception) -> float | None:
    return error.retry_after if isinstance(error, ChannelUnavailable) else None


async def _until(event: asyncio.Event, seconds: float) -> None:
    try:
        async with asyncio.timeout(seconds):
            await event.wait()
    except TimeoutError:
        return
