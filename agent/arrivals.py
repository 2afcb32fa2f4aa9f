"""Files that came with a chat message: fetched from the platform when the task begins, into the workspace's inbox."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import structlog

from agent.domain import AwaitedFile, IncomingFile, Task
from agent.errors import BadInput, ChannelError, ChannelUnavailable, ToolError
from agent.inbox import keep
from agent.ports.channels import Channel
from agent.ports.clock import Clock
from agent.ports.files import Workspaces
from agent.tool import in_thread

log = structlog.get_logger()

TRIES = 3
LONGEST_PAUSE = 20.0
"""Seconds before a platform is asked again; whoever wrote waits for it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Missing:
    """A file that could not be had, and why, in a sentence for people and the model."""

    name: str
    reason: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Arrived:
    """Where all files of a task lie now, and what is missing."""

    paths: tuple[str, ...]
    missing: tuple[Missing, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Arrivals:
    """Fetches what a task awaits; doing it again after a crash keeps nothing twice."""

    channels: Mapping[str, Channel]
    workspaces: Workspaces
    clock: Clock

    async def fetch(self, task: Task) -> Arrived:
        """Every awaited file that can be had, beside those that are there."""
        paths: list[str] = list(task.files)
        missing: list[Missing] = []
        for file in task.awaited_files:
            try:
                paths.append(await self._kept(task, file))
            except (ChannelError, ToolError, BadInput) as error:
                log.warning("file_not_fetched", channel=file.channel, reason=str(error))
                missing.append(Missing(name=file.name, reason=str(error)))
        return Arrived(paths=tuple(dict.fromkeys(paths)), missing=tuple(missing))

    async def _kept(self, task: Task, file: AwaitedFile) -> str:
        content = await self._content(file)
        files = self.workspaces.open(task.workspace)
        return await in_thread(keep, files, IncomingFile(name=file.name, content=content))

    async def _content(self, file: AwaitedFile) -> bytes:
        channel = self.channels.get(file.channel)
        if channel is None:
            raise ChannelUnavailable(f"The channel {file.channel} is not running.")
        for again in range(TRIES - 1, -1, -1):
            try:
                return await channel.download(file.reference)
            except ChannelUnavailable as error:
                if not again:
                    raise
                await self.clock.sleep(min(error.retry_after or 1.0, LONGEST_PAUSE))
        raise AssertionError


def told(missing: Sequence[Missing]) -> str:
    """What a person reads about files that are missing."""
    return "\n".join(f"I could not get {one.name}: {one.reason}" for one in missing)
