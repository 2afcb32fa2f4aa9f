"""An item of a card with a person's own arguments: shown again as what will run, and told to the model."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agent.domain import Approval
from agent.edits import edition
from agent.errors import BadInput, Conflict, Forbidden
from agent.ports.store import TaskState
from agent.tool import digest
from tests.flows.bot import Bot, running, tool_texts
from tests.servers.llm import Reply

PEOPLE = ({"name": "bob", "roles": ["approver"]}, {"name": "mia"})
WRITE = ("write_file", {"path": "a.md", "content": "one\ntwo\n"})


@pytest.fixture
async def bot(tmp_path: Path) -> AsyncIterator[Bot]:
    async with running(tmp_path, people=PEOPLE) as bot:
        yield bot


async def asked(bot: Bot, *calls: tuple[str, Any]) -> Approval:
    bot.model.will(Reply(calls=list(calls)), "Done.")
    return await bot.card((await bot.ask("Write")).task.task_id)


async def state_of(bot: Bot, card: Approval) -> TaskState:
    return await bot.app.services.store.load(card.task_id)


async def test_what_a_person_wrote_is_shown_approved_and_run(bot: Bot) -> None:
    """E8: the edited bytes are what the card shows, what is hashed and what is written."""
    bot.file("a.md", "zero\n")
    card = await asked(bot, WRITE)
    shown = await bot.edit(card, content="one\nthree\n", by=await bot.person("bob"))
    [item] = shown.items
    assert (shown.status, shown.revision, item.status) == ("open", 2, "waiting")
    assert "+three" in item.preview
    assert "+two" not in item.preview
    assert item.sha256 == digest("write_file", item.arguments)
    assert (json.loads(item.original or "")["content"], item.edited_by) == ("one\ntwo\n", "bob")
    assert bot.file("a.md") == "zero\n"
    await bot.press(shown)
    await bot.reached(card.task_id, "done")
    assert bot.file("a.md") == "one\nthree\n"


async def test_the_journal_has_both_versions_and_the_model_reads_the_difference(bot: Bot) -> None:
    """It goes on with what is really there."""
    card = await asked(bot, WRITE)
    await bot.edit(card, content="one\nthree\n", by=await bot.person("bob"))
    done = await bot.approve(card.task_id)
    edited, approved = bot.decisions(done)
    assert [json.loads(edited[when])["content"] for when in ("before", "after")] == ["one\ntwo\n", "one\nthree\n"]
    assert (edited["by"], edited["sha256"], approved["verdict"]) == ("bob", approved["sha256"], "approved")
    [result] = tool_texts(bot.model.requests[-1])
    assert result.startswith("[bob changed the arguments of this call before approving it:]\n")
    assert "-two\n+three" in result
    assert result.endswith("Wrote a.md: 10 bytes.")
    own = [message for message in bot.model.requests[-1]["messages"] if message.get("tool_calls")]
    assert "two" in own[0]["tool_calls"][0]["function"]["arguments"], "what the model said stays what it said"


async def test_a_button_of_the_card_before_is_refused(bot: Bot) -> None:
    """Whoever pressed has not seen what would run."""
    card = await asked(bot, WRITE)
    await bot.edit(card, content="three\n")
    services = bot.app.services
    bob = await bot.person("bob")
    with pytest.raises(Conflict, match="Look again") as refusal:
        await bot.press(card, by=bob, revision=card.revision)
    assert refusal.value.code == "card_changed"
    with pytest.raises(Conflict, match="Look again"):
        await bot.edit(card, content="four\n", by=bob)
    assert (await services.store.find_approval(approval_id=card.approval_id)).status == "open"


async def test_of_two_edits_at_once_the_second_is_told_to_look(bot: Bot) -> None:
    """It was made from what the first has replaced, also when it names no revision."""
    card = await asked(bot, WRITE)
    people = await bot.app.services.people.by_name()
    second = replace(bot.edit_of(card, {"content": "four\n"}), revision=None)
    draft = await bot.app.services.approvals.drafts.draft(await state_of(bot, card), second, people)
    await bot.edit(card, content="three\n")
    refusal = edition(await state_of(bot, card), second, draft, people).refusal
    assert refusal is not None
    assert refusal.code == "card_changed"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"path": "../out.md"}, "leaves the workspace"),
        ({"path": "/etc/passwd"}, "path: /etc/passwd is an absolute path"),
        ({"path": "memory/facts.md"}, "memory"),
        ({"path": "link.md"}, "link"),
        ({"content": 7}, "content: Input should be a valid string"),
        ({"mode": "w"}, "mode: Extra inputs are not permitted"),
        ({"content": "one\ntwo\n"}, "Nothing was changed"),
    ],
)
async def test_arguments_that_cannot_run_change_nothing(bot: Bot, arguments: dict[str, Any], said: str) -> None:
    """They are checked like the model's own, by schema and guard; the try is written down, and the card stays."""
    (bot.folder / "link.md").symlink_to("/etc/hostname")
    card = await asked(bot, WRITE)
    with pytest.raises(BadInput, match=said):
        await bot.edit(card, **arguments)
    after = await bot.app.services.store.find_approval(approval_id=card.approval_id)
    assert (after.items, after.revision) == (card.items, 1)
    [entry] = bot.decisions(await state_of(bot, card))
    assert (entry["verdict"], entry["tried"], said in entry["reason"]) == ("refused", "edited", True)
    row = await bot.app.services.store.received("edit:0")
    assert row is not None
    assert (row.kind, row.outcome, row.task_id) == ("edit", f"refused:{entry['code']}", card.task_id)


async def test_arguments_that_are_no_json_object_change_nothing(bot: Bot) -> None:
    """Also not those that a lenient reader would take."""
    card = await asked(bot, WRITE)
    for text in ("", "[1]", '{"path": "a.md"', '{"path": "a.md", "path": "b.md", "content": ""}', '{"path": NaN}'):
        with pytest.raises(BadInput):
            await bot.app.services.approvals.edit(bot.edit_of(card, text))
    assert len(bot.decisions(await state_of(bot, card))) == 5


async def test_only_whoever_may_decide_may_edit(bot: Bot) -> None:
    """E13: nobody else can change what somebody else then approves; the tool is not even asked."""
    card = await asked(bot, WRITE)
    with pytest.raises(Forbidden, match="mia may not decide"):
        await bot.edit(card, content="mine\n", by=await bot.person("mia"))
    foreign = bot.edit_of(card, {"path": "../x"}, by=await bot.person("mia"))
    with pytest.raises(Forbidden):
        await bot.app.services.approvals.edit(foreign)
    with pytest.raises(BadInput, match="There is no approval 1"):
        await bot.app.services.approvals.edit(bot.edit_of(card, {"content": "x"}), within=frozenset())
    assert [entry["code"] for entry in bot.decisions(await state_of(bot, card))] == [
        "not_an_approver", "not_found",
    ]  # fmt: skip


async def test_calls_that_an_edit_made_equal_run_once(bot: Bot) -> None:
    """E18: whichever of the two was edited, and although the other is approved already; both have a result."""
    card = await asked(bot, WRITE, ("write_file", {"path": "b.md", "content": "two\n"}))
    await bot.press(card, items=(1,))
    now = await bot.edit(card, item=2, path="a.md", content="one\ntwo\n")
    await bot.press(now, items=(2,))
    done = await bot.reached(card.task_id, "done")
    assert bot.files() == ["a.md"]
    first, second = tool_texts(bot.model.requests[-1])
    assert "Wrote a.md" in first
    assert "operator changed the arguments" in second
    assert "Same call as before in this turn, answered once" in second
    assert [status for status, _ in bot.results(done)] == ["done", "done"]
    assert len([entry for entry in done.entries if entry.kind == "artifact"]) == 1


async def test_an_edited_call_whose_file_changed_is_shown_again_as_edited(bot: Bot) -> None:
    """The new card has the person's arguments; the earlier one keeps what it showed."""
    bot.file("a.md", "zero\n")
    card = await asked(bot, WRITE)
    edited = await bot.edit(card, content="three\n")
    bot.file("a.md", "somebody else\n")
    await bot.press(edited)
    again = await bot.card(card.task_id)
    assert "-somebody else\n+three" in again.items[0].preview
    earlier = await bot.app.services.store.find_approval(approval_id=card.approval_id)
    assert "-zero\n+three" in earlier.items[0].preview
    await bot.press(again)
    await bot.reached(card.task_id, "done")
    assert bot.file("a.md") == "three\n"
    assert "operator changed the arguments" in tool_texts(bot.model.requests[-1])[0]
