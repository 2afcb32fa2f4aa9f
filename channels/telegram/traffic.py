"""How much went to each chat lately: what is only nice to see must not use up what answers need."""

from __future__ import annotations

from collections import defaultdict, deque
from datetime import datetime, timedelta

from agent.ports.clock import Clock

WINDOW = timedelta(seconds=60)
FOR_PROGRESS = 12
"""Messages and edits after which no more progress is shown for a while; a group takes 20 a minute, and edits count
(core.telegram.org/bots/faq#my-bot-is-hitting-limits-how-do-i-avoid-this)."""


class Traffic:
    """Counts what this process sends, by conversation."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._sent: defaultdict[str, deque[datetime]] = defaultdict(deque)

    def count(self, conversation: str, messages: int = 1) -> None:
        """So many messages or edits are going there."""
        self._recent(conversation).extend([self._clock.now()] * messages)

    def has_room(self, conversation: str) -> bool:
        """Whether progress may be shown there now."""
        return len(self._recent(conversation)) < FOR_PROGRESS

    def _recent(self, conversation: str) -> deque[datetime]:
        sent = self._sent[conversation]
        while sent and sent[0] <= self._clock.now() - WINDOW:
            sent.popleft()
        return sent
