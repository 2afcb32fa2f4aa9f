"""How a column is read when a cell alone does not say it: `1,234` or `03/04/2026` are decided by the other cells."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

S = TypeVar("S", bound=str)
T = TypeVar("T")


@dataclass(frozen=True, kw_only=True, slots=True)
class Decision(Generic[S, T]):
    """The values of a column under one style. `open` holds the positions that no cell of the column decides.

    `mixed`: the column holds proof of more than one style; then only its `open` cells are in doubt.
    """

    style: S
    values: list[T | None]
    open: list[int]
    mixed: bool


def decide(cells: Sequence[Mapping[S, T]], assumed: Callable[[Mapping[S, T]], S]) -> Decision[S, T]:
    """Choose the style for a column from what each cell can mean under each style; none: it cannot be read at all.

    A cell with one reading is proof of its style, one whose readings are equal says nothing. Without proof `assumed`
    names the style from the first cell in doubt.
    """
    doubtful = [index for index, readings in enumerate(cells) if len(set(readings.values())) > 1]
    proven = {next(iter(readings)) for readings in cells if len(readings) == 1}
    undecided = doubtful if len(proven) != 1 else []
    style = next(iter(proven)) if len(proven) == 1 else assumed(cells[doubtful[0]] if doubtful else {})
    values = [readings.get(style, next(iter(readings.values()), None)) for readings in cells]
    return Decision(style=style, values=values, open=undecided, mixed=len(proven) > 1)
