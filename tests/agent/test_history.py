"""Journal rows become messages that no provider refuses."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent import history
from agent.domain import Entry
from agent.history import Ended
from agent.ports.models import ChatMessage
from tests.agent.journal import MODEL, past, result, says, state, task, user
from tests.agent.legal import refusal


def sent(*entries: Entry, model: str = MODEL) -> list[ChatMessage]:
    """The messages of one task, checked."""
    messages = history.messages(state(*entries), [], model)
    assert refusal(messages) is None
    return messages


def short(messages: list[ChatMessage]) -> list[str]:
    """Roles, with the ids of calls and results."""
    return [
        " ".join([m["role"], *(c["id"] for c in m.get("tool_calls", ())), m.get("tool_call_id", "")]).strip()
        for m in messages
    ]


def test_a_turn_with_two_calls_is_followed_by_both_results_in_call_order() -> None:
    """Results may have come in any order; they are sent in the order of the calls."""
    messages = sent(
        user(), says("", ("a", "glob", "{}"), ("b", "grep", '{"x": 1}')), result("b", "B"), result("a", "A")
    )
    assert short(messages) == ["user", "assistant a b", "tool a", "tool b"]
    assert [message["content"] for message in messages[2:]] == ["A", "B"]
    assert messages[1]["content"] is None


@pytest.mark.parametrize(
    ("entries", "expected"),
    [
        pytest.param([result("c1")], ["user"], id="B2: a result whose call is gone is dropped"),
        pytest.param(
            [says("", ("c1", "t", "{}")), result("c1", "1"), result("c1", "2")],
            ["user", "assistant c1", "tool c1"],
            id="B3: of two results one is kept",
        ),
        pytest.param(
            [says("", reasoning="hm"), says("   "), says("", ("c1", "t", "{}")), result("c1")],
            ["user", "assistant c1", "tool c1"],
            id="B9: a turn without text and calls is left out",
        ),
        pytest.param(
            [says("", ("c1", "t", "{}")), user("M2"), result("c1")],
            ["user", "assistant c1", "tool c1", "user"],
            id="B14: a message that came while the tool ran stands behind the result",
        ),
        pytest.param(
            [Entry(kind="status", data={"status": "damaged"}), says("", ("c1", "t", "{}")), result("c1")],
            ["user", "assistant c1", "tool c1"],
            id="B17: a damaged row does not take the others along",
        ),
        pytest.param(
            [says("", ("c1", "t", "{}")), result("c1"), says("", ("c1", "t", "{}")), result("c1")],
            ["user", "assistant c1", "tool c1", "assistant c1_2", "tool c1_2"],
            id="an id that comes again gets a number, in the call and in its result",
        ),
        pytest.param(
            [says("", ("c1", "t", "{}"), ("c1", "t", "{}")), result("c1")],
            ["user", "assistant c1 c1_2", "tool c1", "tool c1_2"],
            id="an id that stands twice in one turn too",
        ),
        pytest.param(
            [says("", ("", "t", "{}"), ("c2", "", "{}"), ("c3", "t", "{}")), result("c3")],
            ["user", "assistant c3", "tool c3"],
            id="a call without id or name is left out",
        ),
    ],
)
def test_order_is_always_legal(entries: list[Entry], expected: list[str]) -> None:
    """B2, B3, B9, B14, B17: whatever the rows hold, what is sent is in a legal order."""
    assert short(sent(user(), *entries)) == expected


def test_a_missing_result_is_filled_by_an_error() -> None:
    """A call without a stored result is answered by one that says so."""
    messages = sent(user(), says("", ("c1", "t", "{}"), ("c2", "t", "{}")), result("c2", "fine"))
    assert [message["content"] for message in messages[2:]] == ["Not run: no result of this call was stored.", "fine"]


@pytest.mark.parametrize("bad", ['{"a":', "[1]", '"text"', "{'a': 1}", '{"a": NaN}', "[" * 100_000, 7, None])
def test_bad_stored_arguments_are_replayed_as_an_empty_object(bad: Any) -> None:
    """B18: argument text that is no JSON object becomes {} and a note; nothing raises."""
    messages = sent(user(), says("", ("c1", "t", bad)), result("c1", "broken"))
    assert messages[1]["tool_calls"][0]["function"]["arguments"] == "{}"
    assert messages[2]["content"].startswith("[The arguments of this call")
    assert messages[2]["content"].endswith("broken")


def test_good_arguments_are_replayed_byte_for_byte() -> None:
    """Spacing and order of stored arguments stay; no arguments at all are an empty object without a note."""
    messages = sent(user(), says("", ("c1", "t", '{"b":1,  "a":"é"}'), ("c2", "t", "")), result("c1"), result("c2"))
    assert [call["function"]["arguments"] for call in messages[1]["tool_calls"]] == ['{"b":1,  "a":"é"}', "{}"]
    assert messages[3]["content"] == "fine"


def test_reasoning_goes_back_to_its_own_model_with_call_turns() -> None:
    """B12, B13: a tool turn carries its reasoning to the same provider and model, and to nobody else."""
    entries = [
        user(), says("", ("c1", "t", "{}"), reasoning="R"), result("c1"), says("Done", reasoning="R2"), user("more"),
    ]  # fmt: skip
    same = sent(*entries)
    assert same[1]["reasoning_content"] == "R"
    assert "reasoning_content" not in same[3]
    other = history.messages(state(*entries), [], "groq/deepseek-chat")
    assert refusal(other, reasoning=False) is None
    assert [message["content"] for message in other] == [message["content"] for message in same]


def test_a_made_up_tool_name_is_sent_in_the_allowed_alphabet() -> None:
    """A21: a stored call of `search files!` does not make the next request illegal."""
    messages = sent(user(), says("", ("c1", "search files!", "{}")), result("c1", "no such tool"))
    assert messages[1]["tool_calls"][0]["function"]["name"] == "search_files_"


def test_lone_surrogates_do_not_reach_a_provider() -> None:
    """A20: text with half a character is sent with U+FFFD, wherever it stands."""
    bad = "ok\ud83d"
    messages = sent(user(), says(bad, (bad, "t", json.dumps({"a": 1}))), result(bad, bad), user(bad))
    assert "�" in messages[1]["content"]


def test_a_request_is_numbered_with_sender_origin_time_and_files() -> None:
    """The header comes from the task's row alone, so a resumed task reads the same."""
    of = task(3, "Sum it up", files=("inbox/a.csv", "inbox/b c.csv"), requester="hook\n:demo", origin="webhook")
    (message,) = history.messages(state(user("Sum it up"), of=of), [], MODEL)
    assert message["content"] == (
        "[Request 3 from hook :demo by webhook, 2026-03-02 09:03 UTC]\nSum it up\n\n"
        "Files sent along:\n- inbox/a.csv\n- inbox/b c.csv"
    )
    assert history.messages(state(of=of), [], MODEL) == [message], "the same before the first row is written"


def test_a_request_says_which_of_its_files_are_missing() -> None:
    """Behind those that are there, from its own row; what came later in the task says nothing of them."""
    missing = [{"name": "b.txt", "reason": "It was deleted."}]
    first = Entry(kind="user", data={"text": "Sum it up", "files": ["inbox/a.csv"], "missing": missing})
    of = task(3, "Sum it up", files=("inbox/a.csv",))
    request, later = history.messages(state(first, user("And?"), of=of), [], MODEL)
    assert request["content"].endswith(
        "Files sent along:\n- inbox/a.csv\n\nSent along, but it could not be fetched:\n- b.txt: It was deleted."
    )
    assert "b.txt" not in later["content"]


def test_a_stopped_task_ends_with_what_its_requester_was_told() -> None:
    """The next user message never stands right behind a tool result of another task."""
    stopped = past(
        user(), says("", ("c1", "t", "{}")), result("c1"), of=task(1, status="cancelled", answer="Stopped, as asked.")
    )
    messages = history.messages(state(user(), of=task(2)), [stopped], MODEL)
    assert refusal(messages) is None
    assert short(messages) == ["user", "assistant c1", "tool c1", "assistant", "user"]
    assert messages[3]["content"] == "Stopped, as asked."


def test_an_older_task_enters_as_request_answer_and_files() -> None:
    """Without entries a task is its request and its answer, both shortened, and the paths it made."""
    older = past(of=task(1, "x" * 3_000, status="done", answer="y" * 3_000), artifacts=("reports/a.md",))
    messages = history.messages(state(user(), of=task(2)), [older], MODEL)
    assert short(messages) == ["user", "assistant", "user"]
    assert messages[0]["content"].endswith("x [… 1000 more characters]")
    assert messages[1]["content"].endswith("y [… 1000 more characters]\n\nFiles made:\n- reports/a.md")


def test_a_task_that_ended_without_an_answer_says_how() -> None:
    """An assistant message is never empty."""
    messages = history.messages(state(user(), of=task(2)), [past(of=task(1, status="expired", answer=""))], MODEL)
    assert messages[1]["content"] == "(Ended without an answer: expired.)"


IDS = st.sampled_from(["c1", "c2", "c3", ""])
TEXTS = st.sampled_from(["", " ", "text", "\ud800"])
CALLS = st.tuples(IDS, st.sampled_from(["t", "", "ü x"]), st.sampled_from(["{}", "", "[]", '{"a":', '{"a":1}']))
ENTRIES = st.one_of(
    st.builds(user, TEXTS),
    st.builds(lambda text, calls: says(text, *calls, reasoning="R"), TEXTS, st.lists(CALLS, max_size=3)),
    st.builds(result, IDS, TEXTS),
    st.sampled_from(
        [
            Entry(kind="status", data={"status": "damaged"}),
            Entry(kind="assistant", data={}),
            Entry(kind="assistant", data={"text": 3, "calls": [None, 7, {"id": 1}], "model": None}),
            Entry(kind="assistant", data={"calls": {"id": "c1"}}),
            Entry(kind="tool", data={"call_id": ["c1"], "text": None}),
            Entry(kind="user", data={"text": None}),
            Entry(kind="user", data={"text": "", "missing": [{"name": "a.txt", "reason": "It is gone."}, None, {}]}),
            Entry(kind="user", data={"text": "", "missing": 7}),
        ]
    ),
)


@given(st.lists(st.lists(ENTRIES, max_size=8), min_size=1, max_size=4))
def test_any_rows_make_a_legal_request(journals: list[list[Entry]]) -> None:
    """B2, B3, B9, B14, B17, B18: no rows at all, in any order and any damage, make a request that is refused."""
    *ended, current = journals
    earlier = [past(*rows, of=task(seq, status="failed", answer="No.")) for seq, rows in enumerate(ended, 1)]
    closing = [user("and now?")] if current else []
    messages = history.messages(state(user(), *current, *closing, of=task(9)), earlier, MODEL)
    assert refusal(messages) is None


@given(st.lists(st.lists(ENTRIES, max_size=6), max_size=4), st.lists(ENTRIES, max_size=6))
def test_an_ended_task_keeps_its_bytes(journals: list[list[Entry]], current: list[Entry]) -> None:
    """The next request begins with the messages of the last one, so that a prefix cache keeps hitting."""
    earlier = [past(user(), *rows, of=task(seq, answer="No.")) for seq, rows in enumerate(journals, 1)]
    running = state(user(), *current, of=task(8))
    before = history.messages(running, earlier, MODEL)
    ended = past(*running.entries, of=replace(running.task, status="done", answer="Done."))
    after = history.messages(state(user(), of=task(9)), [*earlier, ended], MODEL)
    assert after[: len(before)] == before


@given(
    st.lists(st.lists(ENTRIES, max_size=6), max_size=5), st.lists(st.sampled_from([MODEL, "groq/other"]), max_size=4)
)
def test_kept_messages_are_those_made_anew(journals: list[list[Entry]], models: list[str]) -> None:
    """Whichever models are asked one after the other, and however call ids collide, not a byte differs."""
    journal = [user(), *(entry for rows in journals for entry in rows)]
    kept = [past(user(), *rows, of=task(seq, answer="No.")) for seq, rows in enumerate(journals, 1)]
    for model in models:
        for first in range(len(kept) + 1):
            anew = [Ended(one.past) for one in kept[first:]]
            current = state(*journal, of=task(9))
            assert history.messages(current, kept[first:], model) == history.messages(current, anew, model)
            assert history.next_window(current, kept[first:], 400) == history.next_window(current, anew, 400)
