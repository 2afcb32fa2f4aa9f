"""Answers and notices: the words always arrive, in order, each part whole, and once."""

from __future__ import annotations

from dataclasses import replace

import pytest

from agent.domain import Address
from agent.errors import ChannelUnavailable, DeliveryRefused, DeliveryUnsure, StorageError
from channels.telegram.attempt import TOPIC_GONE
from tests.channels.telegram.sending.office import Office
from tests.servers.telegram.server import Fault

BAD = Fault(status=400, description="Bad Request: can't parse entities: something")
TABLE = "Totals:\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\nThat is all."
LONG = "\n\n".join(f"Paragraph {number} {'x' * 90}" for number in range(90))


async def test_an_answer_answers_the_request(office: Office) -> None:
    """With its formats, as a reply to what was asked, and nothing is fetched for a preview."""
    sent_as = await office.sending.send(office.reply("**Three** invoices: https://example.org/pixel?who=ann"))
    [answer] = office.answers
    assert answer.text == "Three invoices: https://example.org/pixel?who=ann"
    assert answer.formatted("bold") == ["Three"]
    assert answer.reply_to is office.request
    assert sent_as == str(answer.message_id)
    assert office.tg.called("sendMessage")[0]["link_preview_options"] == '{"is_disabled": true}'
    assert office.tg.refusals == []


async def test_a_request_that_was_deleted_is_answered_all_the_same(office: Office) -> None:
    """The answer stands by itself then."""
    office.tg.deletes(office.request)
    await office.sending.send(office.reply())
    [answer] = office.answers
    assert (answer.text, answer.reply_to) == ("Done.", None)


async def test_what_is_told_elsewhere_answers_nothing(office: Office) -> None:
    """The request's number means another message there."""
    ben = office.tg.user("Ben")
    chat = office.tg.private(ben)
    chat.messages[office.request.message_id] = office.tg.says(ben, chat, "Something else.")
    to = Address(channel="telegram", conversation=str(chat.chat_id))
    await office.sending.send(office.reply(to=to))
    [answer] = office.tg.from_bot(chat)
    assert answer.reply_to is None


@pytest.mark.parametrize("text", ["   \n", "", "\u200b"])
async def test_nothing_is_sent_of_nothing(office: Office, text: str) -> None:
    """TGL-10: no empty message, no error."""
    assert await office.sending.send(office.reply(text)) is None
    assert office.answers == []
    assert office.tg.refusals == []


async def test_a_long_answer_is_sent_in_order_and_whole(office: Office) -> None:
    """TGL-01: none above the limit, only the first is a reply, and what shows is what was written."""
    sent_as = await office.sending.send(office.reply(LONG))
    assert len(office.answers) == 3
    assert "\n\n".join(office.texts) == LONG
    assert [message.reply_to is not None for message in office.answers] == [True, False, False]
    assert sent_as == str(office.answers[-1].message_id)
    assert office.tg.refusals == []


async def test_code_over_several_messages_stays_code(office: Office) -> None:
    """TGL-06 TGL-08: each part is a block of its own, with its language; `&` counts as one."""
    code = "\n".join(f"print({number}, '&&&&')" for number in range(300))
    await office.sending.send(office.reply(f"```python\n{code}\n```"))
    blocks = [block for message in office.answers for block in message.formatted("pre")]
    assert len(blocks) == len(office.answers) == 2
    assert "\n".join(blocks) == code
    assert {entity["language"] for message in office.answers for entity in message.entities} == {"python"}


async def test_a_table_is_a_rich_message(office: Office) -> None:
    """One that the server knows."""
    await office.sending.send(office.reply(TABLE))
    [answer] = office.answers
    assert "<table" in answer.rich_html
    assert answer.reply_to is office.request
    assert office.tg.refusals == []


async def test_a_server_that_knows_no_rich_messages_is_asked_once(office: Office) -> None:
    """TGR-07: then the same words come with entities, the table as a block of code."""
    office.tg.will("sendRichMessage", Fault(status=404, description="Not Found: method not found"))
    for number in (1, 2):
        await office.sending.send(office.reply(TABLE, delivery_id=number))
    first, second = office.answers
    assert first.text == second.text
    [table] = first.formatted("pre")
    assert "1 │ 2" in table
    assert first.text.startswith("Totals:")
    assert first.text.endswith("That is all.")
    assert len(office.tg.called("sendRichMessage")) == 1


async def test_a_rich_message_that_is_refused_comes_another_way(office: Office) -> None:
    """TGR-04: whatever the reason, the words arrive."""
    office.tg.will("sendRichMessage", Fault(status=400, description="Bad Request: can't parse rich message: no"))
    await office.sending.send(office.reply(TABLE))
    [answer] = office.answers
    assert answer.rich_html == ""
    assert "1 │ 2" in answer.text


async def test_formats_that_are_refused_are_left_out(office: Office) -> None:
    """TGR-03: as plain text, all of it, as the last resort."""
    office.tg.will("sendMessage", BAD)
    await office.sending.send(office.reply("`Optional<int>` and **a && b**"))
    [answer] = office.answers
    assert (answer.text, answer.entities) == ("Optional<int> and a && b", [])


async def test_an_answer_goes_on_where_it_stopped(office: Office) -> None:
    """TGL-01: also in a new process; nothing is said twice."""
    outgoing = office.reply(LONG)
    office.tg.account.flood.count(office.chat, 18)
    with pytest.raises(ChannelUnavailable):
        await office.sending.send(outgoing)
    assert len(office.texts) == 2
    office.clock.advance(30)
    office.restarted()
    await office.sending.send(office.again(outgoing))
    assert "\n\n".join(office.texts) == LONG


async def test_a_chat_that_got_too_much_is_left_alone(office: Office) -> None:
    """TGE-03 TGE-12: nothing more is asked of it before its time, the wait is told to the outbox, others get theirs."""
    office.tg.will("sendMessage", Fault(status=429, description="Too Many Requests: retry after 9", retry_after=9))
    for _ in range(4):
        with pytest.raises(ChannelUnavailable) as raised:
            await office.sending.send(office.reply())
        assert raised.value.retry_after == pytest.approx(9, abs=1)
    assert len(office.tg.called("sendMessage")) == 1
    ben = office.tg.private(office.tg.user("Ben"))
    await office.sending.send(office.reply(to=replace(office.to, conversation=str(ben.chat_id))))
    assert len(office.tg.from_bot(ben)) == 1


@pytest.mark.parametrize("failing", ["between", "behind"])
async def test_a_database_that_is_away_makes_no_doubles(
    office: Office, monkeypatch: pytest.MonkeyPatch, failing: str
) -> None:
    """TGE-09: what arrived is written down as soon as it is there again."""
    note, failures = office.notes.part_sent, [StorageError("Away.")]

    async def part_sent(delivery_id: int, sent_as: str) -> None:
        if failures:
            raise failures.pop()
        await note(delivery_id, sent_as)

    monkeypatch.setattr(office.notes, "part_sent", part_sent)
    outgoing = office.reply(LONG if failing == "between" else "Done.")
    if failing == "behind":
        outgoing = replace(outgoing, artifacts=(await office.artifact("a.csv", b"a"),))
        office.tg.will("sendDocument", Fault(status=502))
        with pytest.raises(ChannelUnavailable):
            await office.sending.send(outgoing)
        outgoing = office.again(outgoing)
    await office.sending.send(outgoing)
    assert "\n\n".join(filter(None, office.texts)) == outgoing.text


async def test_a_part_without_an_answer_is_not_sent_again(office: Office) -> None:
    """TGE-09: it arrived; the other parts do, too, and the delivery is unsure in the end."""
    office.tg.will("sendMessage", Fault(cut="after"))
    with pytest.raises(DeliveryUnsure):
        await office.sending.send(office.reply(LONG))
    assert "\n\n".join(office.texts) == LONG


async def test_an_unsure_part_is_known_to_the_next_attempt(office: Office) -> None:
    """TGE-09: also when that one was ended by something else."""
    office.tg.will("sendMessage", Fault(cut="after"), Fault(status=502))
    outgoing = office.reply(LONG)
    with pytest.raises(ChannelUnavailable):
        await office.sending.send(outgoing)
    assert office.notes.parts[9] == ["0 ?"]
    office.restarted()
    with pytest.raises(DeliveryUnsure):
        await office.sending.send(office.again(outgoing))
    assert "\n\n".join(office.texts) == LONG


async def test_a_server_that_cannot_be_reached_is_tried_again(office: Office) -> None:
    """TGE-10: no connection, nothing arrived, so that the outbox may repeat it."""
    await office.tg.close()
    with pytest.raises(ChannelUnavailable) as raised:
        await office.sending.send(office.reply())
    assert raised.value.retry_after is None


async def test_topics_keep_their_answers(office: Office) -> None:
    """TGG-05: in the topic it was asked in; General has no number."""
    forum = office.tg.group("Ops", office.ann, forum=True)
    office.moves_to(forum, office.tg.topic(forum, "Invoices"))
    await office.sending.send(office.reply("In the topic."))
    office.moves_to(forum)
    await office.sending.send(office.reply("In General.", delivery_id=2))
    [there] = office.tg.from_bot(forum, next(iter(forum.topics.values())))
    assert there.text == "In the topic."
    assert "message_thread_id" not in office.tg.called("sendMessage")[-1]
    assert office.tg.refusals == []


async def test_a_topic_of_a_private_chat_keeps_its_answer(office: Office) -> None:
    """TGG-07: they have threads, too."""
    topic = office.tg.topic(office.chat, "Invoices")
    office.moves_to(office.chat, topic)
    await office.sending.send(office.reply())
    assert [message.text for message in office.tg.from_bot(office.chat, topic)] == ["Done."]


@pytest.mark.parametrize("how", ["closed", "deleted"])
async def test_a_topic_that_is_gone_loses_no_answer(office: Office, how: str) -> None:
    """TGG-06: it goes on in the same chat, with a note, also in the attempt after."""
    forum = office.tg.group("Ops", office.ann, forum=True)
    topic = office.tg.topic(forum, "Invoices")
    office.moves_to(forum, topic)
    setattr(topic, how, True)
    outgoing = office.reply(LONG)
    await office.sending.send(outgoing)
    assert office.texts[0] == TOPIC_GONE.text
    assert "\n\n".join(office.texts[1:]) == LONG
    assert office.notes.parts[9][0].startswith("topic ")


async def test_a_topic_that_is_gone_is_told_once(office: Office) -> None:
    """TGG-06: also when it took two attempts."""
    forum = office.tg.group("Ops", office.ann, forum=True)
    topic = office.tg.topic(forum, "Invoices")
    office.moves_to(forum, topic)
    topic.deleted = True
    outgoing = office.reply(LONG)
    office.tg.account.flood.count(forum, 17)
    with pytest.raises(ChannelUnavailable):
        await office.sending.send(outgoing)
    assert len(office.texts) == 3
    office.clock.advance(60)
    office.restarted()
    await office.sending.send(office.again(outgoing))
    assert office.texts[0] == TOPIC_GONE.text
    assert "\n\n".join(office.texts[1:]) == LONG


async def test_a_group_that_became_a_supergroup_gets_its_answer(office: Office) -> None:
    """TGG-19: retried once, under the new number."""
    group = office.tg.group("Ops", office.ann, kind="group")
    office.moves_to(group)
    after = office.tg.migrates(group)
    await office.sending.send(office.reply())
    assert [message.text for message in office.tg.from_bot(after)] == ["Done."]


async def test_somebody_who_blocked_the_bot_is_not_written_to_again(office: Office) -> None:
    """TGU-10: refused for good, and the others get theirs."""
    office.tg.blocks(office.ann)
    with pytest.raises(DeliveryRefused, match="blocked"):
        await office.sending.send(office.reply())
    ben = office.tg.private(office.tg.user("Ben"))
    await office.sending.send(office.reply(to=replace(office.to, conversation=str(ben.chat_id)), delivery_id=2))
    assert len(office.tg.from_bot(ben)) == 1


@pytest.mark.parametrize("requester", ["ann", "guest"])
async def test_an_answer_that_a_group_does_not_take_is_told_alone(office: Office, requester: str) -> None:
    """TGU-10: whoever asked reads it, and why it is not where it should be."""
    group = office.tg.group("Ops", office.ann)
    alone = office.chat
    office.moves_to(group)
    office.tg.adds_bot(office.ann, group, "kicked")
    who = requester if requester == "ann" else f"telegram:{office.ann.user_id}"
    with pytest.raises(DeliveryRefused):
        await office.sending.send(office.reply("**Three** invoices.", task=office.task("done", requester=who)))
    why, what = office.tg.from_bot(alone)
    assert why.text.startswith(f"I could not write this in telegram:{group.chat_id}. ")
    assert "kicked" in why.text
    assert (what.text, what.formatted("bold")) == ("Three invoices.", ["Three"])


async def test_a_notice_is_read_as_it_was_meant(office: Office) -> None:
    """TGR-01: names stay as they are written."""
    await office.sending.send(office.outgoing("notice", "Service db_main restarted; 3 * 8 and `x_y`"))
    [notice] = office.answers
    assert notice.text == "Service db_main restarted; 3 * 8 and x_y"
    assert office.tg.refusals == []


async def test_a_part_in_which_nothing_is_to_be_seen_keeps_no_other_back(office: Office) -> None:
    """TGL-09: Telegram knows more invisible characters than we do."""
    office.tg.will("sendMessage", Fault(status=400, description="Bad Request: text must be non-empty"))
    await office.sending.send(office.reply("\u00ad" * 5000 + "\n\nThe words."))
    assert office.texts[-1].endswith("The words.")
