"""People on Telegram and a whole running Signoff: who comes in, what is asked, what is decided, once."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import pytest

from tests.flows.on_telegram import House, house
from tests.servers.llm import Reply
from tests.servers.telegram.people import Sent
from tests.servers.telegram.server import Fault

NOTE = Reply(calls=[("write_file", {"path": "note.md", "content": "# Note\n"})])


@pytest.fixture
async def home(tmp_path: Path) -> AsyncIterator[House]:
    async with house(tmp_path) as made:
        yield made


async def test_a_question_is_answered(home: House) -> None:
    """Where it was asked, in a topic, with every call held against the Bot API's own reference."""
    home.model.will("Forty-two.")
    forum = home.tg.group("Ops", home.ann, forum=True)
    topic = home.tg.topic(forum, "Invoices")
    async with home.running() as signoff:
        home.tg.says(home.ann, forum, "/status@signoff_bot", topic=topic)
        await home.tg.until(lambda: home.tg.from_bot(forum, topic))
        chat = home.tg.private(home.ben)
        home.tg.says(home.ben, chat, "What is the answer?")
        await signoff.hears(chat, "Forty-two.")
    assert home.tg.refusals == []


async def test_an_update_is_done_once_whatever_dies(home: House) -> None:
    """TGU-01, TGU-02: it comes again after a restart, with its marker lost or not, and is known by its rows."""
    home.model.will("Done.", "Second.")
    chat = home.tg.private(home.ben)
    home.tg.says(home.ben, chat, "Go")
    home.tg.says(home.ben, chat, "/new")
    updates = [dict(update) for update in home.tg.account.updates.pending]
    async with home.running() as signoff:
        await signoff.hears(chat, "Done.")
        await signoff.hears(chat, "A new conversation.")
    for update in reversed(updates):
        home.tg.account.updates.again(update)
    async with home.running() as signoff:
        home.tg.says(home.ben, chat, "Again")
        await signoff.hears(chat, "Second.")
        assert len(await signoff.tasks()) == 2
    assert [message.text.partition(".")[0] for message in home.tg.from_bot(chat)].count("A new conversation") == 1


async def test_a_stranger_is_let_in_by_an_admin(home: House) -> None:
    """Alone they get a code; in a group they are only told where to ask; no model is called (TGG-20)."""
    group = home.tg.group("Theirs", home.nell)
    chat, admins = home.tg.private(home.nell), home.tg.private(home.ann)
    async with home.running() as signoff:
        home.tg.says(home.nell, group, "/status@signoff_bot")
        await signoff.hears(group, "Write me a direct message")
        home.tg.says(home.nell, chat, "/start")
        code = re.search(r"[A-Z]{4}-[A-Z]{4}", (await signoff.hears(chat, "I do not know you yet")).text)
        assert code
        home.tg.says(home.ann, admins, f"/pair {code[0]} Nell")
        await signoff.hears(admins, "Nell (member) is let in")
        home.model.will("Hello, Nell.")
        home.tg.says(home.nell, chat, "Hello")
        await signoff.hears(chat, "Hello, Nell.")
        assert len(home.model.requests) == 1


async def test_a_group_is_let_in_as_a_whole(home: House) -> None:
    """TGG-16: by its id, also those who hide behind it; nobody of them decides anything."""
    home.model.will(NOTE, "Written.")
    group = home.tg.group("Ops", home.nell, bot="administrator")
    async with home.running(allow=[group.chat_id]) as signoff:
        home.tg.says(home.nell, group, "@signoff_bot write a note")
        card = await signoff.card()
        home.tg.says_as_anonymous_admin(group, f"/approve {card.approval_id}")
        await signoff.hears(group, f"may not decide approval {card.approval_id}")
        answer = await signoff.press(home.nell, card, "Approve", group)
        assert answer.alert
        assert "may not decide" in answer.text
        answer = await signoff.press(home.eve, card, "Approve", group)
        await signoff.hears(group, "Written.")
    assert answer.text == f"Approval {card.approval_id}: approved by Eve."


async def test_a_group_that_nobody_let_in_decides_nothing(home: House) -> None:
    """TGG-16, TGB-13: fail closed for those whose user id is everybody's."""
    group = home.tg.group("Ops", home.nell, bot="administrator")
    async with home.running() as signoff:
        home.tg.says_as_anonymous_admin(group, "@signoff_bot write a note")
        await signoff.hears(group, "I do not know you yet")
        assert await signoff.app.services.store.tasks() == []


async def test_the_first_press_counts(home: House) -> None:
    """TGB-10: the second is told who decided; it runs once."""
    home.model.will(NOTE, "Written.")
    chat = home.tg.private(home.ben)
    async with home.running() as signoff:
        home.tg.says(home.ben, chat, "Write a note")
        card = await signoff.card()
        group = home.tg.group("Ops", home.ann, home.eve)
        answers = await asyncio.gather(
            signoff.press(home.ann, card, "Approve", group), signoff.press(home.eve, card, "Approve", group)
        )
        await signoff.hears(chat, "Written.")
    assert sorted(answer.alert for answer in answers) == [False, True]
    assert any("already decided by" in answer.text for answer in answers)
    assert (signoff.office / "note.md").read_text() == "# Note\n"


async def test_presses_that_may_not_be(home: House) -> None:
    """TGB-03: whoever asked may chat but not decide, a stranger not even that; both are told, nothing runs."""
    home.model.will(NOTE)
    chat = home.tg.private(home.ben)
    async with home.running() as signoff:
        home.tg.says(home.ben, chat, "Write a note")
        card = await signoff.card()
        asker = await signoff.press(home.ben, card, "Approve", chat)
        stranger = await signoff.press(home.nell, card, "Approve", home.tg.private(home.nell))
        assert (await signoff.card()).status == "open"
    assert "Ben may not decide" in asker.text
    assert "I do not know you" in stranger.text
    assert asker.alert
    assert stranger.alert


async def test_a_card_is_edited_and_denied_by_answers(home: House) -> None:
    """The question goes to whoever may edit, the answer shows the card anew, a reason reaches the model."""
    home.model.will(NOTE, "Then not.")
    asked, desk = home.tg.private(home.ben), home.tg.private(home.eve)
    async with home.running() as signoff:
        home.tg.says(home.ben, asked, "Write a note")
        card = await signoff.card()
        refused = await signoff.press(home.ben, card, "Edit…", asked)
        await signoff.press(home.eve, card, "Edit…", desk)
        question = await signoff.hears(desk, "Edit approval")
        home.tg.says(home.eve, desk, "content:\n# Better", reply_to=question)
        await signoff.hears(desk, "is shown anew as you wrote it")
        await signoff.press(home.eve, await signoff.card(), "Deny…", desk)
        home.tg.says(home.eve, desk, "wrong quarter", reply_to=await signoff.hears(desk, "Deny approval"))
        await signoff.hears(asked, "Then not.")
    assert refused.alert
    assert "path: note.md" in question.text
    assert "wrong quarter" in str(home.model.requests[-1])
    assert not (signoff.office / "note.md").exists()


async def test_an_unknown_card_is_told_once(home: House) -> None:
    """TGB-09: one of an installation before this one."""
    chat = home.tg.private(home.ann)
    home.model.will(NOTE)
    async with home.running() as signoff:
        home.tg.says(home.ann, chat, "Write a note")
        card = await signoff.card()
        await signoff.press(home.ann, card, "Deny…", chat)
    for path in (home.folder / "data").glob("signoff.sqlite3*"):
        path.unlink()
    async with home.running() as signoff:
        answer = await signoff.press(home.ann, card, "Approve", chat)
        await home.tg.until(lambda: not home.tg.messages(chat)[-1].keyboard)
    assert answer.alert
    assert answer.text


async def test_files_come_along(home: House) -> None:
    """TGF-01, TGF-12: one that is too large is named with its reason, the others are there, the request is done."""
    home.model.will("Read.")
    chat = home.tg.private(home.ben)
    album = (
        Sent(name="report.pdf", content=b"one", caption="Compare"),
        Sent(name="report.pdf", content=b"two"),
        Sent(name="large.zip", size_bytes=21_000_000),
    )
    async with home.running() as signoff:
        home.tg.sends(home.ben, chat, *album)
        await signoff.hears(chat, "Read.")
        told = await signoff.hears(chat, "I could not get large.zip")
    assert "20 MB" in told.text
    inbox = {path.name: path.read_bytes() for path in (signoff.office / "inbox").iterdir()}
    assert inbox == {"report.pdf": b"one", "report-2.pdf": b"two"}
    assert "Compare" in str(home.model.requests[0])


async def test_the_stop_button_stops_its_own_task(home: House) -> None:
    """And not one that came behind it."""
    home.model.will(Reply(text="Slow", delay_seconds=30))
    chat = home.tg.private(home.ben)
    async with home.running() as signoff:
        home.tg.says(home.ben, chat, "Go slowly")
        [task] = await signoff.tasks()
        home.tg.account.updates.add(
            "stopped_message_generation", {"chat": chat.as_json(), "draft_id": task.task_id + 7}
        )
        await signoff.hears(chat, "Nothing is being worked on")
        home.tg.account.updates.add("stopped_message_generation", {"chat": chat.as_json(), "draft_id": task.task_id})
        assert (await signoff.settled(task.task_id)).task.status == "cancelled"
        await signoff.hears(chat, f"Task {task.task_id} is told to stop.")


async def test_a_group_that_moved_keeps_its_conversation(home: House) -> None:
    """TGG-18, TGG-19: who is let in, what was said, and where the answer goes; also when nothing told us but the
    refusal of a send."""
    home.model.will("One.", "Two.")
    group = home.tg.group("Ops", home.nell, kind="group", bot="administrator")
    async with home.running(allow=[group.chat_id]) as signoff:
        home.tg.says(home.nell, group, "@signoff_bot one")
        await signoff.hears(group, "One.")
        after = home.tg.migrates(group)
        home.tg.says(home.nell, after, "@signoff_bot two")
        await signoff.hears(after, "Two.")
        first, second = await signoff.tasks(2)
    assert first.session_id == second.session_id
    assert "One." in str(home.model.requests[-1])
    async with home.running(allow=[after.chat_id]) as signoff:  # as an admin who looks it up today writes it
        home.model.will("Three.")
        home.tg.says(home.nell, after, "@signoff_bot three")
        await signoff.hears(after, "Three.")


async def test_a_wrong_token_stops_this_channel_only(home: House) -> None:
    """`/readyz` names it and what to do, with 200: everything else works."""
    home.tg.will("getMe", *[Fault(status=401, description="Unauthorized")] * 5)
    async with home.running() as signoff, aiohttp.ClientSession() as http:
        for _ in range(500):
            async with http.get(f"{signoff.app.url}/readyz") as answer:
                body = await answer.json()
            if "down" in body:
                break
            await asyncio.sleep(0.01)
        assert answer.status == 200
    assert "@BotFather" in body["down"]["telegram"]


async def test_one_who_blocked_the_bot_holds_nobody_up(home: House) -> None:
    """TGU-10: the answer to them is given up, the next ones arrive."""
    home.model.will("For Ben.", "For Eve.")
    ben, eve = home.tg.private(home.ben), home.tg.private(home.eve)
    async with home.running() as signoff:
        home.tg.says(home.ben, ben, "Go")
        home.tg.blocks(home.ben)
        home.tg.says(home.eve, eve, "Go")
        await home.tg.until(lambda: home.tg.from_bot(eve))
        for task in await signoff.tasks(2):
            await signoff.settled(task.task_id)
    assert home.tg.from_bot(ben) == []
