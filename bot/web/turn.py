"""A task as a chat shows it: what the model said, a line for each tool call, the cards. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from agent.domain import TERMINAL
from agent.ports.channels import StepState
from agent.steps import label, state_of, target
from agent.texts import RESULT_SHOWN
from bot.api.approvals import ApprovalView
from bot.api.decisions import notable, told
from bot.api.tasks import EntryView, TaskView
from bot.web.figures import first_line

LINE = 120
"""Characters of what is told in one line."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Step:
    """A tool call on its line. `seconds` is how long its tool ran; `result` is the start of what it gave."""

    tool: str
    target: str
    state: StepState
    seconds: float | None = None
    result: str = ""

    @property
    def label(self) -> str:
        """The call in words, as far as it is."""
        return label(self.tool, self.state)


@dataclass(frozen=True, kw_only=True, slots=True)
class Said:
    """What the model wrote."""

    text: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Steps:
    """The calls of one turn of the model."""

    steps: Sequence[Step]


@dataclass(frozen=True, kw_only=True, slots=True)
class Notes:
    """What people did with a card beside deciding it, and what reminded of it; a line each."""

    lines: Sequence[str]


Part = Said | Steps | ApprovalView | Notes


@dataclass(frozen=True, kw_only=True, slots=True)
class Turn:
    """A task in the order in which it happened; what the model writes right now will be the part after the last."""

    task: TaskView
    parts: Sequence[Part]
    seq: int

    @property
    def ended(self) -> bool:
        """Whether nothing follows any more."""
        return self.task.status in TERMINAL

    @property
    def busy(self) -> bool:
        """Whether the model is at work on something that has no line yet."""
        last = self.parts[-1] if self.parts else None
        return self.task.status == "running" and not (isinstance(last, Steps) and _runs(last))

    @property
    def seconds(self) -> float | None:
        """From the request to the end."""
        end = self.task.finished_at
        return (end - self.task.created_at).total_seconds() if end else None


def turn(task: TaskView, journal: Sequence[EntryView]) -> Turn:
    """Lay out a task and its journal."""
    layout = _Layout()
    for entry in journal:
        layout.add(entry)
    parts = layout.finished(task)
    return Turn(task=task, parts=parts, seq=journal[-1].seq if journal else 0)


@dataclass
class _Layout:
    """Parts as they grow; `at` tells when each was stored, which is where a card belongs among them."""

    parts: list[Part] = field(default_factory=list)
    at: list[datetime | None] = field(default_factory=list)
    steps: dict[str, tuple[int, int]] = field(default_factory=dict)

    def add(self, entry: EntryView) -> None:
        if entry.kind == "assistant":
            self._said(entry)
        elif entry.kind == "tool":
            self._result(entry)
        elif entry.kind == "decision":
            self._decision(entry)
        elif entry.kind == "status" and entry.data.get("status") == "waiting_approval" and entry.data.get("text"):
            reminder = str(entry.data["text"]).partition("\n")[0]
            self._append(Notes(lines=[first_line(reminder, LINE)]), entry.at)

    def finished(self, task: TaskView) -> list[Part]:
        """The parts with the task's answer and cards in their places."""
        if task.text:
            self._answer(task.text, task.finished_at)
        if task.status == "waiting_approval":
            self.parts = [_waiting(part) if isinstance(part, Steps) else part for part in self.parts]
        for card in reversed(task.approvals):
            self.parts.insert(self._place(card), card)
        return _merged(self.parts)

    def _said(self, entry: EntryView) -> None:
        text, calls = str(entry.data.get("text") or ""), entry.data.get("calls") or ()
        if text.strip():
            self._append(Said(text=text), entry.at)
        if calls:
            for position, call in enumerate(calls):
                self.steps[call["id"]] = len(self.parts), position
            self._append(Steps(steps=[_step(call) for call in calls]), entry.at)

    def _answer(self, text: str, at: datetime | None) -> None:
        """The answer replaces the model's last words, which it is made of; it may say more than these."""
        last = next(
            (index for index in reversed(range(len(self.parts))) if not isinstance(self.parts[index], Notes)), 0
        )
        said = self.parts[last] if self.parts else None
        if isinstance(said, Said) and text.startswith(said.text.strip()):
            self.parts[last] = Said(text=text)
        else:
            self._append(Said(text=text), at)

    def _decision(self, entry: EntryView) -> None:
        if notable(entry.data):
            self._append(Notes(lines=[told(entry.data)]), entry.at)

    def _append(self, part: Part, at: datetime | None) -> None:
        self.parts.append(part)
        self.at.append(at)

    def _result(self, entry: EntryView) -> None:
        place = self.steps.get(str(entry.data.get("call_id")))
        if place is None:
            return
        part = self.parts[place[0]]
        if isinstance(part, Steps):
            steps = list(part.steps)
            steps[place[1]] = replace(
                steps[place[1]],
                state=state_of(str(entry.data.get("status"))),
                seconds=entry.data.get("seconds"),
                result=_start(str(entry.data.get("text") or "")),
            )
            self.parts[place[0]] = Steps(steps=steps)

    def _place(self, card: ApprovalView) -> int:
        """Behind the last part that was there when the card was made; what is said about a card comes after it."""
        before = [
            index
            for index, at in enumerate(self.at)
            if at is not None
            and (at < card.created_at or (at == card.created_at and not isinstance(self.parts[index], Notes)))
        ]
        return before[-1] + 1 if before else len(self.parts)


def _merged(parts: Sequence[Part]) -> list[Part]:
    """Notes that follow each other are one part."""
    merged: list[Part] = []
    for part in parts:
        last = merged[-1] if merged else None
        if isinstance(part, Notes) and isinstance(last, Notes):
            merged[-1] = Notes(lines=[*last.lines, *part.lines])
        else:
            merged.append(part)
    return merged


def _step(call: dict[str, Any]) -> Step:
    tool = str(call.get("name"))
    return Step(tool=tool, target=target(tool, str(call.get("arguments") or "")), state="running")


def _start(text: str) -> str:
    return text if len(text) <= RESULT_SHOWN else f"{text[:RESULT_SHOWN]}…"


def _waiting(part: Steps) -> Steps:
    return Steps(steps=[replace(step, state="waiting") if step.state == "running" else step for step in part.steps])


def _runs(part: Steps) -> bool:
    return any(step.state == "running" for step in part.steps)
