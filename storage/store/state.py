"""Tasks with all their rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from sqlalchemy import BindParameter, Connection, Select, bindparam, select

from agent.domain import Approval, Task
from agent.errors import NotFound
from agent.ports.store import TaskState
from storage.columns import Damaged
from storage.store import rows
from storage.tables import approvals, artifacts, calls, journal, sessions, tasks

TASK_ROW = select(*rows.TASK, tasks.c.entries, *rows.SESSION).join_from(tasks, sessions)
ONE_TASK = TASK_ROW.where(tasks.c.task_id == bindparam("task"))
LOCKED_TASK = ONE_TASK.with_for_update(of=tasks)
OF_TASKS: BindParameter[int] = bindparam("tasks", expanding=True)
ENTRIES = select(journal).where(journal.c.task_id.in_(OF_TASKS)).order_by(journal.c.task_id, journal.c.seq)
CALLS = select(calls).where(calls.c.task_id.in_(OF_TASKS)).order_by(calls.c.task_id, calls.c.turn, calls.c.position)
APPROVALS = select(approvals).where(approvals.c.task_id.in_(OF_TASKS)).order_by(approvals.c.approval_id)
ARTIFACTS = select(*rows.ARTIFACT).where(artifacts.c.task_id.in_(OF_TASKS)).order_by(artifacts.c.artifact_id)


def load(connection: Connection, task_id: int, *, lock: bool = False) -> TaskState:
    """One task; NotFound. With `lock` nobody else changes it before the transaction ends."""
    row = connection.execute(LOCKED_TASK if lock else ONE_TASK, {"task": task_id}).first()
    if row is None:
        raise NotFound(f"There is no task {task_id}.")
    return states(connection, [row])[0]


def states(connection: Connection, found: Sequence[rows.AnyRow]) -> list[TaskState]:
    """Complete task rows (TASK, `entries`, SESSION); a task without a journal has nothing else either."""
    begun = [row.task_id for row in found if row.entries]
    entries, own_calls, own_cards, made = (
        rows.by_task(connection.execute(query, {"tasks": begun}).all()) if begun else {}
        for query in (ENTRIES, CALLS, APPROVALS, ARTIFACTS)
    )
    result = []
    for row in found:
        task_calls = [rows.call(call) for call in own_calls.get(row.task_id, ())]
        damaged = rows.damaged(row, *own_calls.get(row.task_id, ()), *own_cards.get(row.task_id, ()))
        result.append(
            TaskState(
                task=_task(row),
                session=rows.session(row),
                entries=tuple(rows.entry(entry) for entry in entries.get(row.task_id, ())),
                calls=tuple(task_calls),
                approvals=tuple(rows.approval(card, task_calls) for card in own_cards.get(row.task_id, ())),
                artifacts=tuple(rows.artifact(artifact) for artifact in made.get(row.task_id, ())),
                damaged=damaged,
            )
        )
    return result


def _task(row: rows.AnyRow) -> Task:
    """Whoever asked is told the end of the task even when it cannot be read where its answer should go."""
    task = rows.task(row)
    return replace(task, reply_to=(rows.session(row).address,)) if isinstance(row.reply_to, Damaged) else task


def cards(connection: Connection, query: Select[Any], values: dict[str, Any]) -> list[Approval]:
    """Approvals with their items."""
    found = connection.execute(query, values).all()
    if not found:
        return []
    own_calls = rows.by_task(connection.execute(CALLS, {"tasks": [row.task_id for row in found]}).all())
    return [rows.approval(row, map(rows.call, own_calls.get(row.task_id, ()))) for row in found]
