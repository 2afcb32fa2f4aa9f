"""What a task is doing, while it works: a native stream with its cards, the answer below; else an edited message."""

from __future__ import annotations

import asyncio

import pytest

from agent.domain import Address
from agent.errors import ChannelUnavailable
from channels.slack import live
from tests.agent.waiting import call
from tests.channels.slack.sending.office import Office, step
from tests.servers.slack.web_api import Fault
from tests.servers.slack.world import Message, Stream


@pytest.fixture(autouse=True)
def brisk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody waits between two looks."""
    monkeypatch.setattr(live, "PAUSES", {"stream": 0.01, "edited": 0.01})


async def looks(office: Office, *steps: object, words: str = "", to: Address | None = None, **task: object) -> None:
    """The task is shown, and what is shown of it has arrived."""
    before = len(office.slack.api.calls)
    await office.sender.progress(to or office.to, office.shown(*steps, words=words, **task))  # type: ignore[arg-type]
    await office.slack.until(lambda: any(_draws(one.method) for one in office.slack.api.calls[before:]))
    await office.notes.is_showing.wait()


def _draws(method: str) -> bool:
    return "Stream" in method or method in {"chat.update", "chat.postMessage"}


def stream(message: Message) -> Stream:
    assert message.stream is not None
    return message.stream


def cards(message: Message) -> list[tuple[str, str]]:
    return [(card["title"], card["status"]) for card in stream(message).tasks.values()]


async def test_a_card_for_each_call_and_the_answer_below(office: Office) -> None:
    """One message: its cards change as the calls go on, the answer grows and ends in it, tagged."""
    await looks(office, step(1))
    await looks(office, step(1, "done"), step(2))
    await looks(office, step(1, "done"), step(2, "done"), words="All is well. The invoices add up to")
    answer = "All is well. The invoices add up to **4,200**."
    sent_as = await office.sender.send(office.outgoing("reply", answer))
    (message,) = office.thread
    assert cards(message) == [("Read 1.csv", "complete"), ("Read 2.csv", "complete")]
    assert stream(message).written == answer
    assert not stream(message).is_open
    assert stream(message).recipient == office.ann
    assert message.metadata == {"event_type": "signoff_delivery", "event_payload": {"id": "9:0"}}
    assert sent_as == f"{office.ops}:{message.ts}"
    assert office.notes.shown_as == {}


async def test_what_is_said_between_calls_stays_above_the_answer(office: Office) -> None:
    """The words before a call are no part of the answer, and the answer is not said twice."""
    await looks(office, step(1, "done"), words="I look at the invoices. Then ")
    await looks(office, step(1, "done"), step(2))
    await office.sender.send(office.outgoing("reply", "It is 4,200."))
    (message,) = office.thread
    assert stream(message).written == "I look at the invoices. Then …\n\nIt is 4,200."
    assert cards(message)[1] == ("Reading 2.csv", "complete")


async def test_a_failure_is_seen_in_the_cards(office: Office) -> None:
    """What was under way when a task failed did not end well."""
    await looks(office, step(1))
    failed = office.outgoing("reply", "This could not be finished.", task=office.task("failed"))
    await office.sender.send(failed)
    assert cards(office.thread[0]) == [("Reading 1.csv", "error")]


async def test_a_long_answer_goes_on_below_the_stream(office: Office) -> None:
    """SLL-01 SLL-03: the first part ends the stream, the others follow."""
    answer = "\n\n".join(f"Paragraph {number}: " + "word " * 100 for number in range(40))
    await looks(office, step(1))
    await looks(office, step(1, "done"), words=answer[:3_000])
    await office.sender.send(office.outgoing("reply", answer))
    assert len(office.thread) > 2
    whole = stream(office.thread[0]).written + "".join(message.shown for message in office.thread[1:])
    assert "".join(whole.split()) == "".join(answer.split())


async def test_an_answer_that_turned_out_otherwise_stands_alone(office: Office) -> None:
    """A stream cannot take back what it wrote: it goes, and the answer is whole in a message of its own."""
    await looks(office, step(1))
    answer = "🙂 " * 2_500  # its first part is longer in bytes than a stream takes
    await looks(office, step(1, "done"), words=answer[:1_000])
    await office.sender.send(office.outgoing("reply", answer))
    assert all(message.stream is None for message in office.thread)
    assert "".join(message.shown for message in office.thread).count("🙂") == 2_500


async def test_nothing_in_it_notifies_anybody(office: Office) -> None:
    """SLT-04: streamed words pass the same renderer as the answer."""
    text = f"Hello <!channel>, <@{office.ann}> and @everyone. And so on, and so on"
    for size in range(0, len(text), 7):
        await office.sender.progress(office.to, office.shown(step(1), words=text[:size]))
    await looks(office, step(1, "done"), words=text)
    await office.sender.send(office.outgoing("reply", text))
    assert office.slack.world.pings == []
    assert len(office.thread) == 1


async def test_a_stream_ends_where_a_person_is_asked(office: Office) -> None:
    """The cards stay, what waits says so, the card of the approval stands below; the next run has a stream of its own,
    without what is over."""
    await looks(office, step(1, "done"), step(2))
    await office.sender.send(office.card(call(call_id="c2")))
    first, approval = office.thread
    assert cards(first) == [("Read 1.csv", "complete"), ("Reading 2.csv", "pending")]
    assert not stream(first).is_open
    assert approval.buttons
    await office.sender.progress(office.to, office.shown(step(1, "done"), step(2)))  # late news of the run before
    await looks(office, step(2, "done"), epoch=2)
    assert len(office.thread) == 3


async def test_a_stream_is_rolled_over_before_it_closes_by_itself(office: Office) -> None:
    """After four and a half minutes; what goes on does so in the next one."""
    await looks(office, step(1, "done"), step(2))
    office.clock.advance(280)
    await looks(office, step(1, "done"), step(2), step(3))
    await office.slack.until(lambda: len(office.thread) == 2)
    await office.sender.send(office.outgoing("reply", "Done."))
    first, second = office.thread
    assert cards(first) == [("Read 1.csv", "complete"), ("Reading 2.csv", "pending")]
    assert stream(first).tasks["c2"]["details"] == "Goes on below."
    assert [card[0] for card in cards(second)] == ["Reading 2.csv", "Reading 3.csv"]
    assert stream(second).written == "Done."


async def test_what_was_said_before_a_roll_over_stays(office: Office) -> None:
    """Only the beginning of the answer itself would be said twice."""
    await looks(office, step(1, "done"), words="I look at the invoices. Then ")
    office.clock.advance(280)
    await looks(office, step(1, "done"), step(2))
    await office.slack.until(lambda: len(office.thread) == 2)
    await office.sender.send(office.outgoing("reply", "Done."))
    assert [stream(message).written for message in office.thread] == ["I look at the invoices. Then", "Done."]


async def test_the_beginning_of_an_answer_before_a_roll_over_goes(office: Office) -> None:
    """The answer stands whole in one place."""
    await looks(office, step(1, "done"), words="All is well. The invoices ")
    office.clock.advance(280)
    await looks(office, step(1, "done"), words="All is well. The invoices add up to ")
    await office.sender.send(office.outgoing("reply", "All is well. The invoices add up to 4,200."))
    assert "".join(message.shown for message in office.thread) == "All is well. The invoices add up to 4,200."


async def test_words_that_may_have_arrived_are_not_said_twice(office: Office) -> None:
    """Nobody knows what stands in a stream after a broken call, so the answer stands elsewhere and the stream goes."""
    await looks(office, step(1))
    office.slack.api.order("chat.appendStream", Fault(kind="cut", after=True))
    await office.sender.progress(office.to, office.shown(step(1, "done"), words="It is 4,200 and "))
    await office.slack.until(lambda: len(office.made("chat.startStream")) == 2)
    await office.sender.send(office.outgoing("reply", "It is 4,200 and a bit."))
    assert "".join(message.shown for message in office.thread) == "It is 4,200 and a bit."


async def test_an_answer_does_not_wait_for_progress_that_hangs(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    """M: what is under way when the answer comes has a moment; then nobody knows what it did, and it goes."""
    monkeypatch.setattr(live, "CLOSING_SECONDS", 0.05)
    await looks(office, step(1))
    office.slack.api.order("chat.appendStream", Fault(kind="slow", seconds=1))
    await office.sender.progress(office.to, office.shown(step(1, "done"), words="It is 4,200 and "))
    await asyncio.sleep(0.1)
    await office.sender.send(office.outgoing("reply", "It is 4,200 and a bit."))
    assert [message.shown for message in office.thread] == ["It is 4,200 and a bit."]


async def test_a_message_that_somebody_deleted_is_not_edited_for_ever(office: Office) -> None:
    """Slack's no is final until there are news."""
    office.slack.api.order("chat.startStream", Fault(kind="refused", error="unknown_method"))
    await looks(office, step(1))
    office.slack.deletes(office.thread[0])
    await looks(office, step(1, "done"), step(2))
    await asyncio.sleep(0.1)
    assert len(office.made("chat.update")) == 1
    await office.sender.send(office.outgoing("reply", "Done."))
    assert [message.shown for message in office.thread] == ["Done."]


async def test_many_steps_take_several_streams(office: Office) -> None:
    """A stream near its size is closed as well."""
    path = "folder/" * 30
    for number in range(1, 19):
        done = (step(n, "done", path) for n in range(1, number))
        await looks(office, *done, step(number, "running", path))
    await office.sender.send(office.outgoing("reply", "Done."))
    shown = {title for message in office.thread for title, status in cards(message) if status == "complete"}
    assert len(office.thread) > 1
    assert {f"Read {path}{number}.csv" for number in range(1, 18)} <= shown
    assert all(not stream(message).is_open for message in office.thread)


async def test_a_stream_that_closed_by_itself_is_followed_by_another(office: Office) -> None:
    """Or that somebody stopped: the next step opens a new one."""
    await looks(office, step(1))
    office.slack.api.order("chat.appendStream", Fault(kind="refused", error="message_not_in_streaming_state"))
    await office.sender.progress(office.to, office.shown(step(1, "done"), step(2)))
    await office.slack.until(lambda: len(office.thread) == 2)
    await office.sender.send(office.outgoing("reply", "Done."))
    assert stream(office.thread[1]).written == "Done."


async def test_a_stream_of_a_process_that_died_goes_when_the_answer_comes(office: Office) -> None:
    """The note of it outlives the process."""
    await looks(office, step(1), words="The answer is ")
    office.restarted()
    await office.sender.send(office.outgoing("reply", "The answer is 4."))
    assert [message.shown for message in office.thread] == ["The answer is 4."]
    assert office.notes.shown_as == {}


async def test_a_stream_of_a_process_that_died_goes_when_work_goes_on(office: Office) -> None:
    """There is one showing of a task at a time."""
    await looks(office, step(1))
    office.restarted()
    await looks(office, step(1, "done"), step(2), epoch=2)
    await office.slack.until(lambda: len(office.thread) == 1 and stream(office.thread[0]).is_open)
    assert [title for title, _ in cards(office.thread[0])] == ["Read 1.csv", "Reading 2.csv"]


async def test_an_answer_that_ended_a_stream_is_known_after_a_crash(office: Office) -> None:
    """Its tag is found; the message that shows it is not taken for a leftover."""
    await looks(office, step(1))
    office.slack.api.order("chat.stopStream", Fault(kind="cut", after=True))
    outgoing = office.outgoing("reply", "Done.")
    with pytest.raises(ChannelUnavailable):
        await office.sender.send(outgoing)
    office.restarted()
    sent_as = await office.sender.send(office.again(outgoing))
    (message,) = office.thread
    assert stream(message).written == "Done."
    assert sent_as == f"{office.ops}:{message.ts}"


async def test_an_answer_does_not_wait_for_a_limit_of_progress(office: Office) -> None:
    """M: when the stream may not be ended now, it goes, and the answer is sent."""
    await looks(office, step(1), words="The answer is ")
    office.slack.api.order("chat.stopStream", Fault(kind="rate_limited", seconds=30), times=5)
    await office.sender.send(office.outgoing("reply", "The answer is 4."))
    assert "The answer is 4." in [message.shown for message in office.thread]


async def test_progress_is_dropped_before_it_is_too_much(office: Office) -> None:
    """M: news come faster than Slack takes them; the newest is what is drawn, in few calls."""
    office.slack.api.has_rates = True
    for number in range(200):
        await office.sender.progress(office.to, office.shown(*(step(n, "done") for n in range(number))))
    await looks(office, *(step(number, "done") for number in range(200)), step(200))
    assert len(office.slack.api.calls) < 20
    assert all(one.answer != "http_429" for one in office.slack.api.calls)


async def test_a_refused_stream_becomes_an_edited_message(office: Office) -> None:
    """Where streams are not to be had: steps and words in one message with a stop button, then the answer by itself."""
    office.slack.api.order("chat.startStream", Fault(kind="refused", error="unknown_method"))
    await looks(office, step(1))
    await office.slack.until(lambda: len(office.thread) == 1)
    (status,) = office.thread
    assert status.buttons == ["Stop"]
    assert status.shown == "▸ Reading 1.csv"
    await looks(office, step(1, "done"), words="It is well. So ")
    await office.slack.until(lambda: "It is well." in status.shown)
    await office.sender.send(office.outgoing("reply", "x" * 5_000))
    assert status.buttons == []
    assert status.shown == "✓ Read 1.csv"
    assert len(office.thread[1].shown) == 5_000
    await looks(office, step(1), task_id=6)
    assert len(office.made("chat.startStream")) == 1  # nobody asks again


async def test_direct_messages_without_a_thread_have_an_edited_message(office: Office) -> None:
    """A stream needs a thread; the status goes when there were no steps."""
    to = Address(channel="slack", conversation=office.ann)
    await office.sender.progress(to, office.shown(words="Well, so ", reply_to=(to,)))
    room = office.slack.direct(office.ann)
    await office.slack.until(lambda: bool(office.slack.answers(room)))
    await office.sender.send(office.outgoing("reply", "Well, so be it.", to=to))
    assert [message.shown for message in office.slack.answers(room)] == ["Well, so be it."]


async def test_an_assistants_thread_says_that_it_is_worked_on(office: Office) -> None:
    """Below the box, before the first step or word; the answer then comes without a stream."""
    root = office.slack.opens_assistant(office.ann)
    to = Address(channel="slack", conversation=office.ann, thread=root.ts)
    room = office.slack.direct(office.ann)
    await office.sender.progress(to, office.shown(reply_to=(to,)))
    await office.slack.until(lambda: office.slack.assistant(room, root.ts).status == "is working…")
    await office.sender.send(office.outgoing("reply", "Done.", to=to))
    assert [message.shown for message in office.slack.thread(room, root.ts)] == ["Done."]


async def test_a_task_of_nobody_in_slack_has_nobody_to_stream_for(office: Office) -> None:
    """Slack wants to know for whom a stream in a channel is; when nobody in Slack asked, a message is edited."""
    await looks(office, step(1), requester="somebody")
    assert office.made("chat.startStream") == []
    assert office.thread[0].buttons == ["Stop"]
