"""A task at work as it is drawn, whatever it says."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent.domain import Task
from agent.ports.channels import Shown, StepLine
from channels.telegram import drawing
from channels.telegram.text import MESSAGE_UNITS
from tests.channels.telegram.sending.office import step
from tests.channels.telegram.shown import entities, legal
from tests.servers.telegram.rich import read_html

NOW = datetime(2026, 3, 2, tzinfo=UTC)
TASK = Task(
    task_id=5, session_id=1, seq=1, origin="message", requester="ann", reply_to=(), workspace="office", prompt="",
    files=(), status="running", created_at=NOW, run_after=NOW,
)  # fmt: skip


def shown(*steps: StepLine, text: str = "") -> Shown:
    """A task with these steps and words."""
    return Shown(task=TASK, steps=steps, text=text)


def test_what_is_done_is_told_by_signs() -> None:
    """A line for each step."""
    states = [step(1, "done"), step(2, "failed"), step(3, "denied"), step(4, "waiting"), step(5)]
    lines = ["✓ Read 1.csv", "✗ Reading 2.csv", "✗ Reading 3.csv", "… Reading 4.csv", "▸ Reading 5.csv"]
    assert drawing.status(shown(*states)).text.split("\n") == lines


def test_the_earlier_of_many_steps_are_counted() -> None:
    """The newest eight are told."""
    text = drawing.draft(shown(*(step(number, "done") for number in range(1, 21)))).text
    assert text.startswith("(12 earlier steps)\n✓ Read 13.csv\n")


def test_formats_are_where_the_words_are() -> None:
    """Also below steps with letters that take two units."""
    part = drawing.draft(shown(StepLine(call_id="c", label="Read", target="🙂.csv", state="done"), text="a **b** `c`"))
    assert entities(part) == [("bold", "b"), ("code", "c")]


@pytest.mark.parametrize("text", ["", "Just words.", "x" * 20_000])
def test_what_needs_no_rich_message_is_none(text: str) -> None:
    """Nor what is too long to be drawn every second."""
    assert drawing.rich_draft(shown(text=text)) is None


def test_steps_are_no_markup() -> None:
    """What a file is called is shown as it is."""
    odd = StepLine(call_id="c", label="Read", target="<b>&", state="done")
    html = drawing.rich_draft(shown(odd, text="# Totals"))
    assert html is not None
    assert read_html(html).text.splitlines() == ["✓ Read <b>&", "Totals"]


@settings(max_examples=30, deadline=None)
@given(
    text=st.text(st.sampled_from("ab \n`*_#|-[](🙂é\u0301漢"), max_size=9_000),
    targets=st.lists(st.text(st.characters(exclude_categories=["Cs", "Cc", "Cf"]), max_size=120), max_size=12),
)
def test_anything_is_drawn(text: str, targets: list[str]) -> None:
    """Within the limits of a message, every format whole."""
    steps = [StepLine(call_id="c", label="Read", target=" ".join(one.split()), state="running") for one in targets]
    at_work = shown(*steps, text=text)
    if drawing.draft(at_work).text:
        legal(drawing.draft(at_work), MESSAGE_UNITS)
    legal(drawing.status(at_work), MESSAGE_UNITS)
    html = drawing.rich_draft(at_work)
    assert html is None or read_html(html).text
