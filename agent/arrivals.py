"""Files that came with a chat message: fetched from the platform when the task begins, into the workspace's inbox."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime

import structlog

from agent import texts
from agent.domain import COLLECTED, AwaitedFile, Entry, IncomingFile, Task
from agent.endings import DELIVERY_LIFE
from agent.errors import BadInput, ChannelError, ChannelUnavailable, ToolError
from agent.inbox import file_name, keep
from agent.ports.channels import Channel
from agent.ports.clock import Clock
from agent.ports.files import Workspaces
from agent.ports.store import NewDelivery, Step
from agent.tool import in_thread

log = structlog.get_logger()

TRIES = 3
PAUSE_SECONDS = 1.0
"""Before a platform is asked again that does not say when."""
LONGEST_PAUSE = 20.0
"""Seconds that are waited for one that does: whoever wrote waits, too."""


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
    """Fetches what a task awaits, files of at most `most_bytes`; doing it again after a crash keeps nothing twice."""

    channels: Mapping[str, Channel]
    workspaces: Workspaces
    clock: Clock
    most_bytes: int

    async def fetch(self, task: Task) -> Arrived:
        """Every awaited file that can be had, behind those that are there. NotFound: the workspace is gone."""
        files = self.workspaces.open(task.workspace)
        paths, missing = list(task.files), list[Missing]()
        for awaited in task.awaited_files:
            try:
                file = IncomingFile(name=awaited.name, content=await self._content(awaited))
                paths.append(await in_thread(keep, files, file))
            except (ChannelError, ToolError, BadInput) as error:
                log.warning("file_not_fetched", channel=awaited.channel, reason=str(error))
                missing.append(Missing(name=file_name(awaited.name), reason=str(error)))
        return Arrived(paths=tuple(dict.fromkeys(paths)), missing=tuple(missing))

    async def _content(self, file: AwaitedFile) -> bytes:
        channel = self.channels.get(file.channel)
        if channel is None:
            raise ChannelUnavailable(f"The channel {file.channel} is not running.")
        self._check(file.size_bytes or 0)
        content = await self._downloaded(channel, file)
        self._check(len(content))
        return content

    def _check(self, size_bytes: int) -> None:
        if size_bytes > self.most_bytes:
            raise BadInput(texts.too_large(size_bytes, self.most_bytes))

    async def _downloaded(self, channel: Channel, file: AwaitedFile) -> bytes:
        for _ in range(TRIES - 1):
            try:
                return await channel.download(file.reference)
            except ChannelUnavailable as error:
                pause = PAUSE_SECONDS if error.retry_after is None else error.retry_after
                if pause > LONGEST_PAUSE:
                    raise
            await self.clock.sleep(pause)
        return await channel.download(file.reference)


def request(task: Task) -> Step:
    """The first row of a journal: what is asked for, with the files that are there."""
    return Step(entries=(Entry(kind="user", data={"text": task.prompt, "files": list(task.files)}),))


def fetched(task: Task, arrived: Arrived, now: datetime) -> Step:
    """The same once files were fetched. What is missing is told at once; the work goes on without it."""
    data = {"text": task.prompt, "files": list(arrived.paths)}
    if not arrived.missing:
        return Step(entries=(Entry(kind="user", data=data),), files=arrived.paths)
    missing = [asdict(file) for file in arrived.missing]
    return Step(
        entries=(Entry(kind="user", data=data | {"missing": missing}),),
        files=arrived.paths,
        deliveries=_notices(task, arrived.missing, now),
    )


def _notices(task: Task, missing: Sequence[Missing], now: datetime) -> tuple[NewDelivery, ...]:
    return tuple(
        NewDelivery(
            kind="notice",
            to=to,
            text="\n".join(texts.not_fetched(file.name, file.reason) for file in missing),
            dedup_key=f"missing:{task.task_id}:{number}",
            expires_at=now + DELIVERY_LIFE,
            collected=to.channel in COLLECTED,
        )
        for number, to in enumerate(task.reply_to)
    )
