"""What waited goes on in another Signoff: a tool, a model or a folder is gone. It is said, not crashed on."""

from __future__ import annotations

import shutil
from pathlib import Path

from sqlalchemy import text

from tests.flows.bot import Bot, running
from tests.flows.engine import engine, tool
from tests.servers.llm import Reply

WRITE = Reply(calls=[("write_file", {"path": "a.md", "content": "x"})])


async def _nothing() -> str:
    return "done"


async def test_a_call_whose_tool_is_gone_is_answered(tmp_path: Path) -> None:
    """The model hears which tools there are, and the task goes on."""
    async with engine(tmp_path, tool("send", _nothing)) as before:
        before.model.will(Reply(calls=[("send", {})]))
        task_id = await before.accept()
        await before.run(task_id)
    async with engine(tmp_path, tool("other", _nothing)) as after:
        await after.decide()
        after.model.will("I cannot send.")
        done = await after.run(task_id)
        assert (done.task.status, done.calls[0].status) == ("done", "failed")
        [result] = [entry.data["text"] for entry in done.entries if entry.kind == "tool"]
        assert "There is no tool 'send'" in result


async def test_a_model_that_is_not_configured_any_more_ends_the_task(bot: Bot) -> None:
    """The reason names the models there are, and the task does not run for ever."""
    bot.model.will(WRITE)
    waiting = await bot.ask("Write")
    rename = text("UPDATE sessions SET model = 'gone'")
    await bot.app.services.store.database.write(lambda connection: connection.execute(rename))
    failed = await bot.approve(waiting.task.task_id)
    assert (failed.task.status, failed.task.error_code) == ("failed", "not_configured")
    assert "There is no model 'gone'" in (failed.task.error_text or "")
    assert bot.file("a.md") == "x"


async def test_a_workspace_that_is_not_configured_any_more_ends_the_task(bot: Bot) -> None:
    """Nothing is written anywhere else instead."""
    bot.model.will(WRITE)
    waiting = await bot.ask("Write")
    rename = text("UPDATE tasks SET workspace = 'gone'")
    await bot.app.services.store.database.write(lambda connection: connection.execute(rename))
    failed = await bot.approve(waiting.task.task_id)
    assert (failed.task.error_code, bot.files()) == ("not_configured", [])


async def test_a_workspace_folder_that_is_gone_is_named(bot: Bot) -> None:
    """The model reads that the folder is missing, not that its file is."""
    bot.model.will(WRITE, "The folder is gone.")
    waiting = await bot.ask("Write")
    shutil.rmtree(bot.folder)
    done = await bot.approve(waiting.task.task_id)
    [(status, said)] = bot.results(done)
    assert (status, "The folder of the workspace office does not exist" in said) == ("failed", True), said
    assert not bot.folder.exists()


async def test_a_drained_run_goes_on_where_it_was(bot: Bot) -> None:
    """Drained in the middle of a model call behind an approved write: no second card, no second write."""
    bot.model.will(WRITE, Reply(text="Do" * 200, pieces=200, delay_seconds=0.05))
    waiting = await bot.ask("Write")
    await bot.press(waiting.approvals[0])
    task_id = waiting.task.task_id
    await bot.until(task_id, lambda state: len(bot.model.requests) == 2 and state.task.status == "running")
    await bot.app.worker.drain(0)
    drained = await bot.app.services.store.load(task_id)
    assert (drained.task.status, drained.task.crashes) == ("queued", 0)
    bot.model.will("Done.")
    bot.app.worker.start()
    done = await bot.settled(task_id)
    assert (done.task.answer, len(done.approvals), bot.file("a.md")) == ("Done.", 1, "x")
    assert [status for status, _ in bot.results(done)] == ["done"]
    assert len(bot.model.requests) == 3


async def test_what_the_policy_denies_by_now_never_runs(tmp_path: Path) -> None:
    """Also when it was asked, and even approved, under another policy: the model is told so."""
    async with running(tmp_path) as before:
        before.model.will(WRITE)
        task_id = (await before.ask("Write")).task.task_id
    async with running(tmp_path, policy={"file:write": "deny"}) as after:
        after.model.will("It may not be written.")
        done = await after.approve(task_id)
        [(status, said)] = after.results(done)
        assert (done.task.status, status, after.files()) == ("done", "denied", [])
        assert "the policy of this workspace denies file:write" in said
