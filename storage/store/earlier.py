"""What a session said before: the ended tasks that enter the prompt."""

from __future__ import annotations

from sqlalchemy import Connection, bindparam, func, select

from agent.domain import TERMINAL, Session
from agent.ports.store import Earlier, PastTask
from storage.store import rows
from storage.tables import artifacts, journal, tasks

SEPARATOR = "//"
"""Never part of a normalised path."""
OF_SESSION = tasks.c.session_id == bindparam("session")
BEFORE = tasks.c.seq < bindparam("before")
SINCE = tasks.c.seq >= bindparam("since")
PATHS = (
    select(func.aggregate_strings(artifacts.c.path, SEPARATOR))
    .where(artifacts.c.task_id == tasks.c.task_id)
    .scalar_subquery()
    .label("paths")
)
PAST = (
    select(*rows.TASK, PATHS)
    .where(OF_SESSION, BEFORE, SINCE, tasks.c.seq > bindparam("after"), tasks.c.status.in_(sorted(TERMINAL)))
    .order_by(tasks.c.seq)
)
WHOLE = (
    select(journal)
    .join_from(journal, tasks)
    .where(OF_SESSION, BEFORE, tasks.c.seq >= bindparam("whole"))
    .order_by(journal.c.task_id, journal.c.seq)
)
# A task runs when all before it have ended: their status need not be looked at, and the index alone is read.
NOT_ASKED_FOR = select(func.count()).select_from(tasks).where(OF_SESSION, SINCE, tasks.c.seq <= bindparam("after"))


def earlier(connection: Connection, session: Session, before_seq: int, after_seq: int) -> Earlier:
    """Journal rows are read from `session.whole_from` on only."""
    window = {"session": session.session_id, "since": session.summary_from, "after": after_seq}
    past = connection.execute(PAST, {**window, "before": before_seq}).all()
    whole = {"session": session.session_id, "before": before_seq, "whole": max(session.whole_from, after_seq + 1)}
    entries = rows.by_task(connection.execute(WHOLE, whole).all()) if past else {}
    return Earlier(
        tasks=[
            PastTask(
                task=rows.task(row),
                entries=tuple(rows.entry(entry) for entry in entries.get(row.task_id, ())),
                artifacts=tuple(dict.fromkeys(row.paths.split(SEPARATOR))) if row.paths else (),
            )
            for row in past
        ],
        before=connection.execute(NOT_ASKED_FOR, window).scalar_one() if after_seq else 0,
    )
