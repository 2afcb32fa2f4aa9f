"""What sessions said before, kept between their tasks: ended tasks never change."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, replace

from agent.domain import Session
from agent.history import Ended
from agent.ports.store import Store, TaskState

LIMIT_BYTES = 32_000_000
"""Of all sessions together; one whose earlier conversation is full of small tasks takes about 2 MB."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Kept:
    """The earlier tasks of a session, all from `summary_from` on up to the last; entries from `whole_from` on."""

    whole_from: int
    summary_from: int
    tasks: list[Ended]
    size: int


class Past:
    """The earlier tasks of the sessions that ran last in this process; what ran since, here or elsewhere, is read.

    A session's tasks run one after the other, so whatever ended since comes behind what is kept. Retention may have
    removed some: the store counts, and when it has another number everything is read again.
    """

    def __init__(self, store: Store, limit_bytes: int = LIMIT_BYTES) -> None:
        self._store = store
        self._limit = limit_bytes
        self._kept: OrderedDict[int, Kept] = OrderedDict()
        self._size = 0

    async def before(self, state: TaskState) -> list[Ended]:
        """The ended tasks that enter the prompts of a claimed task, oldest first."""
        session, seq = state.session, state.task.seq
        known = self._taken_out(session, seq)
        found = await self._store.earlier(session, seq, known[-1].past.task.seq if known else 0)
        if found.before != len(known):
            known, found = [], await self._store.earlier(session, seq)
        tasks = [*known, *map(Ended, found.tasks)]
        self._keep(session, tasks)
        return tasks

    def _taken_out(self, session: Session, seq: int) -> list[Ended]:
        """What is kept of a session, as far as it is in its window by now, which only moves forward."""
        kept = self._forget(session.session_id)
        if kept is None or kept.whole_from > session.whole_from or kept.summary_from > session.summary_from:
            return []
        return [
            one if one.past.task.seq >= session.whole_from or not one.past.entries else _short(one)
            for one in kept.tasks
            if session.summary_from <= one.past.task.seq < seq
        ]

    def _keep(self, session: Session, tasks: list[Ended]) -> None:
        self._forget(session.session_id)
        size = sum(one.weight for one in tasks)
        self._kept[session.session_id] = Kept(
            whole_from=session.whole_from, summary_from=session.summary_from, tasks=tasks, size=size
        )
        self._size += size
        while self._size > self._limit:
            self._forget(next(iter(self._kept)))

    def _forget(self, session_id: int) -> Kept | None:
        kept = self._kept.pop(session_id, None)
        self._size -= kept.size if kept else 0
        return kept


def _short(ended: Ended) -> Ended:
    return Ended(replace(ended.past, entries=()))
