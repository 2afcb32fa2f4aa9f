"""Clocks for tests."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta

START = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)


class FakeClock:
    """A clock that stands still until a test turns it; a sleeper wakes when `advance` passes its time."""

    def __init__(self, now: datetime = START) -> None:
        self._now = now
        self._sleepers: list[tuple[datetime, asyncio.Future[None]]] = []

    def now(self) -> datetime:
        return self._now

    async def sleep(self, seconds: float) -> None:
        if seconds <= 0:
            await asyncio.sleep(0)
            return
        sleeper = asyncio.get_running_loop().create_future()
        self._sleepers.append((self._now + timedelta(seconds=seconds), sleeper))
        await sleeper

    def advance(self, seconds: float) -> None:
        """Turn the clock forward and wake everybody whose time has come."""
        self._now += timedelta(seconds=seconds)
        due = [sleeper for wakes_at, sleeper in self._sleepers if wakes_at <= self._now and not sleeper.done()]
        self._sleepers = [(at, sleeper) for at, sleeper in self._sleepers if at > self._now and not sleeper.done()]
        for sleeper in due:
            sleeper.set_result(None)


class QuickClock:
    """A clock whose pauses end at once and are written down."""

    def __init__(self) -> None:
        self.slept: list[float] = []

    def now(self) -> datetime:
        return datetime.now(UTC)

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        await asyncio.sleep(0)
