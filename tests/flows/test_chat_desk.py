"""What a conversation on a chat platform shows and lets decide, by who is in it and by which card was sent there."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from agent.domain import Address, AwaitedFile
from agent.errors import BadInput, Conflict, Forbidden
from bot.services import Services
from tests.clock import FakeClock
from tests.flows.arrivals import ROOM, prepared, pressed, said
from tests.flows.talk import platform_chat
from tests.storage import given
from tools.workspace.directory import WorkspaceDirectory

ALONE = Address(channel="lines", conversation="A1")


async def told(services: Services) -> list[str]:
    """What was said, the first first."""
    due = await services.store.due(services.clock.now(), 50, frozenset())
    for one in due:
        await services.store.delivered(one.delivery_id, "sent")
    return [one.text for one in due if one.kind == "notice"]


async def answer(services: Services, who: str, text: str, *, room: str | None = "room", key: str = "event") -> str:
    """What is said to a chat word."""
    message = said(who, text, room=room, key=key)
    await message(platform_chat(services))
    [answered] = await told(services)
    return answered


async def test_company_sees_only_what_belongs_to_it(tmp_path: Path) -> None:
    """Whoever writes there, an admin, too: no other workspace's requests, files, cards or memory are read out."""
    async with prepared(tmp_path / "home") as services:
        await services.store.accept(given.message(text="secret", address=ALONE), workspace="desk", files=())
        (tmp_path / "home" / "desk" / "secret.txt").write_text("x")
        alone, company = [], []
        for number, word in enumerate(("/tasks", "/workspace", "/status", "/files", "/usage", "/memory")):
            alone.append(await answer(services, "A1", word, room=None, key=f"alone {number}"))
            company.append(await answer(services, "A1", word, key=f"company {number}"))
        assert "secret" in alone[0]
        assert "- desk" in alone[1]
        assert [text for text in company if "secret" in text or "desk" in text] == []
        assert "There is no workspace 'desk'." in await answer(services, "A1", "/workspace desk", key="there")


async def test_alone_one_works_where_one_chose_to(tmp_path: Path) -> None:
    """Until /new somewhere else; the conversation before is put away, and an empty one is taken again."""
    async with prepared(tmp_path / "home") as services:
        hello = said("B1", "Hello", room=None, key="1")
        first = await hello(platform_chat(services))
        assert first.task_id is not None
        assert (await services.store.task(first.task_id)).workspace == "desk"
        assert "in the workspace office" in await answer(services, "B1", "/workspace office", room=None, key="2")
        assert "A new conversation." in await answer(services, "B1", "/new", room=None, key="3")
        second = await said("B1", "Hello", room=None, key="4")(platform_chat(services))
        assert second.task_id is not None
        task = await services.store.task(second.task_id)
        sessions = [one.session for one in await services.store.sessions() if one.session.address.conversation == "B1"]
        assert (task.workspace, [one.session_id for one in sessions]) == ("office", [task.session_id])
        desk = {"desk": str(tmp_path / "home" / "desk")}
        fewer = WorkspaceDirectory(desk, {"desk": ["lines:B1"]}, private_folder=str(tmp_path / "private"))
        assert "Workspace office" in await answer(services, "B1", "/status", room=None, key="5")
        left = replace(services, workspaces=fewer)
        assert "Workspace desk" in await answer(left, "B1", "/status", room=None, key="6"), "office is not theirs now"


async def test_a_card_is_decided_where_it_was_sent(tmp_path: Path) -> None:
    """Its workspace may be another one than the conversation's; from anywhere else it is unknown, and the try is in the
    journal of its task."""
    async with prepared(tmp_path / "home") as services:
        await given.sql(services.store, "UPDATE tasks SET workspace = 'desk' WHERE task_id = 1")
        there = pressed("E1", "token:1:approve", key="elsewhere", room="hall")
        assert (await there(platform_chat(services))).outcome == "refused:not_found"
        assert "There is no approval 1." in await answer(services, "E1", "/deny 1", room="hall", key="typed")
        state = await services.store.load(1)
        refused = [entry.data["by"] for entry in state.entries if entry.data.get("verdict") == "refused"]
        assert (refused, state.approvals[0].status) == (["Eve", "Eve"], "open")
        here = pressed("E1", "token:1:approve", key="here")
        assert (await here(platform_chat(services))).said == "Approval 1: approved by Eve."


async def test_forms_show_arguments_to_those_alone_who_may_edit(tmp_path: Path) -> None:
    """Whoever may not decide gets no edit form; one for a card that changed since is not opened."""
    async with prepared(tmp_path / "home") as services:
        chat = platform_chat(services)
        edit = await chat.form("lines:A1", "token:1:edit:1")
        assert {field.name: field.value for field in edit.fields} == {"path": "a.md", "content": "x"}
        assert (edit.value, edit.submit) == ("token:1:edit:1", "Show the new card")
        for who in ("lines:B1", "lines:S1"):
            with pytest.raises(Forbidden, match="may not decide"):
                await chat.form(who, "token:1:edit:1")
        changes = await chat.form("lines:B1", "token:1:changes")
        assert [field.name for field in changes.fields] == ["reason"]
        with pytest.raises(Conflict, match="edited meanwhile"):
            await chat.form("lines:A1", "token:2:deny")
        for value in ("token:1:approve", "nonsense", "other:1:deny"):
            with pytest.raises(BadInput):
                await chat.form("lines:A1", value)


async def test_who_is_let_in(tmp_path: Path) -> None:
    """People we know everywhere; others by the channel's allow list: themselves, a conversation, or everybody."""
    async with prepared(tmp_path / "home") as services:
        strict, open_to_all = platform_chat(services, ["G1", "hall"]), platform_chat(services, ["*"])
        hall = replace(ROOM, conversation="hall")
        assert await strict.admits("lines:B1", ROOM)
        assert await strict.admits("lines:G1", ROOM)
        assert await strict.admits("lines:X1", hall)
        assert not await strict.admits("lines:X1", ROOM)
        assert await open_to_all.admits("lines:X1", ROOM)
        assert not await open_to_all.admits("other:X1", replace(ROOM, channel="other"))


async def test_what_expired_is_asked_again(tmp_path: Path) -> None:
    """By a press on its card, by whoever may ask there; a second press names the same task."""
    async with prepared(tmp_path / "home") as services:
        assert isinstance(services.clock, FakeClock)
        services.clock.advance(25 * 3600)
        assert await services.approvals.sweep() == 1
        chat = platform_chat(services)
        stranger = await pressed("S1", "token:1:ask", key="0")(chat)
        assert (stranger.outcome, "do not know you" in stranger.said) == ("refused:stranger", True)
        answers = [await pressed(who, "token:1:ask", key=who)(chat) for who in ("B1", "A1")]
        assert [(one.outcome, one.said) for one in answers] == [("task", "Task 3 proposes it again.")] * 2
        again = await services.store.task(3)
        assert (again.requester, again.follow_up_of, again.session_id) == ("Ben", 1, 1)


async def test_a_file_that_is_still_with_the_platform_is_a_file(tmp_path: Path) -> None:
    """What comes with it is a request about it: no chat word, and no answer to the card that is open there."""
    file = AwaitedFile(channel="lines", reference="F1", name="a.csv")
    async with prepared(tmp_path / "home") as services:
        for number, text in enumerate(("by region", "/status", "")):
            event = said("B1", text, key=f"{number}", awaited_files=(file,), message_id=f"m{number}")
            receipt = await event(platform_chat(services))
            assert (receipt.outcome, receipt.task_id is None) == ("task", False)
            task = await services.store.task(receipt.task_id or 0)
            assert (task.awaited_files, task.message_id, task.prompt) == ((file,), f"m{number}", text)
        assert (
            await said("X1", "Hello", key="9", awaited_files=(file,))(platform_chat(services))
        ).outcome == "stranger"
