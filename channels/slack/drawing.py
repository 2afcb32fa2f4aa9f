"""A task at work as Slack shows it: the chunks of a stream, or the blocks of a message that is edited. Pure.

A stream only grows (docs.slack.dev/reference/methods/chat.appendStream): a card for each tool call, which later chunks
with its id change, and text, which no later chunk changes. So text is only written as far as what follows cannot change
how it reads.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from agent.ports.channels import Shown, StepLine, StepState
from channels.slack.actions import stop_id
from channels.slack.inert import cleaned, inert_code
from channels.slack.markdown import markdown, markdown_parts
from channels.slack.messages import Json, Message

STREAM_BYTES = 8_000
"""Of everything in one stream: users see them close by themselves near 9 kB (github.com/vercel/chat/issues/607)."""
TEXT_BYTES = 6_000
"""Of the text in one while it is being written, so that the end of a part still fits."""
TITLE = 256
"""Characters of a card's title (docs.slack.dev/reference/methods/chat.appendStream)."""
STEPS_LISTED = 20
"""Steps that an edited message shows; the rest are counted."""
TEXT_LISTED = 3_000

_STATUS: Mapping[StepState, str] = {
    "running": "in_progress",
    "waiting": "pending",
    "done": "complete",
    "failed": "error",
    "denied": "error",
}
_SIGNS: Mapping[StepState, str] = {"running": "▸", "waiting": "…", "done": "✓", "failed": "✗", "denied": "✗"}
OVER: frozenset[StepState] = frozenset({"done", "failed", "denied"})
# Up to a word without any of these, the rest of a paragraph cannot change how it reads.
_UNSETTLED = re.compile(r"[`<&\[|@\\!]")
_FENCE = re.compile(r"[\s>]*(?:(?:[-*+]|[0-9]{1,9}[.)])\s+)*(`{3,}|~{3,})(.*)")
_ENDED = (".", "!", "?", ":", "…")


@dataclass(frozen=True, kw_only=True, slots=True)
class Drawn:
    """What a stream shows. `hidden` are calls that were over before it began; `source` is how much of the newest text
    was written, `written` how that reads in Markdown."""

    hidden: frozenset[str] = frozenset()
    steps: Mapping[str, StepLine] = field(default_factory=dict)
    source: str = ""
    written: str = ""
    size: int = 0


Chunks = list[Json]


def grown(drawn: Drawn, shown: Shown) -> tuple[Chunks, Drawn]:
    """What is to be appended so that a stream shows this, and what it shows then."""
    news = [step for step in shown.steps if step.call_id not in drawn.hidden and drawn.steps.get(step.call_id) != step]
    chunks = [_card(step) for step in news]
    after = replace(drawn, steps={**drawn.steps, **{step.call_id: step for step in news}})
    source = settled(shown.text)
    addition, written = _addition(drawn, source)
    if addition and len(written.encode()) <= TEXT_BYTES:
        chunks.append(_text(addition))
        after = replace(after, source=source, written=written)
    return chunks, replace(after, size=drawn.size + _size(chunks))


def finished(drawn: Drawn, answer: str, part: str) -> Chunks | None:
    """The rest of an answer's first `part` (its Markdown), for the end of a stream; None when it cannot stand there:
    it is too long, or what was written of it reads otherwise now."""
    if holds_answer(drawn, answer):
        if not part.startswith(drawn.written):
            return None
        rest = part[len(drawn.written) :]
    else:
        rest = _lead(drawn) + part
    chunks = [_text(rest)] if rest else []
    return chunks if drawn.size + _size(chunks) <= STREAM_BYTES else None


def holds_answer(drawn: Drawn, answer: str) -> bool:
    """Whether the beginning of an answer stands in a stream, which must not be said twice."""
    return bool(drawn.source) and _cleaned(answer).startswith(drawn.source)


def closing(drawn: Drawn, state: StepState, details: str = "") -> Chunks:
    """The cards of what was still under way when a stream ends."""
    left = [replace(step, state=state) for step in drawn.steps.values() if step.state not in OVER]
    return [{**_card(step), **({"details": details} if details else {})} for step in left]


def settled(text: str) -> str:
    """As much of a growing text as reads the same whatever follows."""
    text = _cleaned(text)
    start = _paragraph_start(text)
    tail = text[start:]
    risk = _UNSETTLED.search(tail)
    words = tail[: risk.start()] if risk else tail
    end = max(words.rfind(" "), words.rfind("\n"))
    return (text[:start] + words[: max(end, 0)]).rstrip()


def status(shown: Shown) -> Message:
    """The message that is edited where there are no streams, with a button that stops the task."""
    button = {
        "type": "button",
        "action_id": stop_id(shown.task.task_id),
        "text": {"type": "plain_text", "text": "Stop", "emoji": False},
        "value": str(shown.task.task_id),
    }
    text = markdown_parts(settled(shown.text), TEXT_LISTED)[:1]
    blocks = (*closed(shown.steps), *({"type": "markdown", "text": part} for part in text))
    return Message(text="Working on it.", blocks=(*blocks, {"type": "actions", "elements": [button]}), plain=())


def closed(steps: Sequence[StepLine]) -> tuple[Json, ...]:
    """What stays of it when the task's work is over."""
    lines = [f"{_SIGNS[step.state]} {_title(step)}" for step in steps[-STEPS_LISTED:]]
    if len(steps) > STEPS_LISTED:
        lines.insert(0, f"({len(steps) - STEPS_LISTED} earlier steps)")
    text = {"type": "text", "text": "\n".join(lines) or "Working on it…"}
    return ({"type": "rich_text", "elements": [{"type": "rich_text_section", "elements": [text]}]},)


def _addition(drawn: Drawn, source: str) -> tuple[str, str]:
    """What is to be written behind what stands there, and how the newest text reads then."""
    if not source or source == drawn.source:
        return "", drawn.written
    written = markdown(source)
    if source.startswith(drawn.source):
        return (written[len(drawn.written) :] if written.startswith(drawn.written) else ""), written
    return _lead(drawn) + written, written


def _lead(drawn: Drawn) -> str:
    """Between two texts; the end of the one before may never have been shown."""
    if not drawn.source:
        return ""
    return "\n\n" if drawn.source.endswith(_ENDED) else " …\n\n"


def _cleaned(text: str) -> str:
    return cleaned(text).lstrip()


def _paragraph_start(text: str) -> int:
    """Where the last paragraph begins, or the block of code that is open."""
    mark, position, start = "", 0, 0
    for line in text.splitlines(keepends=True):
        fence = _FENCE.match(line.rstrip("\n"))
        if fence and not mark:
            mark, start = fence[1], position
        elif fence and fence[1].startswith(mark) and not fence[2].strip():
            mark, start = "", position + len(line)
        elif not mark and not line.strip():
            start = position + len(line)
        position += len(line)
    return start


def _card(step: StepLine) -> Json:
    return {"type": "task_update", "id": step.call_id, "title": _title(step), "status": _STATUS[step.state]}


def _title(step: StepLine) -> str:
    title = inert_code(f"{step.label} {step.target}".strip())
    return title if len(title) <= TITLE else f"{title[: TITLE - 1]}…"


def _text(text: str) -> Json:
    return {"type": "markdown_text", "text": text}


def _size(chunks: Sequence[Json]) -> int:
    return sum(len(value.encode()) for chunk in chunks for value in chunk.values())
