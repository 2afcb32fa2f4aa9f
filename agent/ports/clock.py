"""The time, so that tests can turn it."""

from __future__ import annotations

from datetime import datetime
from typing import Protocol


class Clock(Protocol):
    """The time; a fake one in tests."""

    def now(self) -> datetime:
        """The current time, aware, in UTC."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Return after `seconds`."""
        ...
