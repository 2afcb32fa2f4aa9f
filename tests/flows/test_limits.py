"""Tasks that must not go on for ever, and results that must not grow without end."""

from __future__ import annotations

from pathlib import Path

from tests.clock import FakeClock
from tests.flows.bot import Bot, running
from tests.flows.engine import engine
from tests.servers.llm import FakeLLM, Reply
from tests.storage import given

LOOK = Reply(calls=[("list_files", {"path": "."})])
WRITE = Reply(calls=[("write_file", {"path": "a.md", "content": "x"})])


async def test_the_same_call_over_and_over_ends_the_task(tmp_path: Path) -> None:
    """C1: warned the second time, refused the fourth, ended after a few steps without a result."""
    async with running(tmp_path, model=FakeLLM(default=LOOK)) as bot:
        state = await bot.ask("Look")
        assert (state.task.status, state.task.error_code) == ("failed", "no_progress")
        assert 'Reply "continue"' in (state.task.answer or "")
        results = bot.results(state)
        assert "gave the same result before" in results[1][1]
        assert results[3][0] == "failed"
        assert len(bot.model.requests) < 12
        await bot.model.close()


async def test_a_call_whose_result_changes_is_no_repetition(bot: Bot) -> None:
    """C3: polling is stopped by its result, not by its arguments."""
    for number in range(9):
        bot.file(f"{number}.txt", "x")
        bot.model.will(LOOK)
        bot.model.will(Reply(calls=[("write_file", {"path": "done.txt", "content": str(number)})]))
    bot.model.will("Finished.")
    state = await bot.ask("Poll")
    while state.task.status == "waiting_approval":
        state = await bot.approve(state.task.task_id)
    assert (state.task.status, state.task.answer) == ("done", "Finished.")


async def test_the_same_failing_call_is_refused_earlier(tmp_path: Path) -> None:
    """C4: a failing call is refused the third time, with the reason."""
    failing = Reply(calls=[("read_file", {"path": "nothing.txt"})])
    async with running(tmp_path, model=FakeLLM(default=failing)) as bot:
        state = await bot.ask("Read")
        assert state.task.error_code == "no_progress"
        assert "has failed before (tries: 2)" in bot.results(state)[2][1]
        await bot.model.close()


async def test_a_task_has_a_last_step(tmp_path: Path) -> None:
    """`agent.steps` is the last resort, also for a task that always finds something new."""
    async with running(tmp_path, steps=3) as bot:
        for number in range(3):
            bot.file(f"{number}.txt", "x")
            bot.model.will(Reply(calls=[("read_file", {"path": f"{number}.txt"})]))
        state = await bot.ask("Read on")
        assert state.task.error_code == "step_limit"


async def test_a_budget_of_tokens_holds_also_without_prices(tmp_path: Path) -> None:
    """The cap of tokens counts whatever the model costs; the reason names cap and use."""
    async with running(tmp_path, budget={"task_tokens": 150}) as bot:
        bot.file("a.txt", "x")
        bot.model.will(Reply(calls=[("read_file", {"path": "a.txt"})]), Reply(calls=[("read_file", {"path": "b.txt"})]))
        state = await bot.ask("Read")
        assert state.task.error_code == "budget"
        assert "task_tokens" in (state.task.error_text or "")


async def test_an_expired_card_ends_its_task_and_can_be_asked_again(tmp_path: Path) -> None:
    """E4, E5: nothing runs, no model call is made, and asking again is a new task of the same conversation."""
    clock = FakeClock()
    async with running(tmp_path, clock=clock, policy={"file:write": {"ask": ["approver"], "expires": "60s"}}) as bot:
        bot.model.will(WRITE)
        waiting = await bot.ask("Write")
        [card] = waiting.approvals
        for _ in range(61):
            clock.advance(1)
        state = await bot.reached(waiting.task.task_id, "expired")
        assert "Expired, not run" in bot.results(state)[0][1]
        assert bot.files() == []
        assert len(bot.model.requests) == 1
        bot.model.will(WRITE, "Written.")
        again = await bot.app.services.approvals.ask_again(card.approval_id)
        assert again == await bot.app.services.approvals.ask_again(card.approval_id)
        done = await bot.approve(again)
        assert (done.task.status, bot.files()) == ("done", ["a.md"])
        assert "Expired, not run" in str(bot.model.requests[1]["messages"])


async def test_an_empty_answer_is_asked_for_once_more(bot: Bot) -> None:
    """B9: an empty turn is not stored; twice empty is a failure that says so."""
    bot.model.will(Reply(text=""), "There.")
    assert (await bot.ask("Say")).task.answer == "There."
    bot.model.will(Reply(text=""), Reply(text=""))
    assert (await bot.ask("Say")).task.error_code == "no_answer"


async def test_a_call_written_as_text_is_no_success(bot: Bot) -> None:
    """A22, A23: the whole message is a call: the task says so. An example inside prose is prose."""
    bot.model.will('{"name": "list_files", "arguments": {}}')
    assert (await bot.ask("List")).task.error_code == "no_tool_call"
    bot.model.will('For example you could send {"name": "list_files", "arguments": {}} but I won\'t.')
    assert (await bot.ask("List")).task.status == "done"


async def test_a_cut_turn_is_never_run(bot: Bot) -> None:
    """A13, A14: cut in the middle, whatever the finish reason says: the call does not run and the result names it."""
    cut = Reply(calls=[("write_file", '{"path": "x.md", "content": "ab')], finish_reason="tool_calls")
    short = Reply(calls=[("write_file", '{"path": "x.md"}')], finish_reason="length")
    bot.model.will(cut, short, "I give up.")
    state = await bot.ask("Write")
    assert [status for status, _ in bot.results(state)] == ["failed", "failed"]
    assert all("cut at the output limit" in text for _, text in bot.results(state))
    assert bot.files() == []


async def test_there_is_no_shell_to_talk_round(bot: Bot) -> None:
    """F7: without a sandbox there is no shell; what a model asks of one is refused, not checked by its text."""
    bot.model.will(Reply(calls=[("shell", {"command": "cat /etc/hostname"})]), "No.")
    [(status, text)] = bot.results(await bot.ask("Run"))
    assert (status, "There is no tool 'shell'" in text) == ("failed", True)


async def test_calls_without_end_are_not_run(bot: Bot) -> None:
    """A turn of thousands of calls ends the task with the reason, before any of them costs anything."""
    look = [("read_file", {"path": "a.txt", "offset": number}) for number in range(513)]
    bot.model.will(Reply(calls=look))
    state = await bot.ask("Read")
    assert (state.task.error_code, state.calls) == ("too_many_calls", ())


async def test_each_call_of_a_refused_card_has_one_result(bot: Bot) -> None:
    """Two changes that cannot even be shown, one of them tried before: one result each, and no card."""
    tried = ("edit_file", {"path": "none.txt", "old": "a", "new": "b"})
    other = ("edit_file", {"path": "nothing.txt", "old": "a", "new": "b"})
    bot.model.will(Reply(calls=[tried]), Reply(calls=[other, tried]), "I give up.")
    state = await bot.ask("Edit")
    assert [status for status, _ in bot.results(state)] == ["failed"] * 3


async def test_a_damaged_row_ends_its_own_task_only(tmp_path: Path) -> None:
    """JSON that cannot be read fails one task with a reason; another conversation goes on, the same one afterwards."""
    async with engine(tmp_path) as one:
        one.model.will("Fine.", "Fine, too.")
        bad, good = await one.accept("first", "1", "a"), await one.accept("second", "2", "b")
        await given.sql(one.store, "UPDATE tasks SET reply_to = '[{' WHERE task_id = :task", task=bad)
        assert (await one.run(good)).task.answer == "Fine."
        failed = (await one.store.load(bad)).task
        assert (failed.status, failed.error_code) == ("failed", "damaged")
        assert "database is damaged" in (failed.answer or "")
        assert (await one.run(await one.accept("third", "3", "a"))).task.answer == "Fine, too."
