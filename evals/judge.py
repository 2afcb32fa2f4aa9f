"""What a case's end is measured by: pure comparisons, each miss in one sentence."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from openpyxl import load_workbook

from agent import cards
from agent.domain import CLOSED_CALLS, OPERATOR, TERMINAL, Approval, Call, Task
from agent.ports.store import TaskState
from evals.case import Expect, ExpectedCall, ExpectedCard, ExpectedFile, Words
from evals.world import Snapshot

SHOWN = 300
"""Characters of a text that a miss quotes."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Observed:
    """The end of a case: every task with its rows, oldest first, the cards as people first saw them, the world."""

    tasks: Sequence[TaskState]
    shown: Mapping[int, Approval]
    before: Snapshot
    after: Snapshot


def misses(expect: Expect, observed: Observed, *, real: bool) -> list[str]:
    """What does not hold. A real model chooses its own calls, so only what came of them is judged."""
    found = [*_ends(expect, observed.tasks), *_answer(expect, observed.tasks)]
    found += [*_files(expect, observed), *_artifacts(expect, observed.tasks), *_loose_ends(observed.tasks)]
    if not real:
        found += [*_calls(expect.calls, observed.tasks), *_cards(expect.cards, observed)]
    return found


def _ends(expect: Expect, tasks: Sequence[TaskState]) -> Iterator[str]:
    ends = tuple(state.task.status for state in tasks)
    code, reason = (tasks[-1].task.error_code, tasks[-1].task.error_text) if tasks else (None, None)
    if ends != expect.tasks:
        yield f"the tasks ended {', '.join(ends)} instead of {', '.join(expect.tasks)}{_because(reason)}"
    if code != expect.error_code:
        yield f"the error code is {code} instead of {expect.error_code}{_because(reason)}"


def _because(reason: str | None) -> str:
    return f" ({_quoted(reason)})" if reason else ""


def _answer(expect: Expect, tasks: Sequence[TaskState]) -> Iterator[str]:
    answer = (tasks[-1].task.answer or "") if tasks else ""
    yield from _words("the answer", answer, expect.answer, expect.answer_lacks)


def _words(what: str, text: str, wanted: Words, unwanted: Words) -> Iterator[str]:
    yield from (f"{what} lacks {word!r}: {_quoted(text)}" for word in wanted if word not in text)
    yield from (f"{what} has {word!r}: {_quoted(text)}" for word in unwanted if word in text)


# --- calls and cards ---


def _calls(wanted: Sequence[ExpectedCall], tasks: Sequence[TaskState]) -> Iterator[str]:
    calls = [(call, state) for state in tasks for call in sorted(state.calls, key=lambda c: (c.turn, c.position))]
    seen = [f"{call.tool} {call.status}" for call, _ in calls]
    if [call.tool for call, _ in calls] != [call.tool for call in wanted]:
        named = ", ".join(f"{call.tool} {call.status}" for call in wanted)
        yield f"the calls were [{', '.join(seen)}] instead of [{named}]"
        return
    for number, (expected, (call, state)) in enumerate(zip(wanted, calls, strict=True), start=1):
        yield from _call(f"call {number} ({call.tool})", expected, call, _result(state, call))


def _call(name: str, expected: ExpectedCall, call: Call, result: str) -> Iterator[str]:
    if call.status != expected.status:
        yield f"{name} is {call.status} instead of {expected.status}: {_quoted(result)}"
    if expected.arguments is not None and (arguments := _object(call.arguments)) != expected.arguments:
        yield f"{name} has the arguments {arguments} instead of {expected.arguments}"
    yield from _words(f"the result of {name}", result, expected.result, expected.result_lacks)


def _object(arguments: str) -> Any:
    try:
        return json.loads(arguments)
    except json.JSONDecodeError:
        return arguments


def _result(state: TaskState, call: Call) -> str:
    """What the model read about a call."""
    entries = (entry.data for entry in state.entries if entry.kind == "tool")
    return next((str(data["text"]) for data in entries if data["call_id"] == call.call_id), "")


def _cards(wanted: Sequence[ExpectedCard], observed: Observed) -> Iterator[str]:
    made = [(card, state.task) for state in observed.tasks for card in state.approvals]
    made.sort(key=lambda pair: pair[0].approval_id)
    if len(made) != len(wanted):
        yield f"there were {len(made)} cards instead of {len(wanted)}: {[card.status for card, _ in made]}"
        return
    for number, (expected, (card, task)) in enumerate(zip(wanted, made, strict=True), start=1):
        if card.status != expected.status:
            yield f"card {number} is {card.status} instead of {expected.status}"
        yield from _card(f"card {number}", expected, observed.shown.get(card.approval_id, card), task)


def _card(name: str, expected: ExpectedCard, shown: Approval, task: Task) -> Iterator[str]:
    if len(shown.items) != expected.items:
        yield f"{name} has {len(shown.items)} items instead of {expected.items}"
    drawn = cards.card(shown, task, {OPERATOR.name: OPERATOR})
    yield from _words(name, cards.text(shown, drawn, "terminal"), expected.shows, expected.hides)


# --- files ---


def _files(expect: Expect, observed: Observed) -> Iterator[str]:
    for path, wanted in expect.files.items():
        yield from _file(path, wanted, observed.after.get(path))
    allowed = set(expect.files) | {f"{parent}/" for path in expect.files for parent in PurePosixPath(path).parents}
    for path in sorted({*observed.before, *observed.after} - allowed):
        before, after = observed.before.get(path), observed.after.get(path)
        if before != after:
            how = "appeared" if before is None else "disappeared" if after is None else "changed"
            yield f"{path} {how}, which the case does not allow"


def _file(path: str, wanted: str | ExpectedFile | None, content: bytes | None) -> Iterator[str]:
    if content is None or wanted is None:
        if (content is None) != (wanted is None):
            yield f"{path} is missing" if content is None else f"{path} is there and must not be"
        return
    expected = ExpectedFile(exactly=wanted) if isinstance(wanted, str) else wanted
    if expected.cells:
        yield from _cells(path, expected.cells, content)
        return
    text = content.decode(expected.encoding, "replace")
    if expected.exactly is not None and text != expected.exactly:
        yield f"{path} holds {_quoted(text)} instead of {_quoted(expected.exactly)}"
    yield from _words(path, text, expected.contains, expected.lacks)


def _cells(path: str, wanted: dict[str, Any], content: bytes) -> Iterator[str]:
    book = load_workbook(io.BytesIO(content))
    for name, value in wanted.items():
        sheet, _, reference = name.rpartition("!")
        if sheet not in book.sheetnames:
            yield f"{path} has the sheets {book.sheetnames}, so there is no {name}"
            continue
        cell = book[sheet][reference]
        found = {"formula": cell.value} if cell.data_type == "f" else cell.value
        if found != value:
            yield f"{path}, {name} is {found!r} instead of {value!r}"


def _artifacts(expect: Expect, tasks: Sequence[TaskState]) -> Iterator[str]:
    made = sorted({artifact.path for state in tasks for artifact in state.artifacts})
    if made != sorted(expect.artifacts):
        yield f"the artifacts are {made} instead of {sorted(expect.artifacts)}"


# --- what holds in every case ---


def _loose_ends(tasks: Sequence[TaskState]) -> Iterator[str]:
    """An ended task has no live card, and a result for every call: else a provider refuses the next request."""
    for state in tasks:
        if state.task.status not in TERMINAL:
            continue
        answered = [entry.data["call_id"] for entry in state.entries if entry.kind == "tool"]
        for call in state.calls:
            if call.status not in CLOSED_CALLS or answered.count(call.call_id) != 1:
                count = answered.count(call.call_id)
                yield f"the ended task left a call of {call.tool} {call.status} with {count} results"
        if any(card.status == "open" for card in state.approvals):
            yield "the ended task left an open card"


def _quoted(text: str) -> str:
    return repr(text if len(text) <= SHOWN else f"{text[:SHOWN]}…")
