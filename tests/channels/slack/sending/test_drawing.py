"""What a stream is given while a text grows, and how it ends."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.ports.channels import Shown
from channels.slack.drawing import Drawn, closed, finished, grown, settled, status
from channels.slack.markdown import markdown_parts
from channels.slack.messages import PART, Json
from channels.slack.pace import Pace
from tests.agent.waiting import waiting
from tests.channels.slack.sending.office import step
from tests.channels.slack.texts import HOSTILE, notifies
from tests.golden.compare import assert_golden
from tests.servers.slack.block_kit import message_problems

TASK = waiting().task


def text_of(chunks: list[Json]) -> str:
    return "".join(chunk.get("text", "") for chunk in chunks)


def streamed(texts: list[str]) -> tuple[str, Drawn]:
    """What stands in a stream that was shown each of these, and how it is drawn."""
    drawn, written = Drawn(), ""
    for text in texts:
        chunks, drawn = grown(drawn, Shown(task=TASK, steps=(), text=text))
        written += text_of(chunks)
    return written, drawn


@pytest.mark.parametrize(
    ("text", "whole"),
    [
        ("", ""),
        ("One", ""),
        ("One two", "One"),
        ("One two.\n\nThree", "One two."),
        ("See [the do", "See"),
        ("Run `ls", "Run"),
        ("It is <", "It is"),
        ("One.\n\n```py\nx = 1\n\ny = 2\n", "One."),
        ("One.\n\n```py\nx = 1\n```\nTwo words", "One.\n\n```py\nx = 1\n```\nTwo"),
        ("- a\n- ```\n  x < 1\n\n  y", "- a\n-"),
        ("| a | b |\n|---|---|\n| 1 |", ""),
    ],
)
def test_text_is_written_as_far_as_it_is_settled(text: str, whole: str) -> None:
    """Up to a word, a paragraph, a piece of code that is closed."""
    assert settled(text) == whole


@given(HOSTILE, st.lists(st.integers(0, 400), max_size=12))
def test_an_answer_is_said_once(text: str, cuts: list[int]) -> None:
    """However it grew: what was written and what is added at the end are its first part, or it is sent by itself."""
    parts = markdown_parts(text, PART)
    if not parts:
        return
    written, drawn = streamed([text[:cut] for cut in sorted(cuts)])
    rest = finished(drawn, text, parts[0])
    if rest is not None:
        assert written + text_of(rest) == parts[0]


@given(HOSTILE, st.lists(st.integers(0, 400), max_size=12))
def test_what_is_written_notifies_nobody(text: str, cuts: list[int]) -> None:
    """SLT-07: at no time."""
    written, _ = streamed([text[:cut] for cut in sorted(cuts)])
    assert not notifies(written)


def test_prose_is_written_word_by_word() -> None:
    """Nobody waits for the end of a paragraph."""
    text = "The invoices of March add up to 4,200 euros, and two of them are unpaid."
    written, _ = streamed([text[:cut] for cut in range(0, len(text), 5)])
    assert len(written) > len(text) - 15


def test_cards_are_told_once() -> None:
    """Only what changed is sent, and what was over before is not shown."""
    chunks, drawn = grown(Drawn(hidden=frozenset({"c1"})), Shown(task=TASK, steps=(step(1, "done"), step(2)), text=""))
    assert [(chunk["id"], chunk["status"]) for chunk in chunks] == [("c2", "in_progress")]
    again, _ = grown(drawn, Shown(task=TASK, steps=(step(1, "done"), step(2)), text=""))
    assert again == []


def test_many_steps_are_counted() -> None:
    """An edited message stays short."""
    (block,) = closed([step(number, "done") for number in range(100)])
    lines = block["elements"][0]["elements"][0]["text"].split("\n")
    assert lines[0] == "(80 earlier steps)"
    assert lines[-1] == "✓ Read 99.csv"
    assert len(lines) == 21


def test_status_golden() -> None:
    """Where there are no streams: the steps, the words so far, a button that stops the task."""
    steps = (step(1, "done"), step(2, "failed"), step(3, "denied"), step(4, "waiting"), step(5))
    look = status(Shown(task=TASK, steps=steps, text="**Two** invoices are unpaid. And "))
    assert message_problems(list(look.blocks)) == []
    assert_golden("slack/status", list(look.blocks))


def test_a_pace_is_kept() -> None:
    """A few at once, then so many a minute; what Slack said is obeyed."""
    now = [0.0]
    pace = Pace(60, 2, lambda: now[0])
    assert [pace.take() for _ in range(3)] == [0, 0, 1]
    now[0] = 1.0
    assert pace.take() == 0
    pace.hold(30)
    assert pace.take() == 31
    now[0] = 31.0
    assert pace.take() == 1
    now[0] = 32.0
    assert pace.take() == 0
