"""What a session said before: the ended tasks that enter the prompt."""

from __future__ import annotations

from sqlalchemy import Connection, bindparam, func, select

from agent.domain import TERMINAL, Session
from agent.ports.store import PastTask
from storage.store import rows
from storage.tables import artifacts, journal, tasks

SEPARATOR = "//"
"""Never part of a normalised path."""
OF_SESSION = tasks.c.session_id == bindparam("session")
BEFORE = tasks.c.seq < bindparam("before")
PATHS = (
    select(func.aggregate_strings(artifacts.c.path, SEPARATOR))
    .where(artifacts.c.task_id == tasks.c.task_id)
    .scalar_subquery()
    .label("paths")
)
PAST = (
    select(*rows.TASK, PATHS)
    .where(OF_SESSION, BEFORE, tasks.c.seq >= bindparam("since"), tasks.c.status.in_(sorted(TERMINAL)))
    .order_by(tasks.c.seq)
)
WHOLE = (
    select(journal)
    .join_from(journal, tasks)
    .where(OF_SESSION, BEFORE, tasks.c.seq >= bindparam("whole"))
    .order_by(journal.c.task_id, journal.c.seq)
)


def earlier(connection: Connection, session: Session, before_seq: int) -> list[PastTask]:
    """Oldest first. Journal rows are read from `session.whole_from` on only."""
    values = {"session": session.session_id, "before": before_seq}
    past = connection.execute(PAST, {**values, "since": session.summary_from}).all()
    whole = rows.by_task(connection.execute(WHOLE, {**values, "whole": session.whole_from}).all())
    return [
        PastTask(
            task=rows.task(row),
            entries=tuple(rows.entry(entry) for entry in whole.get(row.task_id, ())),
            artifacts=tuple(dict.fromkeys(row.paths.split(SEPARATOR))) if row.paths else (),
        )
        for row in past
    ]
