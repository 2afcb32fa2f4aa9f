"""What people on Telegram see of a whole running Signoff: cards, verdicts, drafts, answers and files."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.flows.on_telegram import House, house
from tests.servers.llm import Reply

NOTE = Reply(calls=[("write_file", {"path": "note.md", "content": "# Note\n"})])


@pytest.fixture
async def home(tmp_path: Path) -> AsyncIterator[House]:
    async with house(tmp_path) as made:
        yield made


async def test_a_card_is_decided_after_a_restart(home: House) -> None:
    """TGB-08 TGG-05: pressed in its topic, it says what became of it; the answer stands below the request, then the
    file."""
    home.model.will(NOTE, "**Written.**")
    forum = home.tg.group("Ops", home.ben, home.eve, forum=True, bot="administrator")
    topic = home.tg.topic(forum, "Invoices")
    request = home.tg.says(home.ben, forum, "@signoff_bot write a note", topic=topic)
    async with home.running() as signoff:
        card = await signoff.hears(forum, "please decide")
        await home.tg.until(lambda: request.reactions == ["✍"])
    assert card.labels == ["Approve", "Deny…", "Edit…", "Request changes…"]
    async with home.running() as signoff:
        answer = await home.tg.press(home.eve, card, "Approve")
        said = await signoff.hears(forum, "Written.")
        await home.tg.until(lambda: not card.keyboard and request.reactions == ["👌"])
    assert "approved by Eve" in answer.text
    assert "Approved by Eve." in card.text
    assert said.formatted("bold") == ["Written."]
    assert {message.thread_id for message in home.tg.from_bot(forum)} == {topic.thread_id}
    shown, answer_shown, note = home.tg.from_bot(forum)
    assert [message.reply_to for message in (shown, answer_shown)] == [request, request]
    assert note.file is not None
    assert (note.file.name, note.file.content) == ("note.md", b"# Note\n")
    assert home.tg.refusals == []


async def test_a_draft_is_stopped_by_its_button(home: House) -> None:
    """It names its own task, and what is said then takes the draft's place."""
    home.model.will(Reply(text="Slow", delay_seconds=2))
    chat = home.tg.private(home.ben)
    async with home.running() as signoff:
        request = home.tg.says(home.ben, chat, "Go slowly")
        await home.tg.until(lambda: home.tg.draft(chat))
        home.tg.stops(chat)
        stopped = await signoff.hears(chat, "Stopped, as asked.")
        await home.tg.until(lambda: request.reactions == ["🫡"])
    assert stopped.reply_to is request
    assert home.tg.draft(chat) is None
    assert home.tg.refusals == []


async def test_a_question_is_asked_and_answered_on_the_card(home: House) -> None:
    """The form of a real card; its answer is a decision, and the card says the reason."""
    home.model.will(NOTE, "Then not.")
    chat = home.tg.private(home.ann)
    async with home.running() as signoff:
        home.tg.says(home.ann, chat, "Write a note")
        card = await signoff.hears(chat, "please decide")
        await home.tg.press(home.ann, card, "Deny…")
        home.tg.says(home.ann, chat, "wrong quarter", reply_to=await signoff.hears(chat, "Deny approval"))
        await signoff.hears(chat, "Then not.")
        await home.tg.until(lambda: not card.keyboard)
    assert "(denied by Ann: wrong quarter)" in card.text
    assert home.tg.refusals == []


async def test_a_table_arrives_as_one(home: House) -> None:
    """Drafted and sent as a rich message."""
    home.model.will("| a | b |\n|---|---|\n| 1 | 2 |")
    chat = home.tg.private(home.ben)
    async with home.running() as signoff:
        home.tg.says(home.ben, chat, "Add up")
        answer = await signoff.hears(chat, "1 | 2")
    assert "<table" in answer.rich_html
    assert home.tg.refusals == []
