"""What happens in a task, as it happens: the rows of its journal, and between them what is going on."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from dataclasses import dataclass
from typing import Literal

from agent.domain import TERMINAL, TaskStatus
from bot.api.shapes import Shown
from bot.api.tasks import EntryView, entry_view, visible_task
from bot.api.viewer import Viewer
from bot.services import Services

QUIET_SECONDS = 15.0
"""After which a follower gets a sign of life; the HTML standard (9.2.7) names 15 s against proxies that drop quiet
connections."""


class StatusView(Shown):
    """What a task is doing."""

    task_id: int
    status: TaskStatus
    error_code: str | None


class ProgressView(Shown):
    """The answer as far as the model has written it, behind the row with `after_seq`; best effort."""

    task_id: int
    after_seq: int
    text: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Event:
    """One thing that happened; `quiet` is nothing, for 15 seconds.

    Only an `entry` has a `seq`, by which a follower who comes back goes on.
    """

    kind: Literal["entry", "progress", "status", "quiet"]
    data: EntryView | ProgressView | StatusView | None = None
    seq: int | None = None


async def follow(
    services: Services, viewer: Viewer, task_id: int, after_seq: int = 0, *, quiet_seconds: float = QUIET_SECONDS
) -> AsyncGenerator[Event, None]:
    """The journal of a task after a seq and all that follows, until it has ended; NotFound.

    Every row comes once and in order. A `status` event comes after the rows that are there already, whenever the
    status changes, and as the last one when the task has ended. Close the generator to stop following.
    """
    viewer.require("tasks:read")
    await visible_task(services, viewer, task_id)
    reader = _Reader(services, task_id, after_seq)
    with services.watch.follow(task_id) as follower:
        # The first read comes after the following began, so that nothing falls between the two.
        for event in await reader.news():
            yield event
        while reader.status not in TERMINAL:
            progress = await follower.next(quiet_seconds)
            if progress is None:
                yield Event(kind="quiet")
                continue
            if progress.entries > reader.seq or progress.status != reader.status:
                for event in await reader.news():
                    yield event
            # Text belongs behind the rows it was written after; when the run has written more, it is among them.
            if progress.text and progress.entries >= reader.run_seq:
                data = ProgressView(task_id=task_id, after_seq=reader.seq, text=progress.text)
                yield Event(kind="progress", data=data)


class _Reader:
    """How far a follower has read a task's rows."""

    def __init__(self, services: Services, task_id: int, seq: int) -> None:
        self._services = services
        self._task_id = task_id
        self.seq = seq
        self.run_seq = 0
        """The last row that is no decision: those are written beside a run, which does not count them."""
        self.status: TaskStatus | None = None

    async def news(self) -> list[Event]:
        """The rows since the last time, then the status if it is another one."""
        # The task first: a status is written together with its rows, so these are not older than it.
        task = await self._services.store.task(self._task_id)
        entries = await self._services.store.journal(self._task_id, self.seq)
        events = [Event(kind="entry", seq=entry.seq, data=entry_view(entry)) for entry in entries]
        if entries:
            self.seq = entries[-1].seq
        self.run_seq = max([self.run_seq, *(entry.seq for entry in entries if entry.kind != "decision")])
        if task.status != self.status:
            self.status = task.status
            data = StatusView(task_id=task.task_id, status=task.status, error_code=task.error_code)
            events.append(Event(kind="status", data=data))
        return events
