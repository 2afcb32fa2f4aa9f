"""The promise of the product: nothing changes without a person, and what was approved happens exactly once."""

from __future__ import annotations

import asyncio
import json

import pytest

from agent.domain import Member
from agent.errors import BadInput, Conflict, Forbidden
from tests.flows.bot import Bot, tool_texts
from tests.servers.llm import Reply

REPORT = {"path": "reports/a.md", "content": "# A\n"}


def writes(*paths: str) -> Reply:
    return Reply(calls=[("write_file", {"path": path, "content": f"text of {path}\n"}) for path in paths])


async def test_a_write_stops_for_a_person_and_happens_once(bot: Bot) -> None:
    """Read, ask, approve, write, deliver: the whole way through the product."""
    bot.file("in.txt", "seven")
    bot.model.will(Reply(calls=[("read_file", {"path": "in.txt"})]), Reply(calls=[("write_file", REPORT)]), "Done.")
    waiting = await bot.ask("Write a report")
    assert bot.files() == ["in.txt"]
    [card] = waiting.approvals
    assert card.items[0].capability == "file:write"
    assert "# A" in card.items[0].preview
    done = await bot.approve(waiting.task.task_id)
    assert (done.task.status, done.task.answer) == ("done", "Done.")
    assert bot.file("reports/a.md") == "# A\n"
    status = await bot.status(waiting.task.task_id)
    assert [artifact["name"] for artifact in status["artifacts"]] == ["a.md"]
    assert len(bot.model.requests) == 3


async def test_a_denied_write_is_not_done_and_the_model_reads_the_reason(bot: Bot) -> None:
    """The reason goes back as the call's result and the task goes on."""
    bot.model.will(writes("a.md"), "Understood.")
    waiting = await bot.ask("Write")
    done = await bot.deny(waiting.task.task_id, reason="wrong quarter")
    assert (done.task.status, bot.files()) == ("done", [])
    assert "wrong quarter" in tool_texts(bot.model.requests[-1])[0]


async def test_two_writes_of_a_turn_are_one_card_decided_item_by_item(bot: Bot) -> None:
    """E20: one card with two items, each with its own verdict, results in call order."""
    bot.model.will(writes("a.md", "b.md"), "Done.")
    waiting = await bot.ask("Write both")
    card = await bot.card(waiting.task.task_id)
    assert [item.item for item in card.items] == [1, 2]
    half = await bot.press(card, "denied", items=(1,), reason="not this")
    assert half.status == "open"
    done = await bot.approve(waiting.task.task_id, items=(2,))
    assert bot.files() == ["b.md"]
    assert [status for status, _ in bot.results(done)] == ["denied", "done"]
    first, second = tool_texts(bot.model.requests[-1])
    assert "not this" in first
    assert "not this" not in second


async def test_identical_calls_of_a_turn_are_one_item(bot: Bot) -> None:
    """E18: the same call three times makes one card with one item, and the file is written once."""
    bot.model.will(writes("a.md", "a.md", "a.md"), "Done.")
    waiting = await bot.ask("Write")
    assert len((await bot.card(waiting.task.task_id)).items) == 1
    done = await bot.approve(waiting.task.task_id)
    assert [status for status, _ in bot.results(done)] == ["done", "done", "done"]


async def test_of_two_presses_at_once_one_wins(bot: Bot) -> None:
    """E1: the loser is told that it is decided, and the effect runs once."""
    bot.model.will(writes("a.md"), "Done.")
    waiting = await bot.ask("Write")
    card = await bot.card(waiting.task.task_id)
    outcomes = await asyncio.gather(*(bot.press(card) for _ in range(5)), return_exceptions=True)
    refused = [outcome for outcome in outcomes if isinstance(outcome, Conflict)]
    assert len(refused) == 4
    assert "already decided by operator" in str(refused[0])
    done = await bot.reached(waiting.task.task_id, "done")
    assert [status for status, _ in bot.results(done)] == ["done"]


async def test_somebody_without_the_role_cannot_decide(bot: Bot) -> None:
    """E13: only named approvers decide; the task goes on waiting."""
    bot.model.will(writes("a.md"), "Done.")
    waiting = await bot.ask("Write")
    card = await bot.card(waiting.task.task_id)
    with pytest.raises(Forbidden, match="mallory may not decide"):
        await bot.press(card, by=Member(name="mallory"))
    assert (await bot.settled(waiting.task.task_id)).task.status == "waiting_approval"


async def test_the_agent_has_no_tool_to_approve_with(bot: Bot) -> None:
    """E16: a made-up approve tool is refused with the list of real ones; A21: its sibling still runs."""
    bot.file("in.txt", "seven")
    approve = ("approve", {"approval_id": 1})
    bot.model.will(Reply(calls=[approve, ("read_file", {"path": "in.txt"})]), "Cannot.")
    done = await bot.ask("Approve yourself")
    results = bot.results(done)
    assert results[0][0] == "failed"
    assert "write_file" in results[0][1]
    assert "seven" in results[1][1]


async def test_a_target_that_changed_since_is_asked_about_again(bot: Bot) -> None:
    """What runs is what was shown: another content in between means a new card with the new difference."""
    bot.file("a.md", "one\n")
    bot.model.will(Reply(calls=[("write_file", {"path": "a.md", "content": "two\n"})]), "Done.")
    waiting = await bot.ask("Change it")
    bot.file("a.md", "somebody else\n")
    again = await bot.approve(waiting.task.task_id)
    assert again.task.status == "waiting_approval"
    assert bot.file("a.md") == "somebody else\n"
    card = await bot.card(waiting.task.task_id)
    assert "changed since" in card.note
    assert "somebody else" in card.items[0].preview
    await bot.approve(waiting.task.task_id)
    assert bot.file("a.md") == "two\n"


async def test_the_stored_arguments_run_byte_for_byte(bot: Bot) -> None:
    """E8, A17: what was approved is what is written, also where it looks like JSON or shell text."""
    content = json.dumps({"a": 1}) + "\n$(rm -rf x) 'quoted' \\n é\n"
    bot.model.will(Reply(calls=[("write_file", {"path": "c.txt", "content": content})]), "Done.")
    waiting = await bot.ask("Write")
    await bot.approve(waiting.task.task_id)
    assert bot.file("c.txt") == content


async def test_hidden_characters_are_visible_on_the_card(bot: Bot) -> None:
    """E22: direction and zero-width marks are shown as escapes; the text that runs is unchanged."""
    content = "rm x\u202egpj.\u200b\u2028\n"
    bot.model.will(Reply(calls=[("write_file", {"path": "c.txt", "content": content})]), "Done.")
    waiting = await bot.ask("Write")
    preview = (await bot.card(waiting.task.task_id)).items[0].preview
    assert "\u202e" not in preview
    assert "202e" in preview.lower()
    await bot.approve(waiting.task.task_id)
    assert bot.file("c.txt") == content


async def test_an_unknown_card_and_an_unknown_item_are_told_apart(bot: Bot) -> None:
    """Each mistake has its own sentence, and nothing is decided."""
    bot.model.will(writes("a.md"), "Done.")
    waiting = await bot.ask("Write")
    card = await bot.card(waiting.task.task_id)
    with pytest.raises(BadInput, match="items 1 to 1"):
        await bot.press(card, items=(2,))
    assert (await bot.card(waiting.task.task_id)).status == "open"


async def test_an_item_named_twice_counts_once(bot: Bot) -> None:
    """One verdict, one line in the journal."""
    bot.model.will(writes("a.md", "b.md"), "Done.")
    waiting = await bot.ask("Write both")
    await bot.press(await bot.card(waiting.task.task_id), items=(1, 1))
    state = await bot.deny(waiting.task.task_id)
    decided = [entry.data["call_ids"] for entry in state.entries if entry.kind == "decision"]
    assert [len(call_ids) for call_ids in decided] == [1, 1]
