"""The loop: from a task's rows to its next step, until it is done or waits for a person."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from typing import Any

from agent import budget, history, progress, texts
from agent.arrivals import Arrivals, fetched, request
from agent.budget import BudgetSettings
from agent.domain import Entry
from agent.endings import ending
from agent.errors import BudgetExceeded, ContextTooLong, ModelRefused, ModelUnavailable, NotFound
from agent.gate import Gate, assistant
from agent.live import Live
from agent.llm.call_text import calls_in
from agent.people import People
from agent.pictures import UNSEEN, Pictures, is_named_picture, pictures_of
from agent.ports.channels import Progress
from agent.ports.clock import Clock
from agent.ports.models import ChatMessage, ModelProfile, Models, Restarted, TextDelta, Turn
from agent.ports.store import Step, Store, TaskState
from agent.run import Run, Stopped
from agent.showing import Showing
from agent.tool import in_thread

SHOWN_SECONDS = 0.05
"""Pause between two pieces of live progress: 20 a second to a browser of the same process."""
CALLS_AT_ONCE = 512
"""Calls of one turn; a model that wants more has lost its way, and each of them costs everybody time."""


class TaskFailed(Exception):
    """The task ends here; `code` goes into its row, the message to the requester."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


@dataclass(frozen=True, kw_only=True, slots=True)
class Loop:
    """Runs one claimed task as far as it goes.

    `tools` are the registry's schemas as the model gets them, `system_prompt` renders the system message of a task.
    """

    store: Store
    models: Models
    gate: Gate
    live: Live
    clock: Clock
    model: str
    steps: int
    tools: Sequence[dict[str, Any]]
    budget: BudgetSettings
    people: People
    arrivals: Arrivals
    showing: Showing
    system_prompt: Callable[[TaskState], Awaitable[str]]

    async def run(self, run: Run) -> None:
        """Work until the task is terminal or parked; every end is committed. LeaseLost passes through."""
        run.on_write = partial(self._show, run)
        try:
            async with self.showing.of(run):
                await self._work(run)
        except Stopped as stopped:
            await self._stop(run, clean=stopped.clean)
        except TaskFailed as failure:
            await self.fail(run, failure.code, str(failure))
        except NotFound as gone:  # its model or its workspace was taken out of the configuration
            await self.fail(run, "not_configured", str(gone))

    async def fail(self, run: Run, code: str, reason: str) -> None:
        """End the task as failed, its open calls closed, the requester told."""
        now = self.clock.now()
        await self._end(run, ending(run.state, "failed", texts.failed(reason), now, code=code, reason=reason))

    async def _work(self, run: Run) -> None:
        if not run.state.entries:
            await self._begin(run)
        while True:
            if run.stop.is_set():
                raise Stopped
            if await self.gate.settle(run) == "parked":
                return
            stop = progress.check(run.state.entries, self.gate.effects.progress, self.steps)
            if stop is not None:
                raise TaskFailed(stop.code, f"{stop.reason} {texts.CONTINUE}")
            turn = await self._turn(run)
            if not turn.calls:
                await self._finish(run, turn)
                return
            if len(turn.calls) > CALLS_AT_ONCE:
                run.note(Step(usage=(turn.usage,)))
                raise TaskFailed("too_many_calls", texts.too_many_calls(len(turn.calls), CALLS_AT_ONCE))
            await run.write(self.gate.propose(run, turn))

    async def _begin(self, run: Run) -> None:
        """The request as the journal's first row, once the files are there that came with it."""
        task = run.state.task
        if not task.awaited_files:
            run.note(request(task))
            return
        arrived = await run.interruptible(self.arrivals.fetch(task))
        await run.write(fetched(task, arrived, self.clock.now()))

    # --- the model ---

    async def _turn(self, run: Run) -> Turn:
        """One usable turn of the model; an empty one is asked for once more."""
        profile = self._profile(run)
        for _ in range(2):
            turn = await self._answered(run, profile)
            if turn.calls or turn.text.strip():
                return turn
            run.note(Step(usage=(turn.usage,)))
        raise TaskFailed("no_answer", texts.NO_ANSWER)

    async def _answered(self, run: Run, profile: ModelProfile) -> Turn:
        try:
            await self._within_budget(run, profile)
            return await self._completion(run, profile)
        except BudgetExceeded as error:
            raise TaskFailed("budget", str(error)) from None
        except ModelUnavailable as error:
            raise TaskFailed("model_unavailable", str(error)) from None
        except ModelRefused as error:
            raise TaskFailed("model_refused", str(error)) from None
        except ContextTooLong as error:
            raise TaskFailed("context_too_long", str(error)) from None

    async def _completion(self, run: Run, profile: ModelProfile) -> Turn:
        system: ChatMessage = {"role": "system", "content": await self.system_prompt(run.state)}
        try:
            return await self._asked(run, profile, system)
        except ContextTooLong:
            if not run.past:
                raise
        # Earlier conversation is given up for the rest of the task, and with it by the session's next window.
        run.past = []
        return await self._asked(run, profile, system)

    async def _asked(self, run: Run, profile: ModelProfile, system: ChatMessage) -> Turn:
        messages = [system, *history.messages(run.state, run.past, profile.model, await self._pictures(run, profile))]
        return await run.interruptible(self._streamed(run, profile, messages))

    async def _pictures(self, run: Run, profile: ModelProfile) -> Pictures | None:
        """Read anew for each request: as text they are too large to be held while people or tools are waited for."""
        task = run.state.task
        if not any(map(is_named_picture, task.files)):
            return None
        files = self.gate.effects.workspaces.open(task.workspace)
        return await in_thread(pictures_of, files, task.files) if profile.vision else Pictures(note=UNSEEN)

    async def _streamed(self, run: Run, profile: ModelProfile, messages: list[ChatMessage]) -> Turn:
        text: list[str] = []
        next_shown, time = 0.0, asyncio.get_running_loop().time
        async with aclosing(self.models.stream(profile.name, messages, self.tools)) as events:
            async for event in events:
                match event:
                    case TextDelta():
                        text.append(event.text)
                        if self.live.followed(run.key.task_id) and time() >= next_shown:
                            next_shown = time() + SHOWN_SECONDS
                            self._show(run, text="".join(text))
                    case Restarted():
                        text.clear()
                    case Turn():
                        return event
        raise ModelUnavailable("The model's answer ended without its last part.")

    async def _within_budget(self, run: Run, profile: ModelProfile) -> None:
        task = run.state.task
        used = [
            entry.data["usage"] for entry in run.state.entries if entry.kind == "assistant" and "usage" in entry.data
        ]
        tokens = sum(usage["input_tokens"] + usage["output_tokens"] for usage in used)
        spent = sum((Decimal(usage["cost_usd"]) for usage in used if usage["cost_usd"] is not None), Decimal(0))
        budget.check_task(self.budget, tokens=tokens, usd=spent)
        if profile.priced:
            since = self.clock.now().replace(hour=0, minute=0, second=0, microsecond=0)
            budget.check_day(
                self.budget,
                member_usd=await self.store.spent_usd(since, task.requester),
                total_usd=await self.store.spent_usd(since),
                own_cap=await self.people.budget_day_usd(task.requester),
            )

    # --- the end ---

    async def _finish(self, run: Run, turn: Turn) -> None:
        if calls_in(turn.text, self.gate.effects.registry):
            run.note(Step(entries=(Entry(kind="assistant", data=assistant(turn, [])),), usage=(turn.usage,)))
            raise TaskFailed("no_tool_call", texts.NO_TOOL_CALL)
        notes = [texts.CUT_ANSWER] if turn.finish_reason == "length" else []
        if turn.model != self._profile(run).model:
            notes.append(texts.fallback_used(turn.model))
        answer = "\n\n".join([turn.text, *notes])
        run.note(Step(entries=(Entry(kind="assistant", data=assistant(turn, [])),), usage=(turn.usage,)))
        await self._end(run, ending(run.state, "done", answer, self.clock.now()))

    async def _stop(self, run: Run, *, clean: bool) -> None:
        if clean:
            await self._end(run, ending(run.state, "cancelled", texts.CANCELLED, self.clock.now()))
        else:
            await self.fail(run, "stop_failed", texts.STOP_FAILED)

    async def _end(self, run: Run, step: Step) -> None:
        """Commit the end of the task, and with it what of this session the next request will read."""
        run.note(step)
        await run.write(Step(window=self._window(run)))

    def _window(self, run: Run) -> tuple[int, int] | None:
        try:
            return history.next_window(run.state, run.past, self._profile(run).context_tokens)
        except NotFound:  # the model is not configured any more; the next request's will say what fits
            return None

    def _profile(self, run: Run) -> ModelProfile:
        return self.models.profile(run.state.task.model or run.state.session.model or self.model)

    def _show(self, run: Run, text: str = "") -> None:
        task = run.state.task
        self.live.publish(Progress(task_id=task.task_id, status=task.status, text=text, entries=run.written))
