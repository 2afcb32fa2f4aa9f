"""How often what is only nice to see may call Slack: it must not use up what answers need."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import structlog

from agent.errors import ChannelError, ChannelUnavailable
from channels.slack.calls import Calls, Json

log = structlog.get_logger()

# A minute and at once, well below what Slack allows the whole app (docs.slack.dev/apis/web-api/rate-limits): 20 for
# chat.startStream, 100 for appendStream, 50 for chat.update, which verdicts need, too.
_PACES = {"chat.startStream": (15, 8), "chat.appendStream": (80, 20), "chat.update": (25, 5)}


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
        return (1 - self._left) / self._per_second + self._since - now

    def hold(self, seconds: float) -> None:
        """Slack said to wait."""
        self._left = 0.0
        self._since = self._now() + seconds


class PacedCalls:
    """The Web API for progress."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls
        self._paces = {method: Pace(*pace) for method, pace in _PACES.items()}

    def take(self, method: str) -> float:
        """Take a call of a method and return 0, or the seconds until there is one."""
        return self._paces[method].take()

    async def call(self, method: str, **arguments: Any) -> Json:
        """Call a method; a limit counts for all of progress. ChannelUnavailable, SlackRefused."""
        try:
            return await self._calls.call(method, **arguments)
        except ChannelUnavailable as error:
            if error.retry_after is not None and method in self._paces:
                self._paces[method].hold(error.retry_after)
            raise

    async def try_call(self, method: str, **arguments: Any) -> None:
        """Call a method whose failure does not matter."""
        try:
            await self.call(method, **arguments)
        except ChannelError as error:
            log.debug("progress_not_shown", method=method, reason=str(error))
