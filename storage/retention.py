"""Removes what is older than the settings allow, in batches so small that nobody waits for them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from pydantic import BaseModel, ConfigDict
from sqlalchemy import Connection, Select, bindparam, delete, exists, or_, select

from agent.durations import Seconds
from agent.ports.clock import Clock
from storage.blobs import FileBlobs
from storage.columns import UtcTime
from storage.database import Database
from storage.store.rows import AnyRow
from storage.tables import artifacts, calls, received, sessions, tasks

DAY_SECONDS = 86_400
KEYS_KEPT = timedelta(days=30)
"""How long an event is known by its key at least; one that belongs to a task never goes before it."""
UNREFERENCED_KEPT = timedelta(days=1)
"""A blob is written before the row that names it."""
BATCH = 50
PER_SWEEP = 10_000
BEFORE = bindparam("before", type_=UtcTime)
SINCE = bindparam("since", type_=UtcTime)
OLD_TASKS = select(tasks.c.task_id, tasks.c.session_id).where(tasks.c.finished_at < BEFORE).limit(PER_SWEEP)
OLD_KEYS = (
    select(received.c.dedup_key)
    .where(received.c.received_at < BEFORE, ~exists().where(tasks.c.task_id == received.c.task_id))
    .limit(PER_SWEEP)
)
KEPT_ARTIFACTS = select(artifacts.c.sha256).where(artifacts.c.created_at >= SINCE)
KEPT_TARGETS = (
    select(calls.c.targets)
    .join(tasks, tasks.c.task_id == calls.c.task_id)
    .where(or_(tasks.c.finished_at.is_(None), tasks.c.finished_at >= SINCE))
)


class RetentionSettings(BaseModel):
    """How long is kept what has ended: tasks with all their rows, artifacts' bytes, what approved changes replaced."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    tasks: Seconds = 180 * DAY_SECONDS
    blobs: Seconds = 90 * DAY_SECONDS
    undo: Seconds = 30 * DAY_SECONDS


@dataclass(frozen=True, kw_only=True, slots=True)
class Removed:
    """What one sweep removed."""

    tasks: int
    keys: int
    blobs: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Retention:
    """Looks in a reader, removes in short writes. A task that has not ended stays, however old it is."""

    settings: RetentionSettings
    database: Database
    blobs: FileBlobs
    clock: Clock

    async def sweep(self) -> Removed:
        """Remove what is due now, at most 10,000 tasks and keys; the next sweep goes on."""
        now = self.clock.now()
        return Removed(
            tasks=await self._remove(OLD_TASKS, now - timedelta(seconds=self.settings.tasks), _remove_tasks),
            keys=await self._remove(OLD_KEYS, now - KEYS_KEPT, _remove_keys),
            blobs=await self._remove_blobs(now),
        )

    async def _remove(
        self, query: Select[Any], before: datetime, remove: Callable[[Sequence[AnyRow], Connection], None]
    ) -> int:
        found = await self.database.read(lambda connection: connection.execute(query, {"before": before}).all())
        for batch in _batches(found):
            await self.database.write(partial(remove, batch))
        return len(found)

    async def _remove_blobs(self, now: datetime) -> int:
        needed = await self.database.read(
            lambda connection: _needed(
                connection, now - timedelta(seconds=self.settings.blobs), now - timedelta(seconds=self.settings.undo)
            )
        )
        return await self.blobs.remove_unreferenced(needed, now - UNREFERENCED_KEPT)


def _batches(found: Sequence[AnyRow]) -> Iterator[Sequence[AnyRow]]:
    return (found[start : start + BATCH] for start in range(0, len(found), BATCH))


def _remove_tasks(batch: Sequence[AnyRow], connection: Connection) -> None:
    """With everything that hangs on them, and the sessions that are empty then."""
    connection.execute(delete(tasks).where(tasks.c.task_id.in_([row.task_id for row in batch])))
    emptied = ~exists().where(tasks.c.session_id == sessions.c.session_id)
    connection.execute(delete(sessions).where(sessions.c.session_id.in_([row.session_id for row in batch]), emptied))


def _remove_keys(batch: Sequence[AnyRow], connection: Connection) -> None:
    connection.execute(delete(received).where(received.c.dedup_key.in_([row.dedup_key for row in batch])))


def _needed(connection: Connection, artifacts_since: datetime, targets_since: datetime) -> set[str]:
    needed = set(connection.execute(KEPT_ARTIFACTS, {"since": artifacts_since}).scalars())
    for targets in connection.execute(KEPT_TARGETS, {"since": targets_since}).scalars():
        needed.update(target["base_sha256"] for target in targets if target["base_sha256"])
    return needed
