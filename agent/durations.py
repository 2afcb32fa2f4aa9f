"""Lengths of time as people write them in the configuration: `90s`, `15m`, `24h`, `30d`, `2w`."""

from __future__ import annotations

import re
from typing import Annotated, Any

from pydantic import BeforeValidator

LONGEST_SECONDS = 10 * 365 * 86_400
"""Ten years; more is a typing mistake, and would leave the calendar when added to now."""

_UNITS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800}


def seconds(text: Any) -> int:
    """The seconds of `24h` and the like; ValueError says what is wrong."""
    match = re.fullmatch(r"([0-9]{1,10})([smhdw])", text) if isinstance(text, str) else None
    if match is None:
        raise ValueError(f"{text!r} is not a duration; write a whole number and s, m, h, d or w, such as 24h")
    total = int(match[1]) * _UNITS[match[2]]
    if not 0 < total <= LONGEST_SECONDS:
        raise ValueError(f"{text} must be longer than nothing and at most ten years")
    return total


def written(seconds: int) -> str:
    """A length of time as it would be written, in hours up to a day: `90m`, `24h`, `3d`."""
    for unit, least in (("d", 2), ("h", 1), ("m", 1)):
        count, rest = divmod(seconds, _UNITS[unit])
        if not rest and count >= least:
            return f"{count}{unit}"
    return f"{seconds}s"


Seconds = Annotated[int, BeforeValidator(seconds)]
"""A settings field in seconds that is written as a duration."""
