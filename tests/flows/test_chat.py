"""A conversation on a chat platform without buttons: who comes in, what is asked, who signs it off."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.flows.bot import tool_texts
from tests.flows.talk import Talk, talking
from tests.servers.llm import Reply

NOTE = Reply(calls=[("write_file", {"path": "note.md", "content": "# Note\n"})])


@pytest.fixture
async def talk(tmp_path: Path) -> AsyncIterator[Talk]:
    async with talking(tmp_path) as talk:
        yield talk


async def test_from_a_stranger_to_a_signed_off_change(talk: Talk) -> None:
    """E13: a stranger is let in by an admin's word, asks, may not sign it off himself, and an approver does."""
    wire = talk.wire
    talk.model.will(NOTE, "Written.")
    knocked = await wire.say("N1", "Write a note", name="Nell")
    assert (knocked["outcome"], knocked["task_id"]) == ("stranger", None)
    found = re.search(r"[A-Z]{4}-[A-Z]{4}", await wire.hears("I do not know you yet"))
    assert found
    await wire.say("A1", f"/pair {found[0]} Nell")
    assert "Nell (member) is let in as lines:N1." in await wire.hears("is let in")

    asked = await wire.say("N1", "Write a note", room="room")
    assert asked["outcome"] == "task"
    card = await wire.hears("please decide", room="room")
    assert all(part in card for part in ("Nell: Write a note", "note.md", "# Note", "/approve 1", "/changes 1"))

    tried = await wire.say("N1", "/approve 1", room="room", id="tried")
    assert (tried["outcome"], tried["task_id"]) == ("refused:not_an_approver", asked["task_id"])
    assert "Nell may not decide approval 1" in await wire.hears("may not decide", room="room")
    state = await talk.services.store.load(asked["task_id"])
    assert (state.task.status, list(talk.office.glob("*.md"))) == ("waiting_approval", [])
    assert (await talk.received("tried")).who == "Nell"
    [refused] = [entry.data for entry in state.entries if entry.kind == "decision"]
    assert (refused["verdict"], refused["tried"], refused["by"]) == ("refused", "approved", "Nell")

    decided = await wire.say("A1", "/approve 1", room="room")
    assert (decided["outcome"], decided["task_id"]) == ("decided", asked["task_id"])
    assert await wire.hears("Approval 1: approved by Ann.", room="room")
    assert await wire.hears("Written.", room="room")
    assert (talk.office / "note.md").read_text() == "# Note\n"


@pytest.mark.parametrize("who", ["B1", "A1"])
async def test_a_plain_answer_to_an_open_card_asks_for_changes(talk: Talk, who: str) -> None:
    """From whoever asked or may decide: nothing runs, the agent reads it and proposes anew, in the same task."""
    better = Reply(calls=[("write_file", {"path": "note.md", "content": "# By region\n"})])
    talk.model.will(NOTE, better, "Written.")
    asked = await talk.wire.say("B1", "Write a note", room="room")
    await talk.wire.hears("# Note")
    answered = await talk.wire.say(who, "by region, please", room="room", id="answer")
    assert (answered["outcome"], answered["task_id"]) == ("changes", asked["task_id"])
    assert await talk.wire.hears("asked for changes", room="room")
    assert "# By region" in await talk.wire.hears("please decide")
    assert "by region, please" in tool_texts(talk.model.requests[-1])[0]
    assert list(talk.office.glob("*.md")) == []
    await talk.wire.say("A1", "/approve 2", room="room")
    assert await talk.wire.hears("Written.")
    assert (talk.office / "note.md").read_text() == "# By region\n"
    assert (await talk.received("answer")).kind == "message"


async def test_what_is_no_answer_waits_behind_the_card(talk: Talk) -> None:
    """From anybody else, or with a file: a request of its own, and its sender is told that it waits."""
    talk.model.will(NOTE, "Denied, then.", "Hello.", "Thanks.")
    await talk.wire.say("A1", "Write a note", room="room")
    await talk.wire.hears("please decide")
    other = await talk.wire.say("B1", "Hello?", room="room")
    assert other["outcome"] == "task"
    assert "waits for an approval" in await talk.wire.hears("Noted.", room="room")
    with_file = await talk.wire.say("A1", "Look at it", room="room", files={"a.txt": "x"})
    assert with_file["outcome"] == "task"
    await talk.wire.hears("Noted.", room="room")
    state = await talk.services.store.load(with_file["task_id"] - 2)
    assert state.task.status == "waiting_approval"
    await talk.wire.say("A1", "/deny 1 not now", room="room")
    for answer in ("Denied, then.", "Hello.", "Thanks."):
        await talk.wire.hears(answer)
    assert (talk.office / "inbox" / "a.txt").read_text() == "x"


async def test_two_cards_one_after_the_other_are_told_apart(talk: Talk) -> None:
    """The second names itself as such; a verdict on the first is refused as too late."""
    second = Reply(calls=[("write_file", {"path": "b.md", "content": "b"})])
    talk.model.will(NOTE, second, "Done.")
    await talk.wire.say("B1", "Write both", room="room")
    await talk.wire.hears("Approval 1 (task 1)")
    await talk.wire.say("A1", "/approve 1", room="room")
    await talk.wire.hears("Approval 2 (task 1, card 2 of this task)")
    late = await talk.wire.say("A1", "/deny 1 too late", room="room")
    assert late["outcome"] == "refused:already_decided"
    await talk.wire.hears("already decided by Ann")
    await talk.wire.say("A1", "/approve 2", room="room")
    await talk.wire.hears("Done.")
    assert sorted(path.name for path in talk.office.glob("*.md")) == ["b.md", "note.md"]


async def test_a_conversation_s_words(talk: Talk) -> None:
    """They act at once, also while something waits, and a quoted or forwarded one is only text."""
    talk.model.will("First.", NOTE, "Second.")
    await talk.wire.say("B1", "Hello", room="room")
    await talk.wire.hears("First.")
    assert (await talk.wire.say("B1", "/new", room="room"))["outcome"] == "command"
    await talk.wire.hears("A new conversation.")
    await talk.wire.say("B1", "Write a note", room="room")
    await talk.wire.hears("please decide")
    assert len(talk.model.requests[-1]["messages"]) == 2, "the earlier conversation is left behind"
    await talk.wire.say("B1", "/status", room="room")
    assert "waits for an approval" in await talk.wire.hears("Workspace office")
    await talk.wire.say("B1", "/whoami", room="room")
    said = await talk.wire.hears("You are Ben (member)")
    assert "Known as lines:B1. Workspaces: office." in said
    assert "file:write: asks approver: operator, Ann, Eve" in said
    quoted = await talk.wire.say("A1", "/approve 1", room="room", quoted=True)
    assert quoted["outcome"] == "changes"
    await talk.wire.hears("Second.")
    assert list(talk.office.glob("*.md")) == []


async def test_a_word_that_cannot_be_done_says_so(talk: Talk) -> None:
    """The sentence is the answer, and the try is written down."""
    for text, part in (
        ("/approve 99", "There is no approval 99."),
        ("/deny", "Write /deny"),
        ("/dance", "There is no /dance"),
        ("/workspace elsewhere", "There is no workspace 'elsewhere'."),
        ("/pair ABCD-EFGH", "it is for the role admin"),
        ("/files ../..", "leaves the workspace"),
    ):
        await talk.wire.say("B1", text)
        assert part in await talk.wire.hears(part)
    assert (await talk.wire.say("B1", "   "))["outcome"] == "refused:invalid"
    await talk.wire.hears("The request is empty.")


async def test_stop_ends_what_waits(talk: Talk) -> None:
    """E21: the card is withdrawn, and an approval afterwards does nothing."""
    talk.model.will(NOTE)
    asked = await talk.wire.say("B1", "Write a note", room="room")
    await talk.wire.hears("please decide")
    assert (await talk.wire.say("B1", "/stop", room="room"))["outcome"] == "stop"
    await talk.wire.hears("Task 1 is stopped.")
    await talk.wire.hears("Cancelled with its task")
    await talk.wire.say("A1", "/approve 1", room="room")
    await talk.wire.hears("was cancelled with its task")
    assert (await talk.services.store.load(asked["task_id"])).task.status == "cancelled"


async def test_strangers_in_company_are_told_where_to_ask(talk: Talk) -> None:
    """Without a code, which is for them alone, and once an hour however often they write."""
    for _ in range(3):
        assert (await talk.wire.say("X1", "Hello", room="room"))["outcome"] == "stranger"
    said = await talk.wire.hears("direct message", room="room")
    assert not re.search(r"[A-Z]{4}-[A-Z]{4}", said)
    await talk.wire.say("B1", "/status", room="room")
    await talk.wire.hears("Workspace office")
    assert [one for one in talk.wire.heard if "direct message" in one["text"]] == []
    assert await talk.services.store.tasks() == []


async def test_an_allowed_conversation_lets_in_but_gives_no_say(tmp_path: Path) -> None:
    """E14: whoever writes in an allowed group may ask there; a verdict is by who sends it, not by where."""
    async with talking(tmp_path, allow=["room"]) as talk:
        talk.model.will(NOTE)
        asked = await talk.wire.say("G1", "Write a note", room="room")
        assert asked["outcome"] == "task"
        await talk.wire.hears("lines:G1: Write a note")
        for who in ("G1", "G2"):
            tried = await talk.wire.say(who, "/approve 1", room="room")
            assert tried["outcome"] == "refused:not_an_approver"
            await talk.wire.hears(f"lines:{who} may not decide")
        assert (await talk.wire.say("G1", "Hello"))["outcome"] == "stranger", "alone they are not let in by it"
        assert list(talk.office.glob("*.md")) == []


async def test_nobody_decides_where_nobody_is_named(tmp_path: Path) -> None:
    """E15: an empty list is nobody, admins neither; the card says so and what to do."""
    async with talking(tmp_path, policy={"file:write": {"ask": []}}) as talk:
        talk.model.will(NOTE)
        await talk.wire.say("B1", "Write a note", room="room")
        assert "Nobody may approve this" in await talk.wire.hears("please decide")
        assert (await talk.wire.say("A1", "/approve 1", room="room"))["outcome"] == "refused:not_an_approver"
        await talk.wire.hears("Ann may not decide")
