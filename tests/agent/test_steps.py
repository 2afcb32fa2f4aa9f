"""Tool calls in words."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.domain import CallStatus, Entry, TaskStatus
from agent.ports.channels import StepLine, StepState
from agent.skills import SkillSource
from agent.steps import TARGET_SHOWN, TOOLS, label, steps, target
from tests.agent.test_history import ENTRIES
from tools.processes import ProcessPool
from tools.registry import build_tool_registry


def turn(*calls: tuple[str, str, Any]) -> Entry:
    """A turn of the model: (id, tool, arguments as object or raw text)."""
    made = [
        {"id": call_id, "name": tool, "arguments": given if isinstance(given, str) else json.dumps(given)}
        for call_id, tool, given in calls
    ]
    return Entry(kind="assistant", data={"text": "", "calls": made})


def result(call_id: str, status: CallStatus = "done", **more: Any) -> Entry:
    data = {"call_id": call_id, "name": "x", "text": "", "status": status, "net": True}
    return Entry(kind="tool", data=data | more)


def test_calls_are_told_in_the_order_of_the_model() -> None:
    """Over all turns, each as far as it is; what is no call is passed over."""
    entries = [
        Entry(kind="user", data={"text": "Go", "files": []}),
        turn(("a", "read_file", {"path": "notes.md"}), ("b", "glob", {"pattern": "*.csv"})),
        result("b"),
        result("a", "failed", seconds=1.25),
        turn(("c", "write_file", {"path": "out.md", "content": "x"})),
        Entry(kind="status", data={"status": "running"}),
    ]
    assert steps(entries, "running") == (
        StepLine(call_id="a", label="Read", target="notes.md", state="failed", seconds=1.25),
        StepLine(call_id="b", label="Found files", target="*.csv", state="done"),
        StepLine(call_id="c", label="Writing", target="out.md", state="running"),
    )


@given(st.lists(ENTRIES, max_size=8))
def test_rows_in_any_damage_are_passed_over(entries: list[Entry]) -> None:
    """They would keep an answer from going out."""
    assert all(isinstance(line.call_id, str) for line in steps(entries, "done"))


@pytest.mark.parametrize(
    ("status", "task", "expected"),
    [
        (None, "running", "running"),
        (None, "queued", "running"),
        (None, "waiting_approval", "waiting"),
        ("done", "waiting_approval", "done"),
        ("denied", "running", "denied"),
        ("expired", "expired", "denied"),
        ("cancelled", "cancelled", "denied"),
        ("superseded", "running", "denied"),
        ("failed", "running", "failed"),
        ("unknown", "failed", "failed"),
    ],
)
def test_a_call_is_as_far_as_its_result_says(status: CallStatus | None, task: TaskStatus, expected: StepState) -> None:
    """Without a result it waits as its task does."""
    entries = [turn(("a", "read_file", {"path": "a"})), *([result("a", status)] if status else [])]
    [line] = steps(entries, task)
    assert line.state == expected


@pytest.mark.parametrize(
    ("tool", "arguments", "expected"),
    [
        pytest.param("read_file", '{"path": "a.md"}', "a.md", id="the named argument"),
        pytest.param("grep", '{"path": "src", "pattern": "x"}', "x", id="not the first"),
        pytest.param("read_file", '{"paths": "a.md"}', "", id="a known tool without it"),
        pytest.param("send_mail", '{"count": 2, "to": "ann@example.com"}', "ann@example.com", id="the first text"),
        pytest.param("send_mail", '{"count": 2}', "", id="no text"),
        pytest.param("read_file", '{"path": 7}', "", id="no text where one belongs"),
        pytest.param("read_file", "", "", id="nothing"),
        pytest.param("read_file", '{"path": "a.t', "", id="cut"),
        pytest.param("read_file", '["a.md"]', "", id="no object"),
        pytest.param("read_file", "[" * 100_000, "", id="nested without end"),
        pytest.param("read_file", '{"path": " a\\n\\n b "}', "a b", id="on one line"),
        pytest.param("read_file", '{"path": "a\\u202etxt.exe"}', "a\\u202etxt.exe", id="nothing hidden"),
    ],
)
def test_what_a_call_is_about(tool: str, arguments: str, expected: str) -> None:
    """Whatever a model wrote."""
    assert target(tool, arguments) == expected


@given(st.text(max_size=400))
def test_a_target_is_one_short_line(text: str) -> None:
    """For any text; escapes of what is hidden may make it longer."""
    shown = target("read_file", json.dumps({"path": text}))
    assert "\n" not in shown
    if text.isascii() and text.isprintable():
        assert len(shown) <= TARGET_SHOWN


def test_a_tool_that_nobody_put_into_words_is_named() -> None:
    """As it is called, in every state."""
    assert {label("send_mail", state) for state in ("running", "done", "waiting")} == {"send_mail"}


def test_every_tool_there_is_has_words() -> None:
    """And what it is about is one of its parameters."""
    registry = build_tool_registry(ProcessPool(), SkillSource([]))
    assert {name: TOOLS[name][3] in tool.parameters.model_fields for name, tool in registry.items()} == dict.fromkeys(
        registry, True
    )
