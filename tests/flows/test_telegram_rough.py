"""Telegram and its people at their worst, with a whole running Signoff."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import pytest

from tests.flows.on_telegram import House, house
from tests.servers.llm import Reply
from tests.servers.telegram.server import Fault

NOTE = Reply(calls=[("write_file", {"path": "note.md", "content": "# Note\n"})])


@pytest.fixture
async def home(tmp_path: Path) -> AsyncIterator[House]:
    async with house(tmp_path) as made:
        yield made


async def test_many_chats_at_once_are_all_answered(home: House) -> None:
    """TGE-03, TGE-05: more than Telegram takes in a second; whoever has to wait does, all are answered, once."""
    home.model.default = Reply(text="Here.")
    people = [home.tg.user(f"P{number}") for number in range(60)]
    chats = [home.tg.private(person) for person in people]
    async with home.running(allow=["*"]):
        for person, chat in zip(people, chats, strict=True):
            home.tg.says(person, chat, "Where?")
        await home.tg.until(lambda: all(home.tg.from_bot(chat) for chat in chats), seconds=30)
        await asyncio.sleep(0.3)
    assert [[message.text for message in home.tg.from_bot(chat)] for chat in chats] == [["Here."]] * 60


async def test_a_chat_that_waits_keeps_no_other_waiting(home: House) -> None:
    """TGE-03: one is told to wait a long while, the next is answered at once, and so is the first one's stop."""
    home.model.default = Reply(text="Here.")
    ann, ben = home.tg.private(home.ann), home.tg.private(home.ben)
    async with home.running():
        home.tg.will("sendMessage", Fault(status=429, retry_after=3))
        home.tg.says(home.ann, ann, "Where?")
        await home.tg.until(lambda: home.tg.called("sendMessage"))
        home.tg.says(home.ben, ben, "Where?")
        await home.tg.until(lambda: home.tg.from_bot(ben), seconds=2)
        assert home.tg.from_bot(ann) == []
        await home.tg.until(lambda: home.tg.from_bot(ann), seconds=8)


async def test_a_long_answer_outlasts_the_limits(home: House) -> None:
    """TGL-01, TGL-04, TGE-03: with characters of two units at each cut, every one arrives, in order, once."""
    answer = " ".join(f"{number}🙂漢字שלום👩‍👩‍👧‍👦" for number in range(3_000))
    home.model.will(answer)
    chat = home.tg.private(home.ben)
    async with home.running() as signoff:
        home.tg.says(home.ben, chat, "Tell me everything")
        await home.tg.until(lambda: any("2999🙂" in message.text for message in home.tg.from_bot(chat)), seconds=60)
        [task] = await signoff.tasks()
        await signoff.settled(task.task_id)
    told = " ".join(message.text for message in home.tg.from_bot(chat))
    assert told.split() == answer.split()
    assert not [refusal for refusal in home.tg.refusals if "Too Many Requests" not in refusal]


async def test_one_who_blocks_the_bot_in_the_middle(home: House) -> None:
    """TGU-10: the rest is given up at once, and everything else goes on."""
    home.model.will("\n\n".join("x" * 4000 for _ in range(3)), "For Eve.")
    ben, eve = home.tg.private(home.ben), home.tg.private(home.eve)
    async with home.running() as signoff:
        home.tg.will("sendMessage", Fault(status=429, retry_after=1))
        home.tg.says(home.ben, ben, "Tell me")
        await home.tg.until(lambda: home.tg.called("sendMessage"))
        home.tg.blocks(home.ben)
        await home.tg.until(lambda: len(home.tg.called("sendMessage")) == 2, seconds=5)
        home.tg.says(home.eve, eve, "And me?")
        await signoff.hears(eve, "For Eve.")
    assert home.tg.from_bot(ben) == []
    assert len([one for one in home.tg.called("sendMessage") if one["chat_id"] == str(ben.chat_id)]) == 2


async def test_a_group_moves_while_a_card_is_open(home: House) -> None:
    """TGG-18, TGG-19: pressed where it stood, it says what became of it where people are now."""
    home.model.will(NOTE, "Written.")
    group = home.tg.group("Ops", home.ben, home.eve, kind="group", bot="administrator")
    async with home.running() as signoff:
        home.tg.says(home.ben, group, "@signoff_bot write a note")
        card = await signoff.hears(group, "please decide")
        moved = home.tg.migrates(group)
        await home.tg.press(home.eve, card, "Approve")
        await signoff.hears(moved, "Approved by Eve.")
        await signoff.hears(moved, "Written.")
    assert len(home.tg.from_bot(moved)) == 3


async def test_a_token_that_is_revoked_at_work_stops_this_channel_only(home: House) -> None:
    """`/readyz` names it, with 200, and what to do."""
    home.model.will("Here.")
    chat = home.tg.private(home.ben)
    async with home.running() as signoff, aiohttp.ClientSession() as http:
        home.tg.says(home.ben, chat, "Where?")
        await signoff.hears(chat, "Here.")
        home.tg.will("getUpdates", *[Fault(status=401, description="Unauthorized")] * 3)
        home.tg.says(home.ben, chat, "/status")
        for _ in range(1_000):
            async with http.get(f"{signoff.app.url}/readyz") as answer:
                body = await answer.json()
            if "down" in body:
                break
            await asyncio.sleep(0.01)
        assert answer.status == 200
    assert "@BotFather" in body["down"]["telegram"]
