"""When to stop a task that goes nowhere: pure rules over its journal."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict, Field

from agent.domain import Call, Entry


class ProgressSettings(BaseModel):
    """`repeat` and `failing`: which attempt of the same call is refused. `stall`: steps without a net result."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    repeat: int = Field(default=4, ge=2)
    failing: int = Field(default=3, ge=2)
    stall: int = Field(default=8, ge=1)


@dataclass(frozen=True, kw_only=True, slots=True)
class Stop:
    """Why a task ends here: the error code of its row, and the reason as people read it."""

    code: str
    reason: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Judgement:
    """Whether a result brings the task on, and what to append to it for the model."""

    net: bool
    warning: str = ""


def check(entries: Sequence[Entry], settings: ProgressSettings, steps: int) -> Stop | None:
    """Whether the task should take no further step. A step is a turn of the model with the results of its calls."""
    taken = list(_steps(entries))
    idle = _trailing(not net for net in taken)
    if idle >= settings.stall:
        return Stop(code="no_progress", reason=f"the last {idle} steps brought nothing new.")
    if len(taken) >= steps:
        return Stop(code="step_limit", reason=f"it took {len(taken)} steps, the most that `agent.steps` allows.")
    return None


def refusal(entries: Sequence[Entry], call: Call, settings: ProgressSettings) -> str | None:
    """The result of a call that is not run because it was tried often enough; None when it may go on.

    Tries before the task's last change of a file do not count: the same call may now find something else.
    """
    results = _results(entries, call, since=_last_change(entries))
    same = _since_net([entry for entry in results if entry.data.get("status") == "done"])
    if same >= settings.repeat - 1:
        return f"Not run: the same call gave the same result {same} times. Use that result, or try another way."
    failures = _trailing(entry.data.get("status") != "done" for entry in results)
    if failures >= settings.failing - 1:
        return f"Not run: the same call has failed before (tries: {failures}). Try another way, or say what fails."
    return None


def judge(entries: Sequence[Entry], call: Call, result: str, *, changed: bool, settings: ProgressSettings) -> Judgement:
    """Look at a result before it is stored: new is what changed a file or was not read in this task before."""
    known = {_comparable(str(entry.data.get("text"))) for entry in _results(entries, call)}
    if changed or _comparable(result) not in known:
        return Judgement(net=True)
    return Judgement(
        net=False,
        warning=(
            f"\n\n[The same call gave the same result before; after {settings.repeat - 1} times it is refused. Go on "
            "with what is known, try another way, or say what is missing.]"
        ),
    )


def _steps(entries: Sequence[Entry]) -> Iterator[bool]:
    """For each turn of the model, whether it had a net result."""
    net: bool | None = None
    for entry in entries:
        if entry.kind == "assistant":
            if net is not None:
                yield net
            net = False
        elif net is not None and (entry.kind == "artifact" or (entry.kind == "tool" and entry.data.get("net"))):
            net = True
    if net is not None:
        yield net


def _results(entries: Sequence[Entry], call: Call, since: int = 0) -> list[Entry]:
    """The results of earlier calls with the same tool and arguments, oldest first, from an index on."""
    same = {
        made.get("id")
        for entry in entries
        if entry.kind == "assistant"
        for made in entry.data.get("calls", ())
        if (made.get("name"), made.get("arguments")) == (call.tool, call.arguments)
    }
    return [entry for entry in entries[since:] if entry.kind == "tool" and entry.data.get("call_id") in same]


def _last_change(entries: Sequence[Entry]) -> int:
    return next((index for index, entry in reversed(list(enumerate(entries))) if entry.kind == "artifact"), 0)


def _since_net(results: Sequence[Entry]) -> int:
    """How many results came since the last one that was new, that one included."""
    news = [bool(entry.data.get("net")) for entry in results]
    return _trailing(not net for net in news) + any(news)


def _trailing(flags: Iterable[bool]) -> int:
    """How many are true at the end."""
    count = 0
    for flag in flags:
        count = count + 1 if flag else 0
    return count


def _comparable(text: str) -> str:
    """A result without the name of the file that holds the whole of it: that name is new each time."""
    return re.sub(r"\.signoff/results/[0-9]+/[0-9]+\.txt", "", text)
