"""A task's tool calls in words: what is done to what, and how far it is. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from agent.domain import Entry, TaskStatus
from agent.ports.channels import StepLine, StepState
from agent.previews import visible

TARGET_SHOWN = 120
"""Characters of what a call is about."""

TOOLS = {
    "list_files": ("List files", "Listing files", "Listed files", "path"),
    "read_file": ("Read", "Reading", "Read", "path"),
    "glob": ("Find files", "Finding files", "Found files", "pattern"),
    "grep": ("Search for", "Searching for", "Searched for", "pattern"),
    "write_file": ("Write", "Writing", "Wrote", "path"),
    "edit_file": ("Edit", "Editing", "Edited", "path"),
    "analyze_table": ("Measure", "Measuring", "Measured", "path"),
    "write_sheet": ("Write sheet", "Writing sheet", "Wrote sheet", "path"),
    "memory_write": ("Remember", "Remembering", "Remembered", "path"),
    "expand_skill": ("Look up skill", "Looking up skill", "Looked up skill", "name"),
}
"""How a call is told: what is to be done, is being done, was done; and the argument that says to what."""


def steps(entries: Sequence[Entry], status: TaskStatus) -> tuple[StepLine, ...]:
    """Every call of a task's journal in the order in which the model made them; a row in another form than ours is
    passed over, because an answer must go out all the same."""
    rows = [entry.data for entry in entries if entry.kind == "tool"]
    results = {row["call_id"]: row for row in rows if isinstance(row.get("call_id"), str)}
    turns = [entry.data.get("calls") for entry in entries if entry.kind == "assistant"]
    made = [call for calls in turns if isinstance(calls, list) for call in calls]
    calls = [call for call in made if isinstance(call, dict) and isinstance(call.get("id"), str)]
    return tuple(_line(call, results.get(call["id"]), status) for call in calls)


def label(tool: str, state: StepState) -> str:
    """A call in words, as far as it is."""
    todo, doing, did, _ = TOOLS.get(tool, (tool, tool, tool, ""))
    return {"running": doing, "done": did}.get(state, todo)


def target(tool: str, arguments: str) -> str:
    """What a call is about, on one line with everything hidden made visible: the argument that is known to say so, else
    the first that is a text."""
    try:
        values = json.loads(arguments or "{}")
    except (ValueError, RecursionError):  # as a model wrote it
        return ""
    if not isinstance(values, dict):
        return ""
    named = values.get(TOOLS[tool][3]) if tool in TOOLS else None
    texts = [value for value in values.values() if isinstance(value, str)]
    found = named if isinstance(named, str) else (texts[0] if texts and tool not in TOOLS else "")
    line = " ".join(found.split())
    return visible(line if len(line) <= TARGET_SHOWN else f"{line[: TARGET_SHOWN - 1].rstrip()}…")


def state_of(result: str) -> StepState:
    """How a call ended, by its result's status."""
    if result == "done":
        return "done"
    return "denied" if result in {"denied", "expired", "cancelled", "superseded"} else "failed"


def _line(call: Mapping[str, Any], result: Mapping[str, Any] | None, status: TaskStatus) -> StepLine:
    tool = str(call.get("name"))
    state: StepState = "waiting" if status == "waiting_approval" else "running"
    if result is not None:
        state = state_of(str(result.get("status")))
    return StepLine(
        call_id=call["id"],
        label=label(tool, state),
        target=target(tool, str(call.get("arguments") or "")),
        state=state,
        seconds=result.get("seconds") if result else None,
    )
