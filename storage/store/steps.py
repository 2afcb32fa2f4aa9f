"""Writing a step: everything that changes a task goes through here, its own row first."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import Boolean, Connection, Update, bindparam, func, literal_column, update

from agent.domain import TERMINAL
from agent.errors import Conflict, LeaseLost, StopRequested
from agent.ports.store import Plan, RunKey, Step
from storage.columns import Prose, UtcTime
from storage.doorbell import ring
from storage.store import events
from storage.store.records import Owner, record
from storage.store.rows import AnyRow
from storage.store.state import load
from storage.tables import RUNNING, tasks

THIS_TASK = (tasks.c.task_id == bindparam("task"),)
THIS_RUN = (*THIS_TASK, RUNNING, tasks.c.lease_owner == bindparam("owner"), tasks.c.epoch == bindparam("run_epoch"))
# Whether the session has something to go on with. Written out for the reason told at queue.SESSION_OF_TASK.
FOLLOWED = literal_column(
    "EXISTS (SELECT 1 FROM tasks AS later WHERE later.session_id = tasks.session_id AND later.seq > tasks.seq"
    " AND later.status IN ('queued', 'running', 'waiting_approval'))",
    Boolean,
)


def _stay(*which: Any) -> Update:
    """Counts the new entries. Of a run it is also the proof that the run still owns the task."""
    returned = (tasks.c.entries, tasks.c.session_id, tasks.c.requester, tasks.c.cancel_requested)
    return update(tasks).where(*which).values(entries=tasks.c.entries + bindparam("more")).returning(*returned)


def _leave(*which: Any) -> Update:
    """Also ends the lease: the task waits, is queued again or has ended."""
    return (
        _stay(*which)
        .values(
            status=bindparam("new_status"),
            lease_owner=None,
            lease_until=None,
            run_after=func.coalesce(bindparam("not_before", type_=UtcTime), tasks.c.run_after),
            error_code=bindparam("code"),
            error_text=bindparam("reason", type_=Prose),
            answer=func.coalesce(bindparam("said", type_=Prose), tasks.c.answer),
            finished_at=bindparam("ended_at", type_=UtcTime),
        )
        .returning(FOLLOWED.label("followed"))
    )


RUN_STAYS, RUN_LEAVES = _stay(*THIS_RUN), _leave(*THIS_RUN)
# What others add to the journal (a refused press) is no progress of a run that crashes again and again.
TASK_STAYS = _stay(*THIS_TASK).values(entries_at_crash=tasks.c.entries_at_crash + bindparam("more"))
TASK_LEAVES = _leave(*THIS_TASK, ~RUNNING)


def advance(connection: Connection, run: RunKey, step: Step, now: datetime) -> int:
    """Write a run's step; the length of the journal then. LeaseLost when the run does not own the task any more,
    StopRequested when it must not park."""
    which = {"task": run.task_id, "owner": run.owner, "run_epoch": run.epoch}
    row = _move(connection, RUN_LEAVES if _leaves(step) else RUN_STAYS, which, step, now)
    if row is None:
        raise LeaseLost(f"Task {run.task_id} belongs to another run.")
    if step.status == "waiting_approval" and row.cancel_requested:
        raise StopRequested(f"Task {run.task_id} was asked to stop.")
    _record(connection, run.task_id, row, step, now)
    length: int = row.entries
    return length


def change(connection: Connection, task_id: int, plan: Plan, now: datetime, key: str | None) -> Step | None:
    """What `plan` makes of the task as it is, while nobody else can change it; NotFound.

    The event's `key` is looked for under the lock, so that of two presses at once the second finds the first.
    """
    state = load(connection, task_id, lock=True)
    step = None if key and events.received(connection, key) else plan(state)
    if step is not None:
        row = _move(connection, TASK_LEAVES if _leaves(step) else TASK_STAYS, {"task": task_id}, step, now)
        if row is None:
            raise Conflict(f"Task {task_id} runs: only its run can end it.", code="task_runs")
        _record(connection, task_id, row, step, now)
    return step


def _leaves(step: Step) -> bool:
    return step.status not in {None, "running"}


def _move(connection: Connection, move: Update, which: dict[str, Any], step: Step, now: datetime) -> AnyRow | None:
    values = {**which, "more": len(step.entries)}
    if _leaves(step):
        values |= {
            "new_status": step.status,
            "not_before": step.run_after,
            "code": step.error_code,
            "reason": step.error_text,
            "said": step.answer,
            "ended_at": now if step.status in TERMINAL else None,
        }
    return connection.execute(move, values).first()


def _record(connection: Connection, task_id: int, row: AnyRow, step: Step, now: datetime) -> None:
    first_seq = row.entries - len(step.entries) + 1
    owner = Owner(task_id=task_id, session_id=row.session_id, requester=row.requester, first_seq=first_seq, now=now)
    record(connection, owner, step)
    if not _leaves(step):
        return
    if step.status == "queued" or (step.status in TERMINAL and row.followed):
        ring(connection, "tasks")
    if step.status != "queued":
        ring(connection, f"task:{task_id}")
