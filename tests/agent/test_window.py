"""Earlier conversation stays within its budget, and its beginning rarely changes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent import history
from agent.domain import Entry, Session
from agent.history import Ended
from agent.ports.models import ChatMessage
from agent.ports.store import TaskState
from tests.agent.journal import MODEL, SESSION, past, result, says, state, task, user
from tests.agent.legal import refusal


@dataclass
class Conversation:
    """A session that grows task by task, stored and read again as a store does it."""

    context_tokens: int = 4_000
    session: Session = SESSION
    ended: list[Ended] = field(default_factory=list)
    windows: list[tuple[int, int]] = field(default_factory=list)

    def earlier(self) -> list[Ended]:
        session = self.session
        return [
            one if one.past.task.seq >= session.whole_from else Ended(replace(one.past, entries=()))
            for one in self.ended
            if one.past.task.seq >= session.summary_from
        ]

    def run(self, prompt: str, entries: Sequence[Entry], answer: str) -> list[ChatMessage]:
        """Run a task to its end; the messages of its last request."""
        current = self.next_state(prompt, entries)
        sent = history.messages(current, self.earlier(), MODEL)
        done = replace(current, entries=(*current.entries, says(answer)))
        window = history.next_window(done, self.earlier(), self.context_tokens)
        self.ended.append(past(*done.entries, of=replace(done.task, status="done", answer=answer)))
        if window:
            self.windows.append(window)
            self.session = replace(self.session, whole_from=window[0], summary_from=window[1])
        return sent

    def next_state(self, prompt: str = "x", entries: Sequence[Entry] = ()) -> TaskState:
        of = task(len(self.ended) + 1, prompt)
        return state(user(prompt), *entries, of=of, session=self.session)

    def before_request(self) -> list[ChatMessage]:
        """What the next request has before its own messages."""
        return history.messages(self.next_state(), self.earlier(), MODEL)[:-1]


def size(messages: Iterable[ChatMessage]) -> int:
    return sum(len(orjson.dumps(message)) for message in messages)


def steps(count: int, each: int) -> Iterator[Entry]:
    for number in range(count):
        yield says("", (f"c{number}", "grep", "{}"))
        yield result(f"c{number}", "r" * each)


def test_nothing_moves_while_everything_fits() -> None:
    """Small tasks stay whole and no window is written."""
    talk = Conversation()
    for _ in range(5):
        talk.run("p", [*steps(1, 10)], "a")
    assert talk.windows == []
    assert len(talk.before_request()) == 5 * 4


def test_the_newest_stay_whole_and_older_ones_become_summaries() -> None:
    """Over the budget of 1,000 tokens (3,000 bytes) the window moves so that half of it is used."""
    talk = Conversation()
    for _ in range(8):
        talk.run("p", [*steps(1, 200)], "a")
    ((whole_from, summary_from),) = talk.windows
    assert 1 <= summary_from < whole_from <= 7
    assert size(talk.before_request()) <= 3_000


def test_one_task_over_the_whole_budget_enters_as_its_summary() -> None:
    """However new it is: what was asked and answered is kept, the 100 kB of results are not."""
    talk = Conversation()
    talk.run("the question", [*steps(10, 10_000)], "the answer")
    request, answer = talk.before_request()
    assert "the question" in request["content"]
    assert answer["content"] == "the answer"


def test_a_task_too_large_for_a_tiny_context_is_left_out() -> None:
    """A context of 400 tokens leaves 300 bytes for earlier conversation; nothing that exceeds them enters."""
    talk = Conversation(context_tokens=400)
    talk.run("p" * 2_000, [], "a")
    assert talk.before_request() == []
    assert talk.windows == [(2, 2)]


def test_the_ceiling_holds_for_large_contexts() -> None:
    """A model with a million tokens still gets at most 32,000 of earlier conversation."""
    talk = Conversation(context_tokens=1_000_000)
    talk.run("p", [*steps(1, 60_000)], "a")
    talk.run("p", [*steps(1, 60_000)], "a")
    assert size(talk.before_request()) <= 96_000
    assert talk.windows == [(3, 1)]


@pytest.mark.parametrize(("input_tokens", "moves"), [(None, False), (0, False), (2_500, False), (9_000, True)])
def test_the_estimate_follows_what_the_provider_counted(input_tokens: int | None, moves: bool) -> None:
    """2,100 bytes are 700 tokens, within a budget of 1,000; a provider that counts twice as many moves the window."""
    usage = {"usage": {"input_tokens": input_tokens}} if input_tokens is not None else {}
    current = state(user(), says("", ("c1", "t", "{}")), result("c1", "r" * 1_700), says("Done", **usage))
    assert (history.next_window(current, [], 4_000) is not None) is moves


def test_conversation_dropped_for_a_long_context_stays_dropped() -> None:
    """After ContextTooLong a task goes on without its past; the window then begins with that task."""
    session = replace(SESSION, whole_from=2, summary_from=1)
    current = state(user(), says("Done"), of=task(5), session=session)
    assert history.next_window(current, [], 4_000) == (5, 5)


def test_a_summary_is_never_read_whole_again() -> None:
    """When large tasks made room, older summaries stay summaries: their entries were not read."""
    talk = Conversation()
    for each in (200, 200, 200, 200, 200, 2_000, 10, 10):
        talk.run("p", [*steps(1, each)], "a")
    whole = [window[0] for window in talk.windows]
    assert whole == sorted(whole)


TASKS = st.tuples(st.integers(1, 400), st.lists(st.integers(0, 900), max_size=4), st.integers(1, 900))


@given(st.lists(TASKS, min_size=10, max_size=60), st.sampled_from([4_000, 8_000, 20_000]))
def test_a_growing_conversation(tasks: list[tuple[int, list[int], int]], context_tokens: int) -> None:
    """Within its budget, always legal, the same beginning but for rare jumps: one for each half budget of new text."""
    talk = Conversation(context_tokens=context_tokens)
    budget = context_tokens // 4 * 3
    last: list[ChatMessage] = []
    brought = jumps = 0
    for prompt, results, answer in tasks:
        earlier = talk.before_request()
        assert size(earlier) <= budget
        moved = len(talk.windows) > jumps
        jumps = len(talk.windows)
        sent = talk.run("p" * prompt, [entry for each in results for entry in steps(1, each)], "a" * answer)
        assert refusal(sent) is None
        assert moved or sent[: len(last)] == last
        brought += size(sent[len(earlier) :]) + size([{"role": "assistant", "content": "a" * answer}])
        last = sent
    assert len(talk.windows) <= 1 + 2 * brought / budget
