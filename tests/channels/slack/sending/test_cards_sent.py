"""Cards in Slack: shown, redrawn, found again; with what has no room beside them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from agent.domain import Address
from agent.errors import ChannelUnavailable
from tests.agent.waiting import call
from tests.channels.slack.sending.office import Office
from tests.servers.slack.web_api import Fault

LONG = "\n".join(f"+line {number}" for number in range(2_000))


async def test_a_card_is_a_message_of_its_own(office: Office) -> None:
    """SLB-12: an ordinary message in the thread, with buttons."""
    sent_as = await office.sender.send(office.card())
    (card,) = office.thread
    assert card.buttons == ["Approve", "Deny…", "Edit…", "Request changes…"]
    assert card.only_for is None
    assert sent_as == f"{office.ops}:{card.ts}"


@pytest.mark.parametrize("restarted", [False, True])
async def test_the_verdict_replaces_the_buttons(office: Office, restarted: bool) -> None:
    """SLB-07 SLB-10 SLB-11: by chat.update with channel and ts, always with blocks, also by a new process, later."""
    sent_as = await office.sender.send(office.card())
    assert sent_as
    if restarted:
        office.restarted()
    office.clock.advance(40 * 60)
    settled = office.card(call(status="approved", decided_by="bob", votes=("bob",)), kind="settle", status="approved",
                          decided_by="bob")  # fmt: skip
    await office.sender.settle(settled, sent_as)
    (card,) = office.thread
    assert card.buttons == []
    assert "Approved by bob." in card.shown
    (update,) = office.made("chat.update")
    assert update.arguments["blocks"]


async def test_every_message_of_a_big_card_is_redrawn(office: Office) -> None:
    """SLL-07 SLB-10: items over several messages, and no button left on any."""
    calls = [call(number) for number in range(1, 15)]
    sent_as = await office.sender.send(office.card(*calls))
    assert sent_as
    assert len(office.thread) == 3
    assert sum(len(message.buttons) for message in office.thread) == 14 * 3 + 3
    settled = [replace(one, status="denied", decided_by="bob") for one in calls]
    await office.sender.settle(office.card(*settled, kind="settle", status="denied", decided_by="bob"), sent_as)
    assert [message.buttons for message in office.thread] == [[], [], []]


async def test_a_card_whose_fate_is_unknown_is_looked_for(office: Office) -> None:
    """One card, whose place is known, so that it can be settled."""
    office.slack.api.order("chat.postMessage", Fault(kind="cut", after=True))
    outgoing = office.card()
    with pytest.raises(ChannelUnavailable):
        await office.sender.send(outgoing)
    sent_as = await office.sender.send(office.again(outgoing))
    (card,) = office.thread
    assert sent_as == f"{office.ops}:{card.ts}"


async def test_a_long_preview_is_attached(office: Office) -> None:
    """Nobody decides about what they cannot read: the whole stands in a file below the card."""
    await office.sender.send(office.card(call(preview=LONG)))
    card, copy = office.thread
    assert "the whole is in the file approval-7.txt" in card.shown
    assert LONG.encode() in copy.files[0].content


async def test_a_preview_that_cannot_be_attached_is_told(office: Office) -> None:
    """The card stands, and a line says why its file does not."""
    office.slack.api.scopes.discard("files:write")
    await office.sender.send(office.card(call(preview=LONG)))
    card, told = office.thread
    assert card.buttons
    assert told.shown.startswith("approval-7.txt could not be attached")


async def test_what_is_shown_anew_is_attached_anew(office: Office) -> None:
    """An edit's whole text is another file; a vote on it attaches nothing twice."""
    sent_as = await office.sender.send(office.card(call(preview=LONG)))
    assert sent_as
    for settle in (11, 12):
        edited = office.card(call(preview=f"{LONG}\n+more"), kind="settle", revision=2, delivery_id=settle)
        await office.sender.settle(edited, sent_as)
    names = [file.name for message in office.thread for file in message.files]
    assert names == ["approval-7.txt", "approval-7-edit-1.txt"]


async def test_a_card_elsewhere_leads_back(office: Office) -> None:
    """A card in the approvers' channel links the request; so does its verdict."""
    approvers = office.slack.room("approvers", office.bob)
    to = Address(channel="slack", conversation=approvers)
    sent_as = await office.sender.send(office.card(to=to))
    assert sent_as
    (card,) = office.slack.answers(approvers)
    link = (
        f"<https://home.slack.com/archives/{office.ops}/p{office.request.ts.replace('.', '')}|Where it was asked for>"
    )
    assert link in card.shown
    await office.sender.settle(office.card(call(status="denied"), kind="settle", status="denied", to=to), sent_as)
    assert link in card.shown
    assert card.buttons == []


async def test_a_card_for_a_person_is_redrawn_in_their_direct_messages(office: Office) -> None:
    """chat.update takes only the id of the conversation, which chat.postMessage told."""
    to = Address(channel="slack", conversation=office.bob)
    sent_as = await office.sender.send(office.card(to=to))
    assert sent_as
    await office.sender.settle(office.card(call(status="denied"), kind="settle", status="denied", to=to), sent_as)
    (card,) = office.slack.answers(office.slack.direct(office.bob))
    assert card.buttons == []


async def test_a_card_that_was_deleted_stays_so(office: Office) -> None:
    """SLB-10: its verdict is in the thread's answer; nothing is repeated for ever."""
    sent_as = await office.sender.send(office.card())
    assert sent_as
    office.slack.deletes(office.thread[0])
    await office.sender.settle(office.card(call(status="denied"), kind="settle", status="denied"), sent_as)
    assert office.thread == []


async def test_a_card_that_may_not_be_edited_any_more_gets_its_verdict_below(office: Office) -> None:
    """A workspace may forbid to edit after some minutes; the verdict is said all the same, once."""
    sent_as = await office.sender.send(office.card())
    assert sent_as
    office.slack.api.order("chat.update", Fault(kind="refused", error="edit_window_closed"), times=2)
    settled = office.card(call(status="denied", decided_by="bob"), kind="settle", status="denied", decided_by="bob")
    await office.sender.settle(settled, sent_as)
    await office.sender.settle(office.again(settled), sent_as)
    assert len(office.thread) == 2
    assert "Denied by bob." in office.thread[1].shown


async def test_refused_blocks_leave_a_card_in_words(office: Office) -> None:
    """SLL-11 SLE-21: with the words that decide it in a thread; its verdict replaces them."""
    office.slack.api.order("chat.postMessage", Fault(kind="refused", error="invalid_blocks"))
    sent_as = await office.sender.send(office.card())
    assert sent_as
    (card,) = office.thread
    assert "/approve 7" in card.shown
    assert "mention me" in card.shown
    office.slack.api.order("chat.update", Fault(kind="refused", error="invalid_blocks"))
    settled = office.card(call(status="denied", decided_by="bob"), kind="settle", status="denied", decided_by="bob")
    await office.sender.settle(settled, sent_as)
    assert "Denied by bob." in card.shown
    assert "/approve" not in card.shown


async def test_a_verdict_waits_for_slack(office: Office) -> None:
    """SLA-09: chat.update has a limit, too; the verdict is drawn once there is room."""
    sent_as = await office.sender.send(office.card())
    assert sent_as
    office.slack.api.order("chat.update", Fault(kind="rate_limited", seconds=30))
    settled = office.card(call(status="denied"), kind="settle", status="denied")
    with pytest.raises(ChannelUnavailable) as told:
        await office.sender.settle(settled, sent_as)
    assert told.value.retry_after == 30
    office.clock.advance(31)
    await office.sender.settle(office.again(settled), sent_as)
    assert office.thread[0].buttons == []
