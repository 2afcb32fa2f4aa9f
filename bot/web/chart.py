"""Bars for the eye, as numbers that a template draws as SVG. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

WIDTH, HEIGHT = 720, 170
_LEFT, _BOTTOM, _TOP = 8, 22, 14
_MOST_LABELS = 8


@dataclass(frozen=True, kw_only=True, slots=True)
class Bar:
    """A bar, the text under it (empty for most of many), and what it says when it is asked."""

    x: float
    y: float
    width: float
    height: float
    label: str
    title: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Chart:
    """The bars and the value of the highest."""

    bars: Sequence[Bar]
    top: float
    width: int = WIDTH
    height: int = HEIGHT
    floor: int = HEIGHT - _BOTTOM


def bars(values: Sequence[tuple[str, float, str]]) -> Chart:
    """Label, value and title of each bar, from left to right; a value that is not zero is always seen."""
    top = max((value for _, value, _ in values), default=0.0)
    slot = (WIDTH - 2 * _LEFT) / max(len(values), 1)
    every = -(-len(values) // _MOST_LABELS) or 1
    room = HEIGHT - _BOTTOM - _TOP
    found = []
    for index, (label, value, title) in enumerate(values):
        height = max(2.0, room * value / top) if value > 0 else 0.0
        found.append(
            Bar(
                x=round(_LEFT + index * slot + slot * 0.14, 1),
                y=round(HEIGHT - _BOTTOM - height, 1),
                width=round(slot * 0.72, 1),
                height=round(height, 1),
                label=label if index % every == 0 else "",
                title=title,
            )
        )
    return Chart(bars=found, top=top)
