"""Where people are asked when it is not the conversation, and rules of a workspace and of a place."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent.domain import Address, IncomingMessage
from tests.flows.bot import tool_texts
from tests.flows.talk import Talk, talking
from tests.servers.llm import Reply

NOTE = Reply(calls=[("write_file", {"path": "note.md", "content": "# Note\n"})])
ROOM = {"channels": ["lines:room"]}


async def shown_at(talk: Talk, task_id: int) -> list[str]:
    """The conversations that got the task's card."""
    state = await talk.services.store.load(task_id)
    return [place.conversation for place in state.approvals[0].shown_at]


async def from_a_hook(talk: Talk) -> int:
    """A task for which nobody is there."""
    address = Address(channel="webhook", conversation="demo", thread="1")
    message = IncomingMessage(
        dedup_key="hook",
        address=address,
        sender="webhook:demo",
        text="Write a note",
        origin="webhook",
        received_at=talk.services.clock.now(),
        reply_to=(address,),
        workspace="office",
    )
    return (await talk.services.inbox.accept(message)).task_id


async def test_in_a_room_for_approvals(tmp_path: Path) -> None:
    """The card is there and only there, the conversation is told so, and whoever may decide does it where they read
    it, without seeing the workspace otherwise."""
    office = ROOM | {"approvals": {"to": ["lines:board"]}}
    async with talking(tmp_path, office=office) as talk:
        talk.model.will(NOTE, "Written.")
        asked = await talk.wire.say("B1", "Write a note", room="room")
        told = await talk.wire.hears("This needs an approval", room="room")
        assert told == "This needs an approval, which was asked for in another place: lines:board."
        assert "# Note" in await talk.wire.hears("please decide", room="board")
        assert await shown_at(talk, asked["task_id"]) == ["board"]
        elsewhere = await talk.wire.say("E1", "/approve 1")
        assert elsewhere["outcome"] == "refused:not_found"
        assert (await talk.wire.say("B1", "/approve 1", room="board"))["outcome"] == "refused:not_an_approver"
        assert (await talk.wire.say("E1", "/approve 1", room="board"))["outcome"] == "decided"
        await talk.wire.hears("Written.", room="room")
        assert (talk.office / "note.md").read_text() == "# Note\n"


async def test_in_direct_messages(tmp_path: Path) -> None:
    """Each approver gets the card alone, and each is told what became of it."""
    async with talking(tmp_path, office=ROOM | {"approvals": {"to": ["approver"]}}) as talk:
        talk.model.will(NOTE, "Written.")
        await talk.wire.say("B1", "Write a note", room="room")
        assert "operator, Ann" in await talk.wire.hears("asked for in another place", room="room")
        for approver in ("A1", "E1"):
            await talk.wire.hears("please decide", room=approver)
        assert (await talk.wire.say("A1", "/deny 1 not now"))["outcome"] == "decided"
        for approver in ("A1", "E1"):
            await talk.wire.hears("denied by Ann: not now", room=approver)
        await talk.wire.hears("Written.", room="room")
        assert list(talk.office.glob("*.md")) == []


async def test_a_place_that_cannot_be_reached_is_not_replaced(tmp_path: Path) -> None:
    """It fails closed: no card in the conversation, which is told; the operator still finds it on the list."""
    async with talking(tmp_path, office={"approvals": {"to": ["slack:C1"]}}) as talk:
        talk.model.will(NOTE, "Written.")
        asked = await talk.wire.say("A1", "Write a note", room="room")
        told = await talk.wire.hears("This needs an approval", room="room")
        assert told.endswith("It should also be asked, and could not be: slack:C1 (the channel slack does not run).")
        assert await shown_at(talk, asked["task_id"]) == []
        [card] = await talk.services.store.approvals()
        assert (card.status, "slack:C1" in card.note) == ("open", True)
        assert not any("please decide" in heard["text"] for heard in talk.wire.heard)


async def test_of_a_hook_s_task_every_admin_is_told(tmp_path: Path) -> None:
    """Nobody reads what a hook answers, so the card goes to their direct messages, too."""
    async with talking(tmp_path) as talk:
        talk.model.will(NOTE, "Written.")
        task_id = await from_a_hook(talk)
        await talk.wire.hears("please decide", room="A1")
        assert await shown_at(talk, task_id) == ["demo", "A1"]
        assert (await talk.wire.say("A1", "/approve 1"))["outcome"] == "decided"
        await talk.wire.hears("approved by Ann", room="A1")


@pytest.mark.parametrize(("room", "written"), [("room", True), ("strict-1", False)])
async def test_a_room_with_stricter_rules(tmp_path: Path, room: str, written: bool) -> None:
    """What the workspace allows can be denied for some conversations; the model is told and nobody is asked."""
    office = {"policy": {"file:write": "allow"}}
    async with talking(tmp_path, office=office, stricter={"lines:strict-*": {"file:*": "deny"}}) as talk:
        talk.model.will(NOTE, "Done.")
        await talk.wire.say("B1", "Write a note", room=room)
        await talk.wire.hears("Done.", room=room)
        assert (talk.office / "note.md").exists() is written
        assert ("denies file:write" in tool_texts(talk.model.requests[-1])[0]) is not written
        assert await talk.services.store.approvals() == []


async def test_what_a_workspace_allows_a_hook_asks(tmp_path: Path) -> None:
    """The same request with nobody there waits for a person."""
    async with talking(tmp_path, office={"policy": {"file:write": "allow"}}) as talk:
        talk.model.will(NOTE, "Written.")
        await from_a_hook(talk)
        await talk.wire.hears("please decide", room="A1")
        assert list(talk.office.glob("*.md")) == []
