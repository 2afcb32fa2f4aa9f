"""One task while it runs: its rows as they are in the database, and the only way this run writes them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable
from dataclasses import fields, replace
from typing import Any, TypeVar

from agent.domain import Call, Entry
from agent.errors import StopRequested
from agent.history import Ended
from agent.ports.store import CallChange, RunKey, Step, Store, TaskState

T = TypeVar("T")
STOP_SECONDS = 10.0
"""How long a cancelled tool is waited for before the state says that the stop failed."""


_FIELDS = tuple(field.name for field in fields(Step))
_SEQUENCES = frozenset(field.name for field in fields(Step) if field.default == ())
_OF_CALLS = tuple(field.name for field in fields(CallChange))


class Stopped(BaseException):
    """A person asked to stop. Not an Exception, so that nothing on the way takes it for a failure.

    `clean` is False when the work did not end in time.
    """

    def __init__(self, *, clean: bool = True) -> None:
        super().__init__()
        self.clean = clean


class Run:
    """The rows of a claimed task. `note` gathers what need not be durable at once; `write` commits it all.

    `written` counts the rows of the journal in the database; `on_write` is called after each commit.
    """

    def __init__(self, store: Store, state: TaskState, past: list[Ended], owner: str) -> None:
        self._store = store
        self._state = state
        self._noted: list[Step] = []
        self.past = past
        self.key = RunKey(task_id=state.task.task_id, owner=owner, epoch=state.task.epoch)
        self.stop = asyncio.Event()
        self.written = len(state.entries)
        self.on_write: Callable[[], None] = lambda: None

    @property
    def state(self) -> TaskState:
        """The task with everything noted or written so far."""
        return self._state

    @property
    def turn(self) -> int:
        """How many assistant turns the task has."""
        return sum(entry.kind == "assistant" for entry in self._state.entries)

    def open_calls(self) -> list[Call]:
        """The calls of the last turn that have no result yet, in call order."""
        answered = {entry.data["call_id"] for entry in self._state.entries if entry.kind == "tool"}
        left = [call for call in self._state.calls if call.call_id not in answered]
        return sorted(left, key=lambda call: (call.turn, call.position))

    def result_of(self, call_id: str) -> Entry | None:
        """The tool entry of a call."""
        return next((e for e in self._state.entries if e.kind == "tool" and e.data["call_id"] == call_id), None)

    def note(self, step: Step) -> None:
        """Add to what the next write commits."""
        self._noted.append(step)
        self._state = _applied(self._state, step)

    async def write(self, step: Step | None = None) -> None:
        """Commit what was noted together with `step` in one transaction; LeaseLost when the run is not ours.

        Stopped when `step` would park a task that a person asked to stop; what was noted before it is still to write.
        """
        before, noted = self._state, list(self._noted)
        if step is not None:
            self.note(step)
        if not self._noted:
            return
        merged, self._noted = _merged(self._noted), []
        try:
            self.written = await self._store.advance(self.key, merged)
        except StopRequested:
            self._state, self._noted = before, noted
            raise Stopped from None
        self.on_write()

    async def interruptible(self, work: Coroutine[Any, Any, T]) -> T:
        """Await work until it ends or a person asks to stop; then it is cancelled and waited for: Stopped."""
        if self.stop.is_set():
            work.close()
            raise Stopped
        task = asyncio.ensure_future(work)
        stop = asyncio.ensure_future(self.stop.wait())
        try:
            await asyncio.wait({task, stop}, return_when=asyncio.FIRST_COMPLETED)
            if task.done():
                return task.result()
            task.cancel()
            _, unfinished = await asyncio.wait({task}, timeout=STOP_SECONDS)
            if not unfinished and not task.cancelled() and task.exception() is None:
                return task.result()
            raise Stopped(clean=not unfinished)
        except asyncio.CancelledError:
            task.cancel()
            await asyncio.wait({task}, timeout=STOP_SECONDS)
            raise
        finally:
            stop.cancel()


def _merged(steps: Iterable[Step]) -> Step:
    """Several steps as one: sequences joined, of a single value the last that was given."""
    values: dict[str, Any] = {}
    for step in steps:
        for name in _FIELDS:
            value = getattr(step, name)
            if name in _SEQUENCES:
                values[name] = values.get(name, ()) + value
            elif value is not None:
                values[name] = value
    return Step(**values)


def _applied(state: TaskState, step: Step) -> TaskState:
    calls = {call.call_id: call for call in (*state.calls, *step.new_calls)}
    for change in step.call_changes:
        calls[change.call_id] = _changed(calls[change.call_id], change)
    task = state.task
    if step.files is not None:
        task = replace(task, files=step.files, awaited_files=())
    if step.status is not None:
        task = replace(task, status=step.status, answer=step.answer or task.answer, error_code=step.error_code)
    return replace(state, task=task, entries=state.entries + step.entries, calls=tuple(calls.values()))


def _changed(call: Call, change: CallChange) -> Call:
    given = {name: value for name in _OF_CALLS if (value := getattr(change, name)) is not None}
    return replace(call, **given)
