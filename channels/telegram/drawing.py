"""A task at work as Telegram shows it: a draft that grows, or a message that is edited. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from html import escape

from agent.ports.channels import Shown, StepLine, StepState
from channels.telegram.markdown import render
from channels.telegram.rich import rich
from channels.telegram.text import MESSAGE_UNITS, Part, blank, split, units

STEPS_LISTED = 8
"""Steps that are shown; those before are counted."""
RECENT = 6_000
"""Characters of a growing answer that are drawn: it is drawn every second, and the answer brings the whole."""
STATUS_UNITS = 900
"""Of the answer so far in a message that is edited, where others talk, too."""
WORKING = "Working on it…"

_SIGNS: Mapping[StepState, str] = {"running": "▸", "waiting": "…", "done": "✓", "failed": "✗", "denied": "✗"}


def draft(shown: Shown) -> Part:
    """The newest of it, as much as a draft holds; empty when there is nothing yet."""
    steps = _steps(shown.steps)
    return _drawn(steps, shown.text, MESSAGE_UNITS - units(steps) - 4)


def rich_draft(shown: Shown) -> str | None:
    """The same as HTML, when that shows more."""
    html = rich(shown.text) if len(shown.text) <= RECENT else None
    if html is None:
        return None
    lines = _steps(shown.steps).splitlines()
    return f"<p>{'<br>'.join(map(escape, lines))}</p>{html}" if lines else html


def status(shown: Shown) -> Part:
    """What a message that is edited says."""
    return _drawn(_steps(shown.steps) or WORKING, shown.text, STATUS_UNITS)


def _steps(steps: Sequence[StepLine]) -> str:
    lines = [f"{_SIGNS[step.state]} {step.label} {step.target}".rstrip() for step in steps[-STEPS_LISTED:]]
    if len(steps) > STEPS_LISTED:
        lines.insert(0, f"({len(steps) - STEPS_LISTED} earlier steps)")
    return "\n".join(lines)


def _drawn(head: str, text: str, room: int) -> Part:
    """The end of the text below the head."""
    recent = _recent(text)
    parts = split(render(recent), room)
    if not parts:
        return Part(text="" if blank(head) else head)
    cut = len(parts) > 1 or recent != text
    lead = (f"{head}\n\n" if head else "") + ("…\n" if cut else "")
    moved = tuple(replace(entity, offset=entity.offset + units(lead)) for entity in parts[-1].entities)
    return Part(text=lead + parts[-1].text, entities=moved)


def _recent(text: str) -> str:
    """The end of a long text, from a paragraph on."""
    if len(text) <= RECENT:
        return text
    start = text.find("\n\n", len(text) - RECENT)
    return text[start + 2 :] if start >= 0 else text[-RECENT:]
