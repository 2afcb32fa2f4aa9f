"""What comes of looking at the set-up of a chat platform."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Looked:
    """One thing that was looked at; what to click or do is part of the message."""

    name: str
    ok: bool
    message: str
