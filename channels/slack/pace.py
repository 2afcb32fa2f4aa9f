"""How often something may be done: what is only nice to see must not use up what answers need."""

from __future__ import annotations

import time
from collections.abc import Callable


class Pace:
    """So many a minute, and at first a few at once."""

    def __init__(self, per_minute: float, at_once: int, now: Callable[[], float] = time.monotonic) -> None:
        self._per_second = per_minute / 60
        self._most = float(at_once)
        self._left = float(at_once)
        self._now = now
        self._since = now()

    def take(self) -> float:
        """Take one and return 0, or the seconds until there is one."""
        now = self._now()
        self._left = min(self._most, self._left + max(0.0, now - self._since) * self._per_second)
        self._since = max(now, self._since)
        if self._left >= 1:
            self._left -= 1
            return 0.0
        return (1 - self._left) / self._per_second

    def hold(self, seconds: float) -> None:
        """Slack said to wait."""
        self._left = 0.0
        self._since = self._now() + seconds
