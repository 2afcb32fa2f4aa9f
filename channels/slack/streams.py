"""Slack's native streams: a card for each call of a task, and the answer below as it is written.

docs.slack.dev/reference/methods/chat.startStream
"""

from __future__ import annotations

import structlog

from agent.domain import TERMINAL, Task
from agent.errors import ChannelUnavailable
from agent.ports.channels import StepState
from agent.ports.clock import Clock
from agent.ports.platform import Members
from channels.slack import drawing
from channels.slack.attempt import THREAD_GONE
from channels.slack.calls import Json, SlackRefused
from channels.slack.directory import Directory
from channels.slack.messages import Sent
from channels.slack.pace import PacedCalls
from channels.slack.requester import requester
from channels.slack.shows import Show

log = structlog.get_logger()

STREAM_SECONDS = 270.0
"""A stream closes by itself after some five minutes (github.com/vercel/chat/issues/607)."""
STATUS_SECONDS = 60.0
"""A status fades after two minutes (docs.slack.dev/reference/methods/assistant.threads.setStatus)."""


class Streams:
    """Draws shows as streams; where Slack refuses them is remembered until the process ends."""

    def __init__(self, calls: PacedCalls, directory: Directory, members: Members, clock: Clock) -> None:
        self._calls = calls
        self._directory = directory
        self._members = members
        self._clock = clock
        self._refused: set[str] = set()

    async def can(self, show: Show) -> bool:
        """Whether there may be one: it needs a thread and, in a channel, somebody for whom it is."""
        return bool(show.to.thread) and show.channel not in self._refused and await self._recipient(show) is not None

    async def draw(self, show: Show) -> float:
        """Draw the newest; 0, or the seconds until there is room for it. SlackRefused: not in this conversation."""
        if show.message is not None and self._is_late(show):
            await self._roll_over(show)
        chunks, drawn = drawing.grown(show.drawn, show.newest)
        if show.message is not None and drawn.size > drawing.STREAM_BYTES:
            await self._roll_over(show)
            chunks, drawn = drawing.grown(show.drawn, show.newest)
        if show.message is None:
            return await self._start(show, chunks, drawn)
        return await self._append(show, show.message, chunks, drawn) if chunks else 0

    async def finish(self, show: Show, answer: str, part: str, tag: Json) -> Sent | None:
        """End a stream with the first part of the answer below its cards; None when that is to be sent by itself."""
        chunks = drawing.finished(show.drawn, answer, part)
        if show.message is None or chunks is None or self._is_late(show):
            return None
        chunks = [*drawing.closing(show.drawn, _left(show.task)), *chunks]
        try:
            await self._calls.call("chat.stopStream", **_at(show.message), **_with(chunks), metadata=tag)
        except SlackRefused as error:
            log.debug("stream_not_finished", code=error.code)
            return None
        except ChannelUnavailable as error:
            if error.retry_after is None:
                raise  # it may have arrived; whoever tries again looks
            return None
        message, show.message = show.message, None
        return message

    async def end(self, show: Show, waiting: frozenset[str]) -> None:
        """Close the stream of a show; the calls `waiting` for a person say so."""
        if show.message is None:
            return
        chunks = [
            {**chunk, "status": "pending", "details": "Waits for an approval."} if chunk["id"] in waiting else chunk
            for chunk in drawing.closing(show.drawn, _left(show.task))
        ]
        await self._calls.try_call("chat.stopStream", **_at(show.message), **_with(chunks))

    async def _start(self, show: Show, chunks: list[Json], drawn: drawing.Drawn) -> float:
        if not chunks:
            await self._say_status(show)
            return 0
        if wait := self._calls.take("chat.startStream"):
            return wait
        who = await self._recipient(show) or {}
        place = {"channel": show.channel, "thread_ts": show.to.thread, "task_display_mode": "timeline"}
        try:
            answer = await self._calls.call("chat.startStream", chunks=chunks, **place, **who)
        except SlackRefused as error:
            if error.code not in THREAD_GONE:
                self._refused.add(show.channel)
            raise
        show.message = Sent(channel=str(answer["channel"]), ts=str(answer["ts"]))
        show.began_at, show.drawn = self._now(), drawn
        return 0

    async def _append(self, show: Show, message: Sent, chunks: list[Json], drawn: drawing.Drawn) -> float:
        if wait := self._calls.take("chat.appendStream"):
            return wait
        try:
            await self._calls.call("chat.appendStream", **_at(message), chunks=chunks)
        except SlackRefused as error:
            log.debug("stream_closed", code=error.code)  # by itself, by a person, or deleted
            show.leave()
            return await self.draw(show)
        except ChannelUnavailable as error:
            if error.retry_after is None and drawn.written != show.drawn.written:
                show.leave(is_known=False)  # the same words must not be said twice
            raise
        show.drawn = drawn
        return 0

    async def _roll_over(self, show: Show) -> None:
        """Close a stream before it closes by itself; the next one goes on with what is not over."""
        if show.message is not None:
            chunks = drawing.closing(show.drawn, "waiting", "Goes on below.")
            await self._calls.try_call("chat.stopStream", **_at(show.message), **_with(chunks))
        show.leave()

    async def _say_status(self, show: Show) -> None:
        """Below the box where people write, until the first message."""
        if self._now() - show.status_at < STATUS_SECONDS:
            return
        show.status_at = self._now()
        place = {"channel_id": show.channel, "thread_ts": show.to.thread}
        await self._calls.try_call("assistant.threads.setStatus", status="is working…", **place)

    async def _recipient(self, show: Show) -> dict[str, str] | None:
        """For whom a stream is, which Slack wants to know in channels; None when nobody in Slack asked."""
        if show.channel.startswith("D"):
            return {}
        user = await requester(show.task, self._members)
        return {"recipient_user_id": user, "recipient_team_id": (await self._directory.me()).team} if user else None

    def _is_late(self, show: Show) -> bool:
        return self._now() - show.began_at > STREAM_SECONDS

    def _now(self) -> float:
        return self._clock.now().timestamp()


def _at(message: Sent) -> dict[str, str]:
    return {"channel": message.channel, "ts": message.ts}


def _with(chunks: list[Json]) -> dict[str, list[Json]]:
    return {"chunks": chunks} if chunks else {}


def _left(task: Task) -> StepState:
    """What became of a call whose end was not seen any more."""
    return "failed" if task.status in TERMINAL - {"done"} else "done"
