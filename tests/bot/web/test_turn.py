"""A task as a chat shows it: in the order in which it happened."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from agent.domain import TaskStatus
from bot.api.approvals import ApprovalView
from bot.api.tasks import EntryView, TaskView
from bot.web.chart import bars
from bot.web.figures import first_line, money, seconds, size
from bot.web.turn import Notes, Said, Steps, Turn, turn

START = datetime(2026, 3, 2, 8, 0, tzinfo=UTC)


def at(count: float) -> datetime:
    return START + timedelta(seconds=count)


def entry(seq: int, kind: str, when: float, **data: Any) -> EntryView:
    return EntryView.model_validate({"seq": seq, "at": at(when), "kind": kind, "data": data})


def card(status: str = "open", when: float = 2.5) -> ApprovalView:
    return ApprovalView.model_validate({
        "id": 1, "task_id": 1, "number": 1, "requester": "Ann", "kind": "change", "status": status, "revision": 1,
        "items": [], "note": "", "created_at": at(when), "expires_at": at(999), "remind_at": None,
        "decided_by": None, "decided_at": None,
    })  # fmt: skip


def task(status: TaskStatus, text: str = "", *, cards: tuple[ApprovalView, ...] = ()) -> TaskView:
    ended = status in {"done", "failed", "cancelled", "expired"}
    return TaskView.model_validate({
        "task_id": 1, "session_id": 1, "status": status, "error_code": None, "error_text": None, "origin": "console",
        "requester": "Ann", "workspace": "office", "prompt": "Do it", "created_at": START,
        "finished_at": at(9) if ended else None, "files": [], "text": text, "artifacts": [], "approvals": list(cards),
        "cost_usd": None,
    })  # fmt: skip


CALLS = [
    {"id": "a", "name": "read_file", "arguments": '{"path": "a.md"}'},
    {"id": "b", "name": "own", "arguments": '{"x": 1, "q": "y"}'},
]
JOURNAL = [
    entry(1, "user", 0, text="Do it", files=[]),
    entry(2, "assistant", 1, text="I will read.", calls=CALLS),
    entry(3, "tool", 3.5, call_id="a", name="read_file", text="x" * 500, status="done", seconds=0.4),
]


def kinds(made: Turn) -> list[str]:
    return [type(part).__name__ for part in made.parts]


def test_a_line_for_each_call() -> None:
    """What, on which file, how it went, how long it took."""
    made = turn(task("running"), JOURNAL)
    assert kinds(made) == ["Said", "Steps"]
    steps = made.parts[1]
    assert isinstance(steps, Steps)
    read, own = steps.steps
    assert (read.label, read.target, read.state, read.seconds, len(read.result)) == ("Read", "a.md", "done", 0.4, 401)
    assert (own.label, own.target, own.state, own.seconds) == ("own", "y", "running", None)
    assert not made.busy
    assert made.seq == 3


def test_a_card_stands_behind_what_it_asks_for() -> None:
    """And what waits for it says so."""
    made = turn(task("waiting_approval", cards=(card(),)), JOURNAL)
    assert kinds(made) == ["Said", "Steps", "ApprovalView"]
    steps = made.parts[1]
    assert isinstance(steps, Steps)
    assert [step.state for step in steps.steps] == ["done", "waiting"]


def test_the_time_of_a_decision_is_not_the_tools() -> None:
    """Nor that of the other calls of its turn, whose results are stored together."""
    more = [
        entry(4, "decision", 100, verdict="approved"),
        entry(5, "tool", 100.5, call_id="b", text="ok", status="failed", seconds=0.2),
    ]
    steps = turn(task("running", cards=(card("approved"),)), [*JOURNAL, *more]).parts[1]
    assert isinstance(steps, Steps)
    assert (steps.steps[1].state, steps.steps[1].seconds) == ("failed", 0.2)


REFUSED = {"verdict": "refused", "tried": "approved", "by": "Bob", "reason": "Bob may not."}


def test_what_people_did_with_a_card_stands_behind_it() -> None:
    """Votes, edits, refused tries and the reminder, a line each, also of a card that a newer one replaced."""
    more = [
        entry(4, "status", 2.5, status="waiting_approval"),
        entry(5, "decision", 3, **REFUSED),
        entry(6, "decision", 4, verdict="edited", by="Ann", reason="", items=[1], before="{}", after="{}"),
        entry(7, "decision", 5, verdict="approved", by="Ann", reason="", vote=1, items=[1, 2]),
        entry(8, "status", 6, status="waiting_approval", text="Reminder: look\nat this"),
        entry(9, "decision", 7, verdict="approved", by="Cem", reason=""),
        entry(10, "decision", 9, verdict="changes", by="Cem", reason="shorter"),
    ]
    cards = (card("superseded"), card("open", 8))
    made = turn(task("waiting_approval", cards=cards), [*JOURNAL[:2], *more])
    assert kinds(made) == ["Said", "Steps", "ApprovalView", "Notes", "ApprovalView", "Notes"]
    assert made.parts[3] == Notes(
        lines=[
            "Bob tried to approve and was refused: Bob may not.",
            "Ann edited item 1",
            "Ann approved items 1, 2 (1 so far, which is not enough yet)",
            "Reminder: look",
        ]
    )
    assert made.parts[5] == Notes(lines=["Cem asked for changes: shorter"])


def test_a_late_try_is_told_behind_the_answer() -> None:
    """It does not hide that the answer was said already."""
    said = entry(4, "assistant", 5, text="All done.", calls=[])
    made = turn(
        task("done", "All done.", cards=(card("approved"),)), [*JOURNAL, said, entry(5, "decision", 6, **REFUSED)]
    )
    assert kinds(made) == ["Said", "Steps", "ApprovalView", "Said", "Notes"]


def test_the_answer_takes_the_place_of_the_last_words() -> None:
    """It is made of them, so it is not said twice, and stays where it was streamed."""
    said = entry(4, "assistant", 5, text="All done.", calls=[])
    made = turn(task("done", "All done.\n\n(Answered by another.)", cards=(card("approved"),)), [*JOURNAL, said])
    assert kinds(made) == ["Said", "Steps", "ApprovalView", "Said"]
    assert made.parts[3] == Said(text="All done.\n\n(Answered by another.)")
    streamed = turn(task("running", cards=(card("approved"),)), JOURNAL)
    assert len(streamed.parts) == 3, "what is streamed becomes part 3, too"
    assert (made.ended, made.seconds) == (True, 9)


def test_an_end_without_words_of_the_model() -> None:
    """The product's own sentence is the answer."""
    made = turn(task("cancelled", "Stopped, as asked."), JOURNAL)
    assert made.parts[-1] == Said(text="Stopped, as asked.")


def test_what_is_damaged_does_not_stop_the_rest() -> None:
    """A row that says nothing useful is passed over; arguments that are no JSON have no target."""
    rows = [
        entry(1, "status", 0, status="damaged"),
        entry(2, "tool", 1, call_id="unknown", text="?", status="done"),
        entry(3, "assistant", 1, text=None, calls=[{"id": "c", "name": "glob", "arguments": "{"}]),
    ]
    made = turn(task("running"), rows)
    steps = made.parts[0]
    assert isinstance(steps, Steps)
    assert steps.steps[0].target == ""
    assert turn(task("running"), []).busy


def test_bars_keep_what_is_small_in_sight() -> None:
    """The highest fills the room, a value of almost nothing is still seen, none is none."""
    chart = bars([("a", 1000.0, "a"), ("b", 0.5, "b"), ("c", 0.0, "c")])
    assert [bar.height > 0 for bar in chart.bars] == [True, True, False]
    assert chart.bars[0].height > 100 > chart.bars[1].height
    assert bars([]).bars == []
    many = bars([(str(day), 1.0, "") for day in range(90)])
    assert 0 < sum(bool(bar.label) for bar in many.bars) <= 8
    assert all(0 <= bar.x <= many.width - bar.width for bar in many.bars)


def test_figures() -> None:
    """As people say them; what is unknown is not nothing."""
    assert [size(count) for count in (0, 999, 1500, 2_500_000, 7_000_000_000)] == [
        "0 bytes", "999 bytes", "1.5 KB", "2.5 MB", "7.0 GB",
    ]  # fmt: skip
    assert [money(usd) for usd in (None, 0.0, 0.004, 12.5)] == ["unknown", "$0.00", "under $0.01", "$12.50"]
    assert [seconds(count) for count in (None, -1, 0.012, 2.25, 61.0, 600.0)] == [
        "",
        "",
        "12 ms",
        "2.2 s",
        "61 s",
        "10 min",
    ]
    assert first_line("a\n b", 90) == "a b"
    assert first_line("abcdef", 4) == "abc…"
