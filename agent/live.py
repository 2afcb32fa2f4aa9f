"""What is happening right now, inside this process: best effort, never state."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from agent.ports.channels import Progress


class Follower:
    """Somebody who looks at one task; one who is slow gets the newest of everything, and no more."""

    def __init__(self) -> None:
        self._newest: Progress | None = None
        self._told = asyncio.Event()

    def tell(self, progress: Progress) -> None:
        """Progress without text says nothing about the text, unless the journal has grown: then it is in there."""
        before = self._newest
        unread = before.text if before and before.entries >= progress.entries else ""
        # Text of a run that does not know of the newest rows yet must not hide that there are some.
        entries = max(progress.entries, before.entries if before else 0)
        self._newest = replace(progress, text=progress.text or unread, entries=entries)
        self._told.set()

    async def next(self, seconds: float) -> Progress | None:
        """What happened since the last call, as soon as there is any; None after so many seconds without."""
        try:
            async with asyncio.timeout(seconds):
                await self._told.wait()
        except TimeoutError:
            return None
        self._told.clear()
        newest, self._newest = self._newest, None
        return newest


class Live:
    """Hands the progress of tasks to whoever follows them.

    Who wants to follow a task asks Watch (agent/watch.py), which also tells what other processes write.
    """

    def __init__(self) -> None:
        self._followers: defaultdict[int, set[Follower]] = defaultdict(set)

    def followed(self, task_id: int) -> bool:
        """Whether anybody looks, so that nobody renders progress for nobody."""
        return task_id in self._followers

    def tasks(self) -> list[int]:
        """The tasks that somebody looks at."""
        return list(self._followers)

    def publish(self, progress: Progress) -> None:
        """Show progress to the followers of its task."""
        for follower in self._followers.get(progress.task_id, ()):
            follower.tell(progress)

    @contextmanager
    def follow(self, task_id: int) -> Iterator[Follower]:
        """The progress of a task from now on."""
        follower = Follower()
        self._followers[task_id].add(follower)
        try:
            yield follower
        finally:
            self._followers[task_id].discard(follower)
            if not self._followers[task_id]:
                del self._followers[task_id]
