"""A wish to stop is never lost, whatever the task does at that moment."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

from agent.domain import Approval
from agent.errors import Conflict
from agent.ports.listings import ApprovalSelection
from agent.tool import Preview, ToolContext
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


def _write() -> Reply:
    return Reply(calls=[("write_file", {"path": "a.md", "content": "x"})])
