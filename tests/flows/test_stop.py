"""A wish to stop is never lost, whatever the task does at that moment."""

from __future__ import annotations

import asyncio
import hashlib
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from agent.domain import Approval, Target
from agent.errors import Conflict
from agent.ports.listings import ApprovalSelection
from agent.tool import Preview, Tool, ToolContext, in_thread
from tests.flows.bot import Bot, running
from tests.flows.engine import NoArguments, engine, tool
from tests.servers.llm import FakeLLM, Reply


async def test_a_wish_to_stop_holds_also_when_the_run_is_about_to_park(tmp_path: Path) -> None:
    """The task that runs is asked to stop and asks a person instead: it ends, and no card is left behind."""
    sent: list[str] = []

    async def send() -> str:
        sent.append("sent")
        return "sent"

    async with engine(tmp_path) as one:

        async def preview(context: ToolContext, arguments: NoArguments) -> Preview:
            await one.approvals.cancel(context.task_id)
            return Preview(title="send", text="send")

        one.registry["send"] = replace(tool("send", send), preview=preview)
        one.model.will(Reply(calls=[("send", {})]))
        state = await one.run(await one.accept())
        assert (state.task.status, state.approvals, sent) == ("cancelled", (), [])
        assert [call.status for call in state.calls] == ["cancelled"]
        assert await one.store.approvals(which=ApprovalSelection(status="open")) == []


async def test_a_stop_at_any_moment_ends_the_task(tmp_path: Path) -> None:
    """Asked at forty moments of a run that leads to a card, each task is cancelled and nothing is written."""
    async with running(tmp_path, model=FakeLLM(default=_write())) as bot:
        tasks = [await bot.say(f"Write {number}") for number in range(40)]
        await asyncio.gather(*(_stop(bot, task_id, number * 0.004) for number, task_id in enumerate(tasks)))
        ended = [await bot.reached(task_id, "cancelled") for task_id in tasks]
        assert bot.files() == []
        assert {approval.status for state in ended for approval in state.approvals} <= {"cancelled"}
        await bot.model.close()


async def _stop(bot: Bot, task_id: int, seconds: float) -> None:
    await asyncio.sleep(seconds)
    await bot.app.services.approvals.cancel(task_id)


async def test_a_press_and_a_stop_at_once_both_count(tmp_path: Path) -> None:
    """Whichever comes first: the task is cancelled, and the press is recorded or refused."""
    async with running(tmp_path, model=FakeLLM(default=_write())) as bot:
        for _ in range(10):
            waiting = await bot.ask("Write")
            task_id, card = waiting.task.task_id, waiting.approvals[0]
            pressed, stopped = await asyncio.gather(
                bot.press(card), bot.app.services.approvals.cancel(task_id), return_exceptions=True
            )
            assert isinstance(pressed, Conflict | Approval)
            assert stopped is None
            state = await bot.reached(task_id, "cancelled")
            assert not [approval for approval in state.approvals if approval.status == "open"]
        await bot.model.close()


@pytest.mark.parametrize("writes", [True, False])
async def test_a_stop_in_the_middle_of_a_write_tells_what_came_of_it(tmp_path: Path, writes: bool) -> None:
    """The thread finishes what it began: a file that is there is done and handed out, one that is not was cancelled."""
    begun, go = asyncio.Event(), threading.Event()
    loop, content = asyncio.get_running_loop(), b"whole"
    target = Target(path="a.md", base_sha256=None, intended_sha256=hashlib.sha256(content).hexdigest())

    async def preview(context: ToolContext, arguments: NoArguments) -> Preview:
        return Preview(title="write", text="write", targets=(target,))

    def write(context: ToolContext) -> None:
        loop.call_soon_threadsafe(begun.set)
        go.wait(30)
        if writes:
            context.workspace.write("a.md", content, expected=None)

    async def run(context: ToolContext, arguments: NoArguments) -> str:
        await in_thread(write, context)
        await context.publish("a.md")
        return "written"

    slow = Tool(
        name="write", description="w", parameters=NoArguments, capability="file:write", run=run, preview=preview
    )
    async with engine(tmp_path, slow) as one:
        one.model.will(Reply(calls=[("write", {})]))
        task_id = await one.accept()
        await one.run(task_id)
        await one.decide()
        working = asyncio.create_task(one.run(task_id))
        await begun.wait()
        one.worker.start()
        await one.approvals.cancel(task_id)
        await asyncio.sleep(0.1)
        go.set()
        state = await working
        assert (state.task.status, [call.status for call in state.calls]) == (
            "cancelled",
            ["done" if writes else "cancelled"],
        )
        assert [artifact.sha256 for artifact in state.artifacts] == [target.intended_sha256] * writes
        assert (tmp_path / "office" / "a.md").exists() is writes


def _write() -> Reply:
    return Reply(calls=[("write_file", {"path": "a.md", "content": "x"})])
