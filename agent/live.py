"""What is happening right now, inside this process: best effort, never state."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import AsyncGenerator

from agent.domain import TERMINAL
from agent.ports.channels import Progress


class Live:
    """Hands the progress of running tasks to whoever follows them; a slow follower sees only the newest."""

    def __init__(self) -> None:
        self._followers: defaultdict[int, set[asyncio.Queue[Progress]]] = defaultdict(set)
        self._ends: defaultdict[int, asyncio.Event] = defaultdict(asyncio.Event)

    def followed(self, task_id: int) -> bool:
        """Whether anybody looks, so that nobody renders progress for nobody."""
        return task_id in self._followers

    def publish(self, progress: Progress) -> None:
        """Show progress to the followers of its task."""
        for queue in self._followers.get(progress.task_id, ()):
            if queue.full():
                queue.get_nowait()
            queue.put_nowait(progress)
        if progress.status in TERMINAL and progress.task_id in self._ends:
            self._ends[progress.task_id].set()

    async def follow(self, task_id: int) -> AsyncGenerator[Progress, None]:
        """The progress of a task from now on; ends with its terminal state."""
        queue: asyncio.Queue[Progress] = asyncio.Queue(maxsize=1)
        self._followers[task_id].add(queue)
        try:
            while True:
                progress = await queue.get()
                yield progress
                if progress.status in TERMINAL:
                    return
        finally:
            self._followers[task_id].discard(queue)
            if not self._followers[task_id]:
                del self._followers[task_id]

    async def ended(self, task_id: int, seconds: float) -> bool:
        """Wait at most `seconds` for the task's end to be published in this process."""
        end = self._ends[task_id]
        try:
            async with asyncio.timeout(seconds):
                await end.wait()
        except TimeoutError:
            return False
        finally:
            if self._ends.get(task_id) is end:
                del self._ends[task_id]
        return True
