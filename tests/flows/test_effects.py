"""Effects that cannot be read back: run once, and asked about when it is unknown whether they took place."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from agent.domain import Outcome
from agent.ports.store import CallChange, RunKey, Step
from tests.flows.engine import Engine, engine, tool
from tests.servers.llm import Reply


class Counted:
    """A tool that sends something away; it knows how often."""

    def __init__(self) -> None:
        self.times = 0

    async def __call__(self) -> str:
        self.times += 1
        return f"sent {self.times}"


async def _started_then_died(one: Engine) -> int:
    """A task whose approved call was `started` when its process died."""
    one.model.will(Reply(calls=[("send", {})]))
    task_id = await one.accept()
    await one.run(task_id)
    await one.decide()
    [state] = await one.store.claim("dead", 1)
    run = RunKey(task_id=task_id, owner="dead", epoch=state.task.epoch)
    call_id = state.calls[0].call_id
    await one.store.advance(run, Step(call_changes=(CallChange(call_id=call_id, status="started"),)))
    await one.store.requeue()
    return task_id


@pytest.mark.parametrize(
    ("outcome", "times", "said"), [("happened", 0, "confirmed"), ("again", 1, "sent 1"), ("skip", 0, "leave it")]
)
async def test_a_started_effect_is_asked_about_and_never_repeated_by_itself(
    tmp_path: Path, outcome: Outcome, times: int, said: str
) -> None:
    """E2: found `started` after a crash: a person says it happened, run it again, or leave it."""
    send = Counted()
    async with engine(tmp_path, tool("send", send)) as one:
        task_id = await _started_then_died(one)
        state = await one.run(task_id)
        assert (state.task.status, state.calls[0].status, send.times) == ("waiting_approval", "unknown", 0)
        [card] = [approval for approval in state.approvals if approval.status == "open"]
        assert card.kind == "outcome"
        one.model.will("Fine.")
        await one.decide(outcome)
        done = await one.run(task_id)
        assert (done.task.status, send.times) == ("done", times)
        assert said in next(entry.data["text"] for entry in done.entries if entry.kind == "tool")


async def test_a_cancelled_task_changes_nothing_after_it_says_so(tmp_path: Path) -> None:
    """B15: the stop waits for the tool; once the task is cancelled nothing moves any more."""
    steps: list[int] = []
    moving = asyncio.Event()

    async def slow() -> str:
        for number in range(1000):
            steps.append(number)
            moving.set()
            await asyncio.sleep(0.01)
        return "done"

    async with engine(tmp_path, tool("slow", slow)) as one:
        one.model.will(Reply(calls=[("slow", {})]))
        task_id = await one.accept()
        await one.run(task_id)
        await one.decide()
        one.worker.start()
        await moving.wait()
        await one.approvals.cancel(task_id)
        state = await _ended(one, task_id)
        count = len(steps)
        assert state == "cancelled"
        await asyncio.sleep(0.1)
        assert len(steps) == count


async def test_a_new_task_is_not_touched_by_the_end_of_a_cancelled_one(tmp_path: Path) -> None:
    """B16, B14: the next task of the session starts after the cancelled one and keeps its own state."""
    async with engine(tmp_path, tool("look", Counted(), "file:read")) as one:
        one.model.will(Reply(text="thinking", delay_seconds=0.2, pieces=20), "Second.")
        first = await one.accept("one", "1")
        second = await one.accept("two", "2")
        one.worker.start()
        await one.model_asked()
        await one.approvals.cancel(first)
        assert await _ended(one, first) == "cancelled"
        assert await _ended(one, second) == "done"


async def test_a_result_too_long_for_the_model_is_kept_whole(tmp_path: Path) -> None:
    """B19, B20: one line of 300,000 characters: the model gets a part and the way to the rest, also on later turns."""
    whole = "".join(chr(97 + number % 26) for number in range(300_000))

    async def dump() -> str:
        return whole

    async with engine(tmp_path, tool("dump", dump, "file:read")) as one:
        one.model.will(Reply(calls=[("dump", {})]), Reply(calls=[("dump", {})]), "Read.")
        state = await one.run(await one.accept())
        shown = next(entry.data["text"] for entry in state.entries if entry.kind == "tool")
        assert "15800 of 300000 characters shown" in shown
        path = shown.split("read_file('")[1].split("'")[0]
        assert (tmp_path / "office" / path).read_text() == whole
        assert all(len(message["content"] or "") < 17_000 for message in one.model.requests[-1]["messages"])


async def _ended(one: Engine, task_id: int) -> str:
    for _ in range(1000):
        task = (await one.store.load(task_id)).task
        if task.finished_at is not None:
            return task.status
        await asyncio.sleep(0.01)
    raise AssertionError("the task did not end")
