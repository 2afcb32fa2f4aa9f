"""Cards that nobody decides: brought to mind once, then expired, then perhaps asked again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

from agent.errors import Conflict
from agent.ports.store import TaskState
from tests.clock import FakeClock
from tests.flows.bot import Bot, running
from tests.flows.engine import engine, tool
from tests.flows.test_sign_off import writes
from tests.servers.llm import Reply

POLICY = {"file:write": {"ask": ["approver"], "expires": "60s"}}
SAID = text("SELECT kind, text FROM deliveries WHERE kind IN ('approval', 'notice', 'settle') ORDER BY delivery_id")


async def said(bot: Bot) -> list[tuple[str, str]]:
    """The cards and notices that went into the outbox."""

    def read(connection: Any) -> list[tuple[str, str]]:
        return [(row.kind, row.text) for row in connection.execute(SAID)]

    return await bot.app.services.store.database.read(read)


async def at(bot: Bot, clock: FakeClock, seconds: int) -> None:
    """So many seconds later, each of them having had its sweep."""
    for _ in range(seconds):
        clock.advance(1)
    await bot.app.services.approvals.remind()
    await bot.app.services.approvals.sweep()


def reminders(state: TaskState) -> list[str]:
    return [str(entry.data["text"]) for entry in state.entries if "Reminder" in str(entry.data.get("text"))]


async def test_a_card_is_brought_to_mind_once_at_three_quarters(tmp_path: Path) -> None:
    """Where it was shown, and in the journal; with what waits, who may decide and how."""
    clock = FakeClock()
    async with running(tmp_path, clock=clock, policy=POLICY) as bot:
        bot.model.will(writes("a.md"), "Done.")
        state = await bot.ask("Write")
        await at(bot, clock, 44)
        assert [kind for kind, _ in await said(bot)] == ["approval"]
        await at(bot, clock, 1)
        await at(bot, clock, 10)
        [_, (kind, words)] = await said(bot)
        assert kind == "notice"
        assert words.startswith(
            "Reminder: Approval 1 (task 1): please decide: Write new file a.md\nFor approver.\nUntil"
        )
        assert "/approve 1" in words
        after = await bot.app.services.store.load(state.task.task_id)
        assert len(reminders(after)) == 1
        assert after.approvals[0].remind_at is None
        assert (await bot.approve(state.task.task_id)).task.answer == "Done."


async def test_a_decided_card_is_not_brought_to_mind(tmp_path: Path) -> None:
    """Nor one that was withdrawn."""
    clock = FakeClock()
    async with running(tmp_path, clock=clock, policy=POLICY) as bot:
        bot.model.will(writes("a.md"), "Done.", writes("b.md"))
        await bot.approve((await bot.ask("Write")).task.task_id)
        cancelled = await bot.ask("Write")
        await bot.app.services.approvals.cancel(cancelled.task.task_id)
        await at(bot, clock, 50)
        assert "notice" not in [kind for kind, _ in await said(bot)]


async def test_who_looks_only_after_the_end_reminds_nobody(tmp_path: Path) -> None:
    """A process that was away over three quarters and expiry expires the card without a reminder before."""
    clock = FakeClock()
    async with running(tmp_path, clock=clock, policy=POLICY) as bot:
        bot.model.will(writes("a.md"))
        state = await bot.ask("Write")
        clock.advance(61)
        await bot.app.services.approvals.remind()
        await bot.app.services.approvals.sweep()
        ended = await bot.reached(state.task.task_id, "expired")
        assert reminders(ended) == []
        assert [kind for kind, _ in await said(bot)] == ["approval", "settle"]


async def test_a_late_click_closes_the_card_at_once(tmp_path: Path) -> None:
    """E4: told that it has expired, and the card says so before the next sweep; the click is written down."""
    clock = FakeClock()

    async def send() -> str:
        raise AssertionError("it ran")

    async with engine(tmp_path, tool("send", send), clock=clock) as one:
        one.model.will(Reply(calls=[("send", {})]))
        task_id = await one.accept()
        await one.run(task_id)
        clock.advance(24 * 3600)
        with pytest.raises(Conflict, match="has expired; nothing was run"):
            await one.decide()
        ended = await one.store.load(task_id)
        assert (ended.task.status, ended.approvals[0].status) == ("expired", "expired")
        refused = next(entry.data for entry in ended.entries if entry.kind == "decision")
        assert (refused["verdict"], refused["code"]) == ("refused", "already_decided")
        assert (await one.run(task_id)).calls[0].status == "expired"


async def test_what_expired_is_asked_again_as_a_card_of_a_new_task(tmp_path: Path) -> None:
    """E5: the model reads that nothing was run and proposes it once more; whoever asks twice gets the one task."""
    clock = FakeClock()
    async with running(tmp_path, clock=clock, policy=POLICY) as bot:
        bot.model.will(writes("a.md"))
        state = await bot.ask("Write")
        [card] = state.approvals
        approvals = bot.app.services.approvals
        with pytest.raises(Conflict, match="is open; only an expired one"):
            await approvals.ask_again(card.approval_id)
        await at(bot, clock, 60)
        await bot.reached(state.task.task_id, "expired")
        bot.model.will(writes("a.md"), "Done.")
        again = await approvals.ask_again(card.approval_id)
        assert again == await approvals.ask_again(card.approval_id)
        second = await bot.card(again)
        assert (second.task_id, second.approval_id) == (again, card.approval_id + 1)
        assert "Expired, not run" in str(bot.model.requests[1]["messages"])
        assert (await bot.approve(again)).task.answer == "Done."
