"""The real time."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime


class SystemClock:
    """Implements the Clock port."""

    def now(self) -> datetime:
        """The current time, aware, in UTC."""
        return datetime.now(UTC)

    async def sleep(self, seconds: float) -> None:
        """Return after `seconds`."""
        await asyncio.sleep(seconds)
