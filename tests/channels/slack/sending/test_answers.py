"""Answers and notices: whole, once, in order, in the thread."""

from __future__ import annotations

from dataclasses import replace

import pytest

from agent.domain import Address
from agent.errors import ChannelUnavailable, DeliveryRefused
from tests.channels.slack.sending.office import Office
from tests.servers.slack.web_api import Fault

LONG = "\n\n".join(f"Paragraph {number}: " + "word " * 100 for number in range(60))


async def test_an_answer_is_a_markdown_block(office: Office) -> None:
    """SLT-01: standard Markdown goes out as it is, into the request's thread, tagged with its delivery."""
    sent_as = await office.sender.send(office.outgoing("reply", "# Plan\n\n**go** [doc](https://e.org) ~~x~~"))
    (answer,) = office.thread
    assert answer.blocks == [{"type": "markdown", "text": "# Plan\n\n**go** [doc](https://e.org) ~~x~~"}]
    assert answer.metadata == {"event_type": "signoff_delivery", "event_payload": {"id": "9:0"}}
    assert sent_as == f"{office.ops}:{answer.ts}"
    assert "*Plan*" in answer.text


async def test_a_long_answer_is_several_messages(office: Office) -> None:
    """SLL-01 SLL-03 SLL-04: nothing is cut off, each part fits, and they stand in order."""
    await office.sender.send(office.outgoing("reply", LONG))
    assert len(office.thread) > 4
    assert "".join("".join(message.shown for message in office.thread).split()) == "".join(LONG.split())


@pytest.mark.parametrize("text", ["", " \n\t", "\u200b", "```\n```"])
async def test_nothing_is_sent_of_what_is_empty(office: Office, text: str) -> None:
    """SLL-09: no message, no error, no loop."""
    assert await office.sender.send(office.outgoing("reply", text)) is None
    assert office.thread == []


@pytest.mark.parametrize("kind", ["reply", "notice"])
@pytest.mark.parametrize("refused", [False, True])
async def test_nobody_is_notified_on_any_way(office: Office, kind: str, refused: bool) -> None:
    """SLT-04 SLT-07 SLT-08: answer, notice and the plain words for refused blocks pass the same renderer."""
    if refused:
        office.slack.api.order("chat.postMessage", Fault(kind="refused", error="invalid_blocks"))
    text = f"<!channel> done, <!here|x>, @everyone, <@{office.ann}>, `<!here>`\n\n| a |\n|---|\n| <!channel> |"
    await office.sender.send(office.outgoing(kind, text))  # type: ignore[arg-type]
    assert len(office.thread) == 1
    assert office.slack.world.pings == []


async def test_refused_blocks_become_plain_words(office: Office) -> None:
    """SLL-11: once, with everything in it."""
    office.slack.api.order("chat.postMessage", Fault(kind="refused", error="invalid_blocks"))
    text = "**Totals** " + "word " * 1_100
    sent_as = await office.sender.send(office.outgoing("reply", text))
    assert all(message.blocks == [] for message in office.thread)
    assert "".join("".join(one.text for one in office.thread).split()) == "*Totals*" + "word" * 1_100
    assert sent_as == f"{office.ops}:{office.thread[-1].ts}"
    assert all(len(one.text.encode()) <= 4_000 for one in office.thread)


async def test_an_attempt_goes_on_where_the_last_one_stopped(office: Office) -> None:
    """M: a limit in the middle of a long answer delays the rest; nothing is lost and nothing doubled."""
    outgoing = office.outgoing("reply", LONG)
    await office.sender.send(office.outgoing("notice", "Noted.", delivery_id=1, task=None))
    office.slack.api.order("chat.postMessage", Fault(kind="slow", seconds=0), times=2)
    office.slack.api.order("chat.postMessage", Fault(kind="rate_limited", seconds=30))
    with pytest.raises(ChannelUnavailable) as told:
        await office.sender.send(outgoing)
    assert told.value.retry_after == 30
    assert len(office.thread) == 3
    office.clock.advance(31)
    await office.sender.send(office.again(outgoing))
    shown = "".join(message.shown for message in office.thread[1:])
    assert "".join(shown.split()) == "".join(LONG.split())


@pytest.mark.parametrize("kind", ["cut", "html", "status"])
async def test_an_answer_whose_fate_is_unknown_is_looked_for(office: Office, kind: str) -> None:
    """One that arrived is not sent again, by its tag; its place is known all the same."""
    office.slack.api.order("chat.postMessage", Fault(kind=kind, after=True))  # type: ignore[arg-type]
    outgoing = office.outgoing("reply", "All good.")
    with pytest.raises(ChannelUnavailable):
        await office.sender.send(outgoing)
    sent_as = await office.sender.send(office.again(outgoing))
    (answer,) = office.thread
    assert sent_as == f"{office.ops}:{answer.ts}"


async def test_an_answer_that_was_lost_is_sent_again(office: Office) -> None:
    """Not found means not there."""
    office.slack.api.order("chat.postMessage", Fault(kind="cut"))
    outgoing = office.outgoing("reply", "All good.")
    with pytest.raises(ChannelUnavailable):
        await office.sender.send(outgoing)
    await office.sender.send(office.again(outgoing))
    assert [message.shown for message in office.thread] == ["All good."]


async def test_it_is_sent_where_the_bot_may_not_look(office: Office) -> None:
    """At least once comes before at most once."""
    office.slack.api.scopes.discard("channels:history")
    await office.sender.send(office.again(office.outgoing("reply", "All good.")))
    assert [message.shown for message in office.thread] == ["All good."]


async def test_an_answer_among_many_messages_is_found(office: Office) -> None:
    """Looking goes through the pages, and begins at the task."""
    outgoing = office.outgoing("reply", "All good.")
    await office.sender.send(outgoing)
    for number in range(230):
        office.slack.says(office.bob, office.ops, f"{number}", thread=office.request.ts)
    await office.sender.send(office.again(outgoing))
    assert len(office.slack.answers(office.ops)) == 1


async def test_an_answer_whose_thread_is_gone_is_not_lost(office: Office) -> None:
    """SLE-19: a message that nobody can reply to, or that was deleted, is answered in the channel."""
    joined = office.slack.joins(office.bob, office.ops)
    to = Address(channel="slack", conversation=office.ops, thread=joined.ts)
    await office.sender.send(office.outgoing("reply", "One.", to=to))
    await office.sender.send(office.outgoing("reply", "Two.", to=replace(to, thread="1.2")))
    assert [message.shown for message in office.slack.answers(office.ops)] == ["One.", "Two."]
    assert [message.thread for message in office.slack.answers(office.ops)] == [None, None]


async def test_an_answer_beside_a_gone_thread_is_found(office: Office) -> None:
    """SLE-19: looked for where it had to be put."""
    to = Address(channel="slack", conversation=office.ops, thread="1.2")
    office.slack.api.order("chat.postMessage", Fault(kind="slow", seconds=0))
    office.slack.api.order("chat.postMessage", Fault(kind="cut", after=True))
    outgoing = office.outgoing("reply", "All good.", to=to)
    with pytest.raises(ChannelUnavailable):
        await office.sender.send(outgoing)
    await office.sender.send(office.again(outgoing))
    assert [message.shown for message in office.slack.answers(office.ops)] == ["All good."]


async def test_a_person_is_answered_in_direct_messages(office: Office) -> None:
    """An address may be a person; the conversation of the two is opened."""
    to = Address(channel="slack", conversation=office.bob)
    sent_as = await office.sender.send(office.outgoing("notice", "Hello.", to=to, task=None))
    (message,) = office.slack.answers(office.slack.direct(office.bob))
    assert sent_as == f"{message.channel}:{message.ts}"


@pytest.mark.parametrize("gone", ["removed", "archived"])
async def test_an_answer_that_cannot_stand_there_goes_to_who_asked(office: Office, gone: str) -> None:
    """M: a channel that the bot was taken out of, or that was archived: the sentence names the remedy, and the
    requester has the answer all the same."""
    leave = office.slack.removes_bot if gone == "removed" else office.slack.archives
    leave(office.ann, office.ops)
    outgoing = office.outgoing("reply", "It is 4,200.")
    with pytest.raises(DeliveryRefused, match="invite" if gone == "removed" else "archived"):
        await office.sender.send(outgoing)
    why, answer = office.slack.answers(office.slack.direct(office.ann))
    assert why.shown.startswith(f"I could not write this in <#{office.ops}>. The")
    assert answer.shown == "It is 4,200."


async def test_a_guest_is_told_by_their_identity(office: Office) -> None:
    """Somebody whom the channel lets in has no other name; a requester without Slack is told nothing there."""
    office.slack.archives(office.ann, office.ops)
    for name in (f"slack:{office.bob}", "somebody"):
        task = office.task("done", requester=name)
        with pytest.raises(DeliveryRefused):
            await office.sender.send(office.outgoing("reply", "It is 4,200.", task=task))
    assert len(office.slack.answers(office.slack.direct(office.bob))) == 2


async def test_one_channel_does_not_stall_another(office: Office) -> None:
    """M: Retry-After is obeyed for the channel that said it, without calling again; others go on."""
    other = office.slack.room("other", office.ann)
    office.slack.api.order("chat.postMessage", Fault(kind="rate_limited", seconds=30), channel=office.ops)
    for _ in range(3):
        with pytest.raises(ChannelUnavailable):
            await office.sender.send(office.outgoing("reply", "All good."))
    assert len(office.made("chat.postMessage")) == 1
    await office.sender.send(
        office.outgoing("notice", "Hi.", to=Address(channel="slack", conversation=other), task=None)
    )
    office.clock.advance(31)
    await office.sender.send(office.again(office.outgoing("reply", "All good.")))
    assert [message.shown for message in office.thread] == ["All good."]


async def test_too_fast_without_a_status_is_too_fast(office: Office) -> None:
    """SLA-09: HTTP 200 with `ratelimited` in it is a limit, not an answer."""
    office.slack.api.order("chat.postMessage", Fault(kind="refused", error="ratelimited"))
    with pytest.raises(ChannelUnavailable) as told:
        await office.sender.send(office.outgoing("reply", "All good."))
    assert told.value.retry_after == 30


async def test_links_show_nothing_by_themselves(office: Office) -> None:
    """Whatever a link leads to is not fetched for a preview."""
    await office.sender.send(office.outgoing("reply", "See https://e.org/?secret=1"))
    (call,) = office.made("chat.postMessage")
    assert call.arguments["unfurl_links"] is False
    assert call.arguments["unfurl_media"] is False


async def test_a_notice_names_conversations(office: Office) -> None:
    """Where a card was asked for reads as a channel's name and leads there."""
    await office.sender.send(
        office.outgoing("notice", f"It was asked for in slack:{office.ops} and slack:{office.bob}.")
    )
    (message,) = office.thread
    assert message.shown == f"It was asked for in <#{office.ops}> and a direct message."
