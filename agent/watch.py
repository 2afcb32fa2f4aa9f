"""Looks after followed tasks whose rows somebody else changes: another process, or a person who decides."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import structlog

from agent.errors import StorageError
from agent.live import Follower, Live
from agent.ports.channels import Progress
from agent.ports.listings import Listings, TaskMark

log = structlog.get_logger()

LOOK_SECONDS = 1.0


class Watch:
    """One query a second for all followed tasks together, however many follow them; none while nobody does.

    What a run of this process writes arrives at once by `live` and does not wait for it.
    """

    def __init__(self, live: Live, listings: Listings) -> None:
        self._live = live
        self._listings = listings
        self._looking: asyncio.Task[None] | None = None

    @contextmanager
    def follow(self, task_id: int) -> Iterator[Follower]:
        """The progress of a task from now on, whoever makes it."""
        with self._live.follow(task_id) as follower:
            if self._looking is None or self._looking.done():
                self._looking = asyncio.create_task(self._look(), name="watch")
            yield follower

    async def close(self) -> None:
        """Stop looking."""
        if self._looking is not None:
            self._looking.cancel()
            await asyncio.wait([self._looking])

    async def _look(self) -> None:
        known: Mapping[int, TaskMark] = {}
        while followed := self._live.tasks():
            try:
                marks = await self._listings.task_marks(followed)
            except StorageError as error:
                log.warning("watch_failed", reason=str(error))
            else:
                for task_id, mark in marks.items():
                    if known.get(task_id) != mark:
                        self._live.publish(Progress(task_id=task_id, status=mark.status, entries=mark.entries))
                known = marks
            await asyncio.sleep(LOOK_SECONDS)
