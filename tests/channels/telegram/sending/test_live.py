"""What a task is doing, as people in Telegram see it while it works."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest

from agent.errors import ChannelUnavailable
from channels.telegram import live
from tests.channels.telegram.sending.office import Office, step
from tests.servers.telegram.server import Fault

GONE = Fault(status=400, description="Bad Request: message to edit not found")


async def in_group(office: Office) -> None:
    """The request stands in a group instead, and has been worked on for a while."""
    office.moves_to(office.tg.group("Ops", office.ann))
    await office.shows(seconds=4)


# --- drafts ---


async def test_a_draft_grows_and_becomes_the_answer(office: Office) -> None:
    """From the first moment on, with a stop button; the answer takes its place and nothing is left of it."""
    await office.shows()
    draft = office.tg.draft(office.chat)
    assert draft is not None
    assert (draft.text, draft.can_stop, draft.draft_id) == ("", True, 5)
    await office.shows(step(1))
    await office.shows(step(1, "done"), words="There are **three**")
    assert draft.texts[1:] == ["▸ Reading 1.csv", "✓ Read 1.csv\n\nThere are three"]
    assert office.answers == []
    await office.sending.send(office.reply("There are **three** invoices."))
    assert office.texts == ["There are three invoices."]
    assert office.tg.draft(office.chat) is None
    assert office.tg.refusals == []


async def test_a_draft_is_shown_again_before_it_fades(office: Office) -> None:
    """Not more often than that when nothing changes."""
    await office.shows(step(1))
    for _ in range(24):
        await office.shows(step(1), seconds=4)
        assert office.tg.draft(office.chat) is not None
    assert 4 <= len(office.tg.called("sendMessageDraft")) <= 6


async def test_a_draft_shows_the_newest_end(office: Office) -> None:
    """TGE-06: more than a message holds; the answer brings all of it, in two messages."""
    words = "\n\n".join(f"Paragraph {number} {'x' * 80}" for number in range(75))
    await office.shows(step(1, "done"), words=words)
    draft = office.tg.draft(office.chat)
    assert draft is not None
    assert draft.text.startswith("✓ Read 1.csv\n\n…\n")
    assert "Paragraph 74" in draft.text
    await office.sending.send(office.reply(words))
    assert len(office.answers) == 2
    assert "\n\n".join(office.texts) == words
    assert office.tg.refusals == []


async def test_a_table_is_drafted_as_one(office: Office) -> None:
    """With the steps above it."""
    await office.shows(step(1, "done"), words="| a | b |\n|---|---|\n| 1 | 2 |")
    [sent] = office.tg.called("sendRichMessageDraft")
    assert sent["can_stop"] == "true"
    draft = office.tg.draft(office.chat)
    assert draft is not None
    assert draft.text.splitlines() == ["✓ Read 1.csv", "a | b", "1 | 2"]
    assert office.tg.refusals == []


async def test_drafts_of_a_topic_stay_there(office: Office) -> None:
    """TGG-07: private chats have threads, too."""
    office.moves_to(office.chat, office.tg.topic(office.chat, "Invoices"))
    await office.shows(step(1))
    draft = office.tg.draft(office.chat)
    assert draft is not None
    assert office.topic is not None
    assert draft.thread_id == office.topic.thread_id


async def test_news_that_come_late_begin_nothing_again(office: Office) -> None:
    """After the answer, and after a card, until the task goes on."""
    await office.shows(step(1))
    await office.sending.send(office.card())
    await office.shows(step(2))
    assert office.tg.draft(office.chat) is None
    await office.shows(step(2), epoch=2)
    assert office.tg.draft(office.chat) is not None
    await office.sending.send(office.reply(task=office.task("done", epoch=2)))
    await office.shows(step(3), epoch=2)
    assert office.tg.draft(office.chat) is None


async def test_an_answer_waits_for_the_draft_that_is_under_way(office: Office) -> None:
    """So that it does not come behind the answer; and not for the pause after it."""
    showing = asyncio.ensure_future(office.sending.progress(office.to, office.shown(step(1))))
    await office.tg.until(lambda: office.tg.called("sendMessageDraft"))
    await office.sending.send(office.reply())
    await showing
    assert office.texts == ["Done."]
    assert office.tg.draft(office.chat) is None


async def test_an_answer_does_not_wait_for_ever(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    """A draft that hangs is left alone."""
    monkeypatch.setattr(live, "CLOSING_SECONDS", 0.1)
    office.tg.will("sendMessageDraft", Fault(hang=True))
    showing = asyncio.ensure_future(office.sending.progress(office.to, office.shown(step(1))))
    await office.tg.until(lambda: office.tg.called("sendMessageDraft"))
    await office.sending.send(office.reply())
    assert office.texts == ["Done."]
    with pytest.raises(ChannelUnavailable):
        await showing


async def test_a_limit_postpones_the_draft(office: Office) -> None:
    """TGE-03: and the newest is shown then."""
    office.tg.will("sendMessageDraft", Fault(status=429, description="Too Many Requests", retry_after=1))
    with pytest.raises(ChannelUnavailable) as raised:
        await office.sending.progress(office.to, office.shown(step(1)))
    assert raised.value.retry_after == 1
    with pytest.raises(ChannelUnavailable):
        await office.sending.progress(office.to, office.shown(step(2)))
    assert len(office.tg.called("sendMessageDraft")) == 1


# --- a message that is edited ---


async def test_a_server_without_drafts_shows_a_message(old_office: Office) -> None:
    """One that is edited and goes with the answer."""
    office = old_office
    await office.shows(step(1), seconds=4)
    assert office.answers == []
    await office.shows(step(1), seconds=5)
    await office.shows(step(1, "done"), step(2), seconds=5)
    [status] = office.answers
    assert status.text == "✓ Read 1.csv\n▸ Reading 2.csv"
    await office.sending.send(office.reply())
    assert office.texts == ["Done."]
    assert office.tg.refusals == []


async def test_a_group_sees_one_message_and_the_bot_typing(office: Office) -> None:
    """Without a sound; quick answers show none."""
    await in_group(office)
    assert office.answers == []
    assert office.chat.actions == [("typing", None)]
    await office.shows(seconds=5)
    assert office.texts == ["Working on it…"]
    await office.shows(step(1), words="There are", seconds=5)
    [status] = office.answers
    assert status.text == "▸ Reading 1.csv\n\nThere are"
    assert office.tg.called("sendMessage")[0]["disable_notification"] == "true"
    assert len(office.chat.actions) == 3
    await office.sending.send(office.reply())
    assert office.texts == ["Done."]
    assert office.notes.shown_as == {}
    assert office.tg.refusals == []


async def test_a_topic_sees_its_own(office: Office) -> None:
    """TGG-05: the message and the typing."""
    forum = office.tg.group("Ops", office.ann, forum=True)
    topic = office.tg.topic(forum, "Invoices")
    office.moves_to(forum, topic)
    for _ in range(2):
        await office.shows(step(1), seconds=5)
    assert len(office.tg.from_bot(forum, topic)) == 1
    assert set(forum.actions) == {("typing", topic.thread_id)}


async def test_a_group_is_not_flooded(office: Office) -> None:
    """TGE-05: news of a task for two minutes, and as many notices; the answer comes at once."""
    await in_group(office)
    until, number = office.clock.now() + timedelta(seconds=120), 0
    while office.clock.now() < until:
        number += 1
        await office.shows(step(number), seconds=4)
        notice = office.outgoing("notice", f"Notice {number}", task=office.task(), delivery_id=number)
        await office.sending.send(notice)
    await office.sending.send(office.reply())
    assert office.texts[-1] == "Done."
    assert office.tg.called("editMessageText")
    assert office.tg.refusals == []


async def test_what_a_crash_left_is_taken_away(office: Office) -> None:
    """By the process that sends the answer, also the message that another one had begun."""
    await in_group(office)
    await office.shows(step(1), seconds=5)
    [left] = office.answers
    office.restarted()
    await office.sending.send(office.reply())
    assert left.deleted
    assert office.texts == ["Done."]
    assert office.notes.shown_as == {}


async def test_a_run_that_is_taken_up_goes_on_in_the_same_message(office: Office) -> None:
    """After a crash there are not two of them."""
    await in_group(office)
    await office.shows(step(1), seconds=5)
    office.restarted()
    for _ in range(2):
        await office.shows(step(2), seconds=5, epoch=2)
    assert office.texts == ["▸ Reading 2.csv"]


async def test_the_answer_is_not_said_twice_when_its_status_stays(office: Office) -> None:
    """It is written down first: the next attempt only takes the message away."""
    await in_group(office)
    await office.shows(step(1), seconds=5)
    office.tg.will("deleteMessage", Fault(status=502))
    outgoing = office.reply()
    with pytest.raises(ChannelUnavailable):
        await office.sending.send(outgoing)
    sent_as = await office.sending.send(office.again(outgoing))
    [answer] = office.answers
    assert (answer.text, sent_as) == ("Done.", str(answer.message_id))


async def test_a_message_that_somebody_deleted_is_not_begun_again(office: Office) -> None:
    """TGE-07: the answer comes as a message of its own."""
    await in_group(office)
    await office.shows(step(1), seconds=5)
    office.tg.deletes(office.answers[0])
    for number in (2, 3, 4):
        await office.shows(step(number), seconds=5)
    assert len(office.tg.called("editMessageText")) == 1
    assert office.answers == []
    await office.sending.send(office.reply())
    assert office.texts == ["Done."]


async def test_a_message_without_an_answer_is_not_begun_twice(office: Office) -> None:
    """TGE-09: it may stand there; nobody knows its number."""
    await in_group(office)
    office.tg.will("sendMessage", Fault(cut="after"))
    for number in (1, 2, 3):
        await office.shows(step(number), seconds=5)
    assert len(office.answers) == 1


async def test_a_message_that_comes_behind_the_answer_is_taken_away(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The answer did not wait for it."""
    monkeypatch.setattr(live, "CLOSING_SECONDS", 0.0)
    await in_group(office)
    showing = asyncio.ensure_future(office.sending.progress(office.to, office.shown(step(1))))
    await office.tg.until(lambda: office.tg.called("sendMessage"))
    await office.sending.send(office.reply())
    await showing
    assert office.texts == ["Done."]
    assert office.notes.shown_as == {}


async def test_somebody_who_blocked_the_bot_is_shown_nothing(office: Office) -> None:
    """TGU-10: it is tried once."""
    office.tg.blocks(office.ann)
    for number in (1, 2, 3):
        await office.shows(step(number))
    assert len(office.tg.called("sendMessageDraft")) == 1


async def test_a_chat_that_takes_nothing_is_left_alone(office: Office) -> None:
    """TGU-10: progress is no reason for an error."""
    await in_group(office)
    office.tg.adds_bot(office.ann, office.chat, "kicked")
    await office.shows(step(1), seconds=5)
    await office.shows(step(2), seconds=5)
    assert not office.tg.called("sendMessage")
