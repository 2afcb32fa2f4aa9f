"""Lengths of time as people write them."""

from __future__ import annotations

from typing import Any

import pytest

from agent.durations import seconds, written


@pytest.mark.parametrize(
    ("text", "expected"), [("90s", 90), ("15m", 900), ("24h", 86_400), ("30d", 2_592_000), ("2w", 1_209_600)]
)
def test_a_number_and_a_unit(text: str, expected: int) -> None:
    """Seconds, minutes, hours, days and weeks."""
    assert seconds(text) == expected


@pytest.mark.parametrize("text", ["", "24", 24, None, "h", "1.5h", "-1h", "0s", "24 h", "24H", "1h30m", "٣h", "3651d"])
def test_anything_else_is_refused(text: Any) -> None:
    """With the text and the way to write it; nothing is guessed, and nothing leaves the calendar."""
    with pytest.raises(ValueError, match=r"write a whole number|at most ten years"):
        seconds(text)


@pytest.mark.parametrize("text", ["1s", "90s", "15m", "90m", "1h", "24h", "36h", "2d", "30d"])
def test_it_is_written_as_it_was_read(text: str) -> None:
    """In the largest unit that leaves no rest; a day is 24 hours."""
    assert written(seconds(text)) == text
