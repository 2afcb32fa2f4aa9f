"""The worker: claims tasks, keeps their leases, passes on requests to stop, and lets go of everything on a drain."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from functools import partial

import structlog

from agent import texts
from agent.approvals import Approvals
from agent.errors import LeaseLost, StorageError
from agent.loop import Loop
from agent.past import Past
from agent.ports.clock import Clock
from agent.ports.store import Store, TaskState
from agent.rounds import repeated
from agent.run import Run

log = structlog.get_logger()

HEARTBEAT_SECONDS = 10.0
"""A third of the lease, so that two beats may be lost."""
SWEEP_SECONDS = 1.0
CRASH_LIMIT = 3


@dataclass(frozen=True, kw_only=True, slots=True)
class WorkerSettings:
    """`owner` names this process in leases; `limit` is how many tasks run at once."""

    owner: str
    limit: int = 64


class Worker:
    """Runs tasks as coroutines. All of its state is in the rows; dropping it at any moment loses nothing."""

    def __init__(
        self, settings: WorkerSettings, *, store: Store, loop: Loop, approvals: Approvals, clock: Clock
    ) -> None:
        self._settings = settings
        self._store = store
        self._past = Past(store)
        self._loop = loop
        self._approvals = approvals
        self._clock = clock
        self._runs: dict[int, Run] = {}
        self._running: dict[int, asyncio.Task[None]] = {}
        self._claiming: asyncio.Task[None] | None = None
        self._background: list[asyncio.Task[None]] = []

    def start(self) -> None:
        """Claim and run in the background until `drain`."""
        self._claiming = asyncio.create_task(repeated(self._claim_and_wait, self._clock), name="claims")
        for work in (self._wait_and_beat, self._watch_stops, self._wait_and_sweep):
            self._background.append(asyncio.create_task(repeated(work, self._clock), name=work.__name__))

    async def drain(self, grace_seconds: float) -> None:
        """Stop claiming, let runs end in the grace time, requeue the rest at once."""
        await _cancelled([self._claiming] if self._claiming else [])
        if self._running:
            await asyncio.wait(self._running.values(), timeout=grace_seconds)
        left = len(self._running)
        await _cancelled(list(self._running.values()))
        # Leases are kept until the last run has ended, however long the grace time is.
        await _cancelled(self._background)
        try:
            requeued = await self._store.requeue(self._settings.owner)
        except StorageError as error:
            log.warning("runs_left_to_their_leases", reason=str(error))
            return
        if left:
            log.info("runs_requeued", count=requeued)

    async def run_until_idle(self) -> None:
        """Run whatever is runnable, and what that makes runnable, until nothing is left."""
        while True:
            claimed = await self._claim()
            if not claimed and not self._running:
                return
            if self._running:
                await asyncio.wait(self._running.values(), return_when=asyncio.FIRST_COMPLETED)

    # --- a round of each of the four loops ---

    async def _claim_and_wait(self) -> None:
        free = self._settings.limit - len(self._running)
        if await self._claim() < max(free, 1):
            # Nothing runnable was left; whatever becomes runnable rings.
            await self._store.doorbell.wait("tasks", 1.0)

    async def _wait_and_beat(self) -> None:
        await self._clock.sleep(HEARTBEAT_SECONDS)
        await self._beat()

    async def _watch_stops(self) -> None:
        """A request to stop made anywhere reaches its run at once where the doorbell rings, else with the beat."""
        await self._store.doorbell.wait("cancel", HEARTBEAT_SECONDS)
        if self._runs:
            await self._beat()

    async def _wait_and_sweep(self) -> None:
        await self._clock.sleep(SWEEP_SECONDS)
        await self._approvals.sweep()
        await self._approvals.remind()
        await self._store.reap()

    async def _beat(self) -> None:
        for task_id in await self._store.heartbeat(self._settings.owner, list(self._runs)):
            if task_id in self._runs:
                self._runs[task_id].stop.set()

    # --- one task ---

    async def _claim(self) -> int:
        free = self._settings.limit - len(self._running)
        if free <= 0:
            return 0
        states = await self._store.claim(self._settings.owner, free)
        for state in states:
            task = asyncio.create_task(self._run(state), name=f"task {state.task.task_id}")
            self._running[state.task.task_id] = task
            task.add_done_callback(partial(self._ended, state.task.task_id))
        return len(states)

    def _ended(self, task_id: int, ended: asyncio.Task[None]) -> None:
        full = len(self._running) >= self._settings.limit
        if self._running.get(task_id) is ended:  # else its lease was lost, and this worker claimed it again
            del self._running[task_id]
        if full:
            self._store.doorbell.ring("tasks")

    async def _run(self, state: TaskState) -> None:
        """The task border: whatever goes wrong inside, the task's row says so and the worker lives on."""
        task_id = state.task.task_id
        structlog.contextvars.bind_contextvars(task=task_id, session=state.session.session_id)
        run = Run(self._store, state, [], self._settings.owner)
        self._runs[task_id] = run
        try:
            if state.task.cancel_requested:
                run.stop.set()
            if state.task.crashes >= CRASH_LIMIT:
                await self._loop.fail(run, "crashed", texts.CRASHED)
                return
            if state.task.seq > 1:
                run.past = await self._past.before(state)
            if state.damaged:
                await self._loop.fail(run, "damaged", texts.DAMAGED)
                return
            await self._loop.run(run)
            if run.state.task.status == "running":
                raise RuntimeError("the loop returned and left its task running")
            log.info("task_left", status=run.state.task.status, error=run.state.task.error_code)
        except LeaseLost:
            log.warning("lease_lost")
        except StorageError as error:
            log.warning("task_interrupted", reason=str(error))
        except Exception:
            log.exception("task_failed_unexpectedly")
            await self._failed(run)
        finally:
            if self._runs.get(task_id) is run:
                del self._runs[task_id]

    async def _failed(self, run: Run) -> None:
        try:
            await self._loop.fail(run, "internal", texts.INTERNAL)
        except StorageError as error:
            log.warning("task_left_to_its_lease", reason=str(error))


async def _cancelled(tasks: list[asyncio.Task[None]]) -> None:
    for task in tasks:
        task.cancel()
    if tasks:
        await asyncio.wait(tasks)
