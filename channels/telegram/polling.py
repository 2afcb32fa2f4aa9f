"""Receiving by long polling: an update is confirmed by the next call, once it is durable, and by one process only."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import structlog

from agent.errors import ChannelError, Draining, StorageError
from agent.ports.clock import Clock
from agent.ports.deliveries import Leases
from channels.telegram.calls import Calls, Conflicting, TokenRefused
from channels.telegram.settings import Pace
from channels.telegram.updates import KINDS

log = structlog.get_logger()

CONFLICT = (
    "Another program receives with this bot's token, so Telegram refuses us. Stop the other one, or give this bot a "
    "token of its own with /revoke at @BotFather."
)


class Polling:
    """Asks for updates for as long as this process holds the bot's lease."""

    def __init__(
        self,
        calls: Calls,
        take: Callable[[Mapping[str, Any]], Awaitable[None]],
        leases: Leases,
        clock: Clock,
        pace: Pace,
        report: Callable[[str | None], None],
    ) -> None:
        self._calls = calls
        self._take = take
        self._leases = leases
        self._clock = clock
        self._pace = pace
        self._report = report
