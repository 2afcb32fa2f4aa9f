"""Cards in Telegram: shown, redrawn, with what has no room beside them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from agent.errors import ChannelUnavailable, DeliveryRefused, DeliveryUnsure
from tests.agent.waiting import call
from tests.channels.telegram.sending.office import Office
from tests.servers.telegram.server import Fault
from tests.servers.telegram.world import Message

LONG = "\n".join(f"+line {number}" for number in range(2_000))
DENIED = call(status="denied", decided_by="bob", reason="Too much.")


async def test_a_card_has_its_buttons(office: Office) -> None:
    """As an answer to the request, with nothing but the token on each."""
    sent_as = await office.sending.send(office.card())
    [card] = office.answers
    assert card.labels == ["Approve", "Deny…", "Edit…", "Request changes…"]
    assert [key.data for row in card.keyboard for key in row] == [
        "t:1:approve",
        "t:1:deny",
        "t:1:edit:1",
        "t:1:changes",
    ]
    assert card.reply_to is office.request
    assert sent_as == str(card.message_id)
    assert office.tg.refusals == []


@pytest.mark.parametrize("restarted", [False, True])
@pytest.mark.parametrize(
    ("status", "item", "said"),
    [
        ("approved", call(status="approved", decided_by="bob"), "Approved by bob."),
        ("denied", DENIED, "Denied by bob: Too much."),
        ("expired", call(status="expired"), "Expired"),
        ("cancelled", call(status="cancelled"), "Cancelled"),
        ("superseded", call(status="superseded"), "newer"),
        ("changes", call(status="denied", decided_by="bob", reason="Shorter."), "Shorter."),
    ],
)
async def test_the_verdict_replaces_the_buttons(
    office: Office, status: str, item: object, said: str, restarted: bool
) -> None:
    """TGB-08 TGB-10: whatever became of it, by the rows, also by a new process."""
    assert isinstance(item, type(DENIED))
    sent_as = await office.sending.send(office.card())
    assert sent_as
    if restarted:
        office.restarted()
    settled = office.card(item, kind="settle", status=status, decided_by="bob")
    await office.sending.settle(settled, sent_as)
    [card] = office.answers
    assert card.labels == (["Ask again"] if status == "expired" else [])
    assert said.lower() in card.text.lower()
    assert office.tg.refusals == []


async def test_a_card_that_did_not_change_is_left_as_it_is(office: Office) -> None:
    """Telegram refuses an edit that changes nothing, which is fine."""
    sent_as = await office.sending.send(office.card())
    assert sent_as
    await office.sending.settle(office.card(kind="settle"), sent_as)
    [card] = office.answers
    assert card.formatted("bold")
    assert [("not modified" in refusal) for refusal in office.tg.refusals] == [True]


async def test_a_deleted_card_is_followed_by_its_verdict(office: Office) -> None:
    """TGE-07 TGE-08: nothing to edit; whoever deleted it still reads what became of it, without buttons."""
    sent_as = await office.sending.send(office.card())
    assert sent_as
    office.tg.deletes(office.answers[0])
    await office.sending.settle(office.card(DENIED, kind="settle", status="denied", decided_by="bob"), sent_as)
    [verdict] = office.answers
    assert "Denied by bob" in verdict.text
    assert verdict.labels == []


async def test_a_card_that_is_too_old_is_followed_by_its_verdict(office: Office) -> None:
    """The old one keeps its buttons, which then say what happened."""
    sent_as = await office.sending.send(office.card())
    assert sent_as
    office.tg.will("editMessageText", Fault(status=400, description="Bad Request: message can't be edited"))
    await office.sending.settle(office.card(DENIED, kind="settle", status="denied", decided_by="bob"), sent_as)
    assert [bool(message.labels) for message in office.answers] == [True, False]


async def test_a_verdict_whose_formats_are_refused_is_plain(office: Office) -> None:
    """TGR-03: the words, without the buttons."""
    sent_as = await office.sending.send(office.card())
    assert sent_as
    office.tg.will("editMessageText", Fault(status=400, description="Bad Request: can't parse entities"))
    await office.sending.settle(office.card(DENIED, kind="settle", status="denied", decided_by="bob"), sent_as)
    [card] = office.answers
    assert (card.labels, card.entities) == ([], [])
    assert "Denied by bob" in card.text


async def test_a_verdict_waits_for_its_turn(office: Office) -> None:
    """TGE-03: a lost answer or a limit is tried again; an edit does no harm twice."""
    sent_as = await office.sending.send(office.card())
    assert sent_as
    settled = office.card(DENIED, kind="settle", status="denied", decided_by="bob")
    office.tg.will("editMessageText", Fault(cut="after"))
    with pytest.raises(ChannelUnavailable):
        await office.sending.settle(settled, sent_as)
    await office.sending.settle(office.again(settled), sent_as)
    assert len(office.answers) == 1


async def test_every_message_of_a_big_card_is_redrawn(office: Office) -> None:
    """Items over several messages, and no button left on any."""
    calls = [call(number) for number in range(1, 15)]
    sent_as = await office.sending.send(office.card(*calls))
    assert sent_as
    assert [len(message.labels) for message in office.answers] == [8 * 3, 6 * 3 + 3]
    settled = [replace(one, status="denied", decided_by="bob") for one in calls]
    await office.sending.settle(office.card(*settled, kind="settle", status="denied", decided_by="bob"), sent_as)
    assert [message.labels for message in office.answers] == [[], []]
    assert office.tg.refusals == []


async def test_a_card_without_an_answer_is_not_sent_again(office: Office) -> None:
    """TGE-09: it is there and can be pressed, though nobody knows its number."""
    office.tg.will("sendMessage", Fault(cut="after"))
    with pytest.raises(DeliveryUnsure):
        await office.sending.send(office.card(call(preview=LONG)))
    card, copy = office.answers
    assert card.labels
    assert copy.file is not None


async def test_a_long_preview_is_attached(office: Office) -> None:
    """In answer to the card, whole; once, also when the card is redrawn."""
    sent_as = await office.sending.send(office.card(call(preview=LONG)))
    assert sent_as
    card, copy = office.answers
    assert "the whole is in the file approval-7.txt" in card.text
    assert copy.file is not None
    assert copy.file.name == "approval-7.txt"
    assert LONG.encode() in copy.file.content
    assert copy.reply_to is card
    await office.sending.settle(office.card(call(preview=LONG, votes=("bob",)), kind="settle"), sent_as)
    assert len(office.answers) == 2


async def test_a_card_is_known_though_its_file_is_not(office: Office) -> None:
    """TGE-09: its number is kept, so that the verdict can be shown on it."""
    office.tg.will("sendDocument", Fault(cut="after"))
    sent_as = await office.sending.send(office.card(call(preview=LONG)))
    assert sent_as == str(office.answers[0].message_id)


async def test_what_is_shown_anew_is_attached_anew(office: Office) -> None:
    """An edited card has a file of its own."""
    sent_as = await office.sending.send(office.card(call(preview=LONG)))
    assert sent_as
    edited = office.card(call(preview=f"{LONG}\n+more", edited_by="bob"), kind="settle", revision=2)
    await office.sending.settle(edited, sent_as)
    card, _, copy = office.answers
    assert copy.file is not None
    assert copy.file.name == "approval-7-edit-1.txt"
    assert card.keyboard[0][0].data == "t:2:approve"


async def test_a_preview_that_cannot_be_attached_is_told(office: Office) -> None:
    """The card stands, and a line says why its file does not."""
    office.tg.will("sendDocument", Fault(status=400, description="Bad Request: not this one"))
    await office.sending.send(office.card(call(preview=LONG)))
    card, told = office.answers
    assert card.labels
    assert told.text == "approval-7.txt could not be attached: Telegram refused it: not this one."


async def test_a_card_in_a_topic_stays_there(office: Office) -> None:
    """TGG-05: with its file."""
    forum = office.tg.group("Ops", office.ann, forum=True)
    topic = office.tg.topic(forum, "Invoices")
    office.moves_to(forum, topic)
    await office.sending.send(office.card(call(preview=LONG)))
    assert len(office.tg.from_bot(forum, topic)) == 2


async def test_a_card_that_cannot_be_shown_is_told_to_who_asked(office: Office) -> None:
    """TGU-10: only that there is one; its buttons are for others."""
    group, alone = office.tg.group("Ops", office.ann), office.chat
    office.moves_to(group)
    group.may_write = False
    with pytest.raises(DeliveryRefused):
        await office.sending.send(office.card())
    why, what = office.tg.from_bot(alone)
    assert "not enough rights" in why.text
    assert (what.text, what.labels) == ("Approval 7 (task 1): please decide", [])


async def test_a_group_that_moved_takes_its_card_along(office: Office) -> None:
    """TGG-19: messages are counted anew there, so another one of the bot's has the card's number by now; neither it nor
    what it answers is mistaken for the card and the request."""
    old = office.tg.group("Ops", office.ann, kind="group", bot="administrator")
    office.moves_to(old)
    sent_as = await office.sending.send(office.card(call(1)))
    assert sent_as is not None
    await office.tg.until(lambda: office.request.reactions)
    new = office.tg.migrates(old)
    other = Message(message_id=0, chat=new, sender=office.tg.account.bot, text="Another answer")
    request = office.tg.says(office.ann, new, "/status")
    new.messages |= {int(sent_as): other, office.request.message_id: request}
    other.message_id = int(sent_as)
    settled = office.card(call(1, "approved"), kind="settle", status="approved")
    await office.sending.settle(settled, sent_as)
    assert other.text == "Another answer"
    verdict = office.tg.from_bot(new)[-1]
    assert verdict is not other
    assert verdict.text.startswith("Approval")
    office.restarted()
    await office.sending.send(office.reply())
    assert office.tg.from_bot(new)[-1].reply_to is None
    assert request.reactions == []
