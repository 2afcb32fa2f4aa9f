"""Shows what a task is doing while it works: a native stream, else one message that is edited.

Best effort: each place has the newest state drawn as often as Slack has room for it, and the answer never waits. What
shows a task is written down, so that its answer can take it away also after a crash.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Protocol

import structlog

from agent.domain import TERMINAL, Address, Task
from agent.errors import ChannelError, ChannelUnavailable, StorageError
from agent.ports.channels import Shown, StepState
from agent.ports.clock import Clock
from channels.slack import drawing
from channels.slack.calls import Calls, Json, SlackRefused
from channels.slack.directory import Directory
from channels.slack.drawing import Drawn
from channels.slack.messages import Sent, sent
from channels.slack.pace import Pace
from channels.slack.requester import Members, requester

log = structlog.get_logger()

STREAM_SECONDS = 270.0
"""A stream closes by itself after some five minutes (github.com/vercel/chat/issues/607)."""
STATUS_SECONDS = 60.0
"""A status fades after two minutes (docs.slack.dev/reference/methods/assistant.threads.setStatus)."""
PAUSES = {"stream": 1.0, "edited": 3.0}
"""Seconds between two looks of one place."""
QUIET_SECONDS = 3.0
"""Without a step or a word, after which an edited message says that it is worked on."""
CLOSING_SECONDS = 3.0
"""For a call that is under way when the answer comes."""
REMEMBERED = 1_000
"""Places whose showing is over, so that news that come late do not begin it again."""
# Calls a minute and at once, well below what Slack allows the whole app (docs.slack.dev/apis/web-api/rate-limits):
# 20 for chat.startStream and stopStream, 100 for appendStream, 50 for chat.update, which verdicts need, too.
_PACES = {"chat.startStream": (15, 8), "chat.appendStream": (80, 20), "chat.update": (25, 5)}

Kind = Literal["stream", "edited"]
Key = tuple[int, Address]


class Rows(Protocol):
    """Where it is written down what shows a task."""

    async def live_message(self, task_id: int, to: Address) -> str | None:
        """What shows the work on a task at an address."""
        ...

    async def save_live_message(self, task_id: int, to: Address, sent_as: str | None) -> None:
        """Note what does; None: nothing does any more."""
        ...


@dataclass(kw_only=True)
class Show:
    """One place. `message` is there from the first step or word on; `stale` ones hold the beginning of an answer that
    goes on elsewhere, and are taken away."""

    key: Key
    newest: Shown
    channel: str
    kind: Kind = "stream"
    message: Sent | None = None
    began: float = 0.0
    drawn: Drawn = field(default_factory=Drawn)
    looked: Shown | None = None
    stale: list[Sent] = field(default_factory=list)
    first_at: float = 0.0
    status_at: float = 0.0
    is_noted: bool = False
    is_closing: asyncio.Event = field(default_factory=asyncio.Event)
    worker: asyncio.Task[None] | None = None

    @property
    def task(self) -> Task:
        return self.newest.task

    @property
    def to(self) -> Address:
        return self.key[1]


class Live:
    """One show for each task and address."""

    def __init__(self, calls: Calls, directory: Directory, rows: Rows, members: Members, clock: Clock) -> None:
        self._calls = calls
        self._members = members
        self._directory = directory
        self._rows = rows
        self._clock = clock
        self._shows: dict[Key, Show] = {}
        self._over: OrderedDict[Key, int] = OrderedDict()
        self._no_streams: set[str] = set()
        self._paces = {method: Pace(*pace) for method, pace in _PACES.items()}

    async def progress(self, to: Address, shown: Shown) -> None:
        """Show the newest state soon, and return at once."""
        key = (shown.task.task_id, to)
        if shown.task.epoch <= self._over.get(key, -1):
            return
        show = self._shows.get(key)
        if show is None:
            show = self._shows[key] = Show(key=key, newest=shown, channel="")
        show.newest = shown
        if show.worker is None or show.worker.done():
            show.worker = asyncio.create_task(self._work(show), name=f"slack shows task {shown.task.task_id}")

    async def close(self, task: Task, to: Address) -> Show | None:
        """End a showing: nothing is drawn any more. What it shows then is up to whoever sends what comes next."""
        key = (task.task_id, to)
        self._over[key] = task.epoch
        self._over.move_to_end(key)
        if len(self._over) > REMEMBERED:
            self._over.popitem(last=False)
        show = self._shows.pop(key, None)
        if show is not None and show.worker is not None:
            show.is_closing.set()
            _, late = await asyncio.wait([show.worker], timeout=CLOSING_SECONDS)
            if late and show.message is not None:
                self._lost(show, show.message, is_known=False)
            show.worker.cancel()
        if show is not None:
            show.newest = replace(show.newest, task=task)
        return show

    async def finish(self, show: Show, answer: str, part: str, tag: Json) -> Sent | None:
        """End a stream with the first part of the answer below its cards; None when that is to be sent by itself."""
        chunks = drawing.finished(show.drawn, answer, part) if show.kind == "stream" and show.message else None
        if chunks is None or show.message is None or self._is_late(show):
            return None
        chunks = [*drawing.closing(show.drawn, _left(show.task)), *chunks]
        try:
            await self._stop(show.message, chunks, metadata=tag)
        except SlackRefused as error:
            log.debug("stream_not_finished", reason=str(error))
            return None
        except ChannelUnavailable as error:
            if error.retry_after is None:
                raise  # it may have arrived; whoever tries again looks
            return None
        message, show.message = show.message, None
        return message

    async def leave(self, show: Show, answer: str = "", waiting: frozenset[str] = frozenset()) -> None:
        """Close what is open: its steps stay, the beginning of an `answer` that stands elsewhere goes."""
        if show.message is not None and (
            (not show.drawn.steps and show.kind == "edited") or drawing.holds_answer(show.drawn, answer)
        ):
            show.stale.append(show.message)
        elif show.message is not None:
            await self._closed(show, show.message, waiting)
        show.message = None
        for message in show.stale:
            await self._removed(message)
        if show.is_noted:
            await self._rows.save_live_message(*show.key, None)

    async def clear(self, task: Task, to: Address, arrived: frozenset[str]) -> None:
        """Take away what a process that died left behind, unless it is an answer that arrived."""
        left = await self._rows.live_message(task.task_id, to)
        if left is None:
            return
        kind, _, where = left.partition(" ")
        if where not in arrived:
            await self._removed(sent(where), is_stream=kind == "stream")
        await self._rows.save_live_message(task.task_id, to, None)

    async def stop(self) -> None:
        """Draw nothing more."""
        workers = [show.worker for show in self._shows.values() if show.worker is not None]
        for worker in workers:
            worker.cancel()
        await asyncio.gather(*workers, return_exceptions=True)

    # --- drawing ---

    async def _work(self, show: Show) -> None:
        """Draw until the newest is drawn."""
        while show.looked is not show.newest and not show.is_closing.is_set():
            newest = show.newest
            try:
                wait = await self._draw(show)
            except (ChannelError, StorageError) as error:
                log.debug("progress_not_shown", task=show.task.task_id, reason=str(error))
                wait = getattr(error, "retry_after", None) or PAUSES["edited"]
            else:
                show.looked = newest if wait == 0 else show.looked
            await _until(show.is_closing, max(wait, PAUSES[show.kind]))

    async def _draw(self, show: Show) -> float:
        """Draw the newest; 0, or the seconds until there is room for it."""
        if not show.channel:
            await self.clear(show.task, show.to, frozenset())
            show.channel, show.first_at = await self._directory.channel(show.to.conversation), self._now()
            show.kind = "stream" if show.to.thread and show.channel not in self._no_streams else "edited"
        if show.message is None:
            return await self._begin(show)
        if show.kind == "edited":
            return await self._edit(show, show.message)
        if self._is_late(show):
            await self._roll_over(show, show.message)
            return await self._begin(show)
        return await self._append(show, show.message)

    async def _begin(self, show: Show) -> float:
        """Say that it is begun; open the message with the first step or word."""
        if show.kind == "edited":
            return await self._post(show)
        chunks, drawn = drawing.grown(show.drawn, show.newest)
        if not chunks:
            await self._say_status(show)
            return 0
        who = await self._recipient(show)
        if who is None:
            show.kind = "edited"
            return await self._post(show)
        if wait := self._paces["chat.startStream"].take():
            return wait
        try:
            answer = await self._paced("chat.startStream", channel=show.channel, thread_ts=show.to.thread,
                                       chunks=chunks, task_display_mode="timeline", **who)  # fmt: skip
        except SlackRefused as error:
            log.info("slack_streams_refused", reason=str(error))
            self._no_streams.add(show.channel)
            show.kind = "edited"
            return await self._post(show)
        await self._began(show, answer, drawn)
        return 0

    async def _append(self, show: Show, message: Sent) -> float:
        chunks, drawn = drawing.grown(show.drawn, show.newest)
        if not chunks:
            return 0
        if drawn.size > drawing.STREAM_BYTES:
            await self._roll_over(show, message)
            return await self._begin(show)
        if wait := self._paces["chat.appendStream"].take():
            return wait
        try:
            await self._paced("chat.appendStream", channel=message.channel, ts=message.ts, chunks=chunks)
        except SlackRefused:
            # Closed by itself, by a person, or deleted: the rest goes into another.
            self._lost(show, message)
            return PAUSES["stream"]
        except ChannelUnavailable as error:
            if error.retry_after is None and drawn.written != show.drawn.written:
                self._lost(show, message, is_known=False)  # the same words must not be said twice
            raise
        show.drawn = drawn
        return 0

    async def _post(self, show: Show) -> float:
        if not (show.newest.steps or show.newest.text) and self._now() - show.first_at < QUIET_SECONDS:
            return 0
        if wait := self._paces["chat.update"].take():
            return wait
        look = drawing.status(show.newest)
        thread = {"thread_ts": show.to.thread} if show.to.thread else {}
        answer = await self._calls.call(
            "chat.postMessage", channel=show.channel, text=look.text, blocks=list(look.blocks), **thread
        )
        await self._began(show, answer, _seen(show.newest))
        return 0

    async def _edit(self, show: Show, message: Sent) -> float:
        if show.looked is not None and drawing.status(show.newest) == drawing.status(show.looked):
            return 0
        if wait := self._paces["chat.update"].take():
            return wait
        look = drawing.status(show.newest)
        await self._paced(
            "chat.update", channel=message.channel, ts=message.ts, text=look.text, blocks=list(look.blocks)
        )
        show.drawn = _seen(show.newest)
        return 0

    async def _began(self, show: Show, answer: Json, drawn: Drawn) -> None:
        show.message = Sent(channel=str(answer["channel"]), ts=str(answer["ts"]))
        show.began, show.drawn = self._now(), drawn
        show.is_noted = True
        await self._rows.save_live_message(*show.key, f"{show.kind} {show.message}")

    async def _roll_over(self, show: Show, message: Sent) -> None:
        """Close a stream before it closes by itself; the next one goes on with what is not over."""
        await self._tried(self._stop(message, drawing.closing(show.drawn, "waiting", "Goes on below.")))
        self._lost(show, message)

    def _lost(self, show: Show, message: Sent, *, is_known: bool = True) -> None:
        if show.drawn.source or not is_known:
            show.stale.append(message)
        over = {call_id for call_id, step in show.drawn.steps.items() if step.state in drawing.OVER}
        show.message, show.drawn = None, Drawn(hidden=show.drawn.hidden | over)

    async def _say_status(self, show: Show) -> None:
        """Below the box where people write; Slack takes it away with the first message."""
        if self._now() - show.status_at < STATUS_SECONDS:
            return
        show.status_at = self._now()
        await self._tried(
            self._calls.call(
                "assistant.threads.setStatus", channel_id=show.channel, thread_ts=show.to.thread, status="is working…"
            )
        )

    async def _recipient(self, show: Show) -> dict[str, str] | None:
        """For whom a stream is, which Slack wants to know in channels; None when nobody in Slack asked."""
        if show.channel.startswith("D"):
            return {}
        user = await requester(show.task, self._members)
        return {"recipient_user_id": user, "recipient_team_id": (await self._directory.me()).team} if user else None

    # --- ending ---

    async def _closed(self, show: Show, message: Sent, waiting: frozenset[str]) -> None:
        if show.kind == "edited":
            blocks = list(drawing.closed(list(show.drawn.steps.values())))
            where = {"channel": message.channel, "ts": message.ts}
            await self._tried(self._calls.call("chat.update", text="Done so far.", blocks=blocks, **where))
            return
        ends = drawing.closing(show.drawn, _left(show.task))
        parked = [
            {**chunk, "status": "pending", "details": "Waits for an approval."} if chunk["id"] in waiting else chunk
            for chunk in ends
        ]
        await self._tried(self._stop(message, parked))

    async def _removed(self, message: Sent, *, is_stream: bool = True) -> None:
        if is_stream:
            await self._tried(self._stop(message, []))
        await self._tried(self._calls.call("chat.delete", channel=message.channel, ts=message.ts))

    async def _stop(self, message: Sent, chunks: list[Json], **more: Any) -> None:
        said = {"chunks": chunks} if chunks else {}
        await self._calls.call("chat.stopStream", channel=message.channel, ts=message.ts, **said, **more)

    async def _paced(self, method: str, **arguments: Any) -> Json:
        try:
            return await self._calls.call(method, **arguments)
        except ChannelUnavailable as error:
            if error.retry_after is not None:
                self._paces[method].hold(error.retry_after)
            raise

    async def _tried(self, work: Awaitable[Any]) -> None:
        try:
            await work
        except ChannelError as error:
            log.debug("progress_not_shown", reason=str(error))

    def _is_late(self, show: Show) -> bool:
        return self._now() - show.began > STREAM_SECONDS

    def _now(self) -> float:
        return self._clock.now().timestamp()


def _left(task: Task) -> StepState:
    """What became of a call whose end was not seen any more."""
    return "failed" if task.status in TERMINAL - {"done"} else "done"


def _seen(shown: Shown) -> Drawn:
    return Drawn(steps={step.call_id: step for step in shown.steps})


async def _until(event: asyncio.Event, seconds: float) -> None:
    try:
        async with asyncio.timeout(seconds):
            await event.wait()
    except TimeoutError:
        return
