"""How much may be sent: core.telegram.org/bots/faq#my-bot-is-hitting-limits-how-do-i-avoid-this."""

from __future__ import annotations

import math
from collections import defaultdict, deque
from collections.abc import Callable

from tests.servers.telegram import limits
from tests.servers.telegram.refusal import Refused
from tests.servers.telegram.world import Chat


class Flood:
    """Counts messages and edits; what is refused is not counted."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._sent: dict[int, deque[float]] = defaultdict(deque)

    def count(self, chat: Chat, messages: int = 1) -> None:
        """Refused with `retry_after` when a chat, or all of them, got too much."""
        private = chat.kind == "private"
        window = limits.CHAT_BURST / limits.CHAT_PER_SECOND if private else 60.0
        self._check(chat.chat_id, limits.CHAT_BURST if private else limits.GROUP_PER_MINUTE, window, messages)
        self._check(0, limits.ALL_PER_SECOND, 1.0, messages)
        for times in (self._sent[chat.chat_id], self._sent[0]):
            times.extend([self._now()] * messages)

    def _check(self, key: int, allowed: int, window: float, messages: int) -> None:
        times = self._sent[key]
        while times and times[0] <= self._now() - window:
            times.popleft()
        if len(times) + messages > allowed:
            seconds = max(1, math.ceil(times[0] + window - self._now()))
            raise Refused(429, f"Too Many Requests: retry after {seconds}", retry_after=seconds)
