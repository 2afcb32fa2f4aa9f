"""Receiving by long polling: an update is confirmed by the next call, once it is durable, and by one process only."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import Any

import structlog

from agent.errors import ChannelError, ChannelUnavailable, Draining, StorageError
from agent.ports.clock import Clock
from agent.ports.deliveries import Leases
from channels.telegram.calls import Calls, Conflicting, TokenRefused
from channels.telegram.intake import Intake
from channels.telegram.settings import Pace
from channels.telegram.updates import KINDS

log = structlog.get_logger()

Report = Callable[[str | None], None]
"""Told in a sentence why nothing is received; None: it is (again)."""

CONFLICT = (
    "Another program receives with this bot's token, so Telegram refuses this one. Stop the other, or have @BotFather "
    "/revoke the token and set the new one here."
)
FAILURES = 2
"""In a row before it is reported; the first may be a connection that only grew old."""


class Polling:
    """Asks for updates for as long as this process holds the bot's lease; others stand by."""

    def __init__(self, calls: Calls, intake: Intake, leases: Leases, clock: Clock, pace: Pace, report: Report) -> None:
        self._calls = calls
        self._intake = intake
        self._leases = leases
        self._clock = clock
        self._pace = pace
        self._report = report
        self._failing_since: float | None = None
        self._failures = 0
        self._stands_by = False

    async def turn(self, lease: str, owner: str) -> None:
        """Receive until the lease is lost, or wait for it a while."""
        if not await self._leases.lease(lease, owner, self._pace.lease):
            if not self._stands_by:
                log.info("telegram_stands_by", lease=lease)
            self._stands_by = True
            await self._clock.sleep(self._pace.lease / 4)
            return
        self._stands_by = False
        work = (asyncio.create_task(self._receive()), asyncio.create_task(self._keep(lease, owner)))
        try:
            await asyncio.wait(work, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in work:
                task.cancel()
            await asyncio.wait(work)
            with suppress(StorageError):
                await self._leases.lease(lease, owner, 0)
        for task in work:
            if not task.cancelled():
                task.result()

    async def _keep(self, lease: str, owner: str) -> None:
        """Renew the lease until it is lost, or may be because the database does not answer."""
        renewed = time.monotonic()
        while time.monotonic() - renewed < self._pace.lease:
            await self._clock.sleep(self._pace.lease / 4)
            asked = time.monotonic()
            with suppress(StorageError):
                if not await self._leases.lease(lease, owner, self._pace.lease):
                    break
                renewed = asked
        log.warning("telegram_lease_lost", lease=lease)

    async def _receive(self) -> None:
        """Never ends: whatever goes wrong is waited out."""
        await self._until_it_works(self._intake.begin)
        await self._until_it_works(self._make_way)
        offset: int | None = None
        while True:
            try:
                found = await self._calls.updates(offset, KINDS)
            except ChannelError as error:
                await self._failed(error)
                if isinstance(error, Conflicting):
                    await self._until_it_works(self._make_way)
                continue
            self._works()
            for raw in found:
                await self._taken(raw)
                offset = int(raw["update_id"]) + 1

    async def _taken(self, raw: Mapping[str, Any]) -> None:
        """Until it is durable: what comes behind it waits, and so keeps its order."""
        while True:
            try:
                await self._intake.take(raw)
            except (StorageError, Draining) as error:
                log.warning("telegram_update_not_taken", update=raw["update_id"], reason=str(error))
                await self._clock.sleep(self._pace.pause)
            else:
                return

    async def _make_way(self) -> None:
        """A webhook that was set once keeps everybody from polling."""
        info = await self._calls.ask(self._calls.bot.get_webhook_info)
        if info.url:
            log.warning("telegram_webhook_removed", reason="channels.telegram.mode is polling")
            await self._calls.ask(self._calls.bot.delete_webhook)

    async def _until_it_works(self, step: Callable[[], Awaitable[None]]) -> None:
        while True:
            try:
                await step()
            except (ChannelError, StorageError) as error:
                await self._failed(error)
            else:
                return

    def _works(self) -> None:
        self._failing_since, self._failures = None, 0
        self._report(None)

    async def _failed(self, error: ChannelError | StorageError) -> None:
        """Say what is wrong once it is no passing thing, and wait longer and longer."""
        now = time.monotonic()
        self._failures += 1
        self._failing_since = self._failing_since or now
        pause = min(self._pace.pause * 2 ** min(self._failures - 1, 10), self._pace.longest_pause)
        log.info("telegram_not_received", reason=str(error), failures=self._failures)
        if isinstance(error, TokenRefused):
            self._report(str(error))
            pause = self._pace.refused
        elif isinstance(error, Conflicting):
            # In step with the other one, both would be refused for ever.
            pause *= 1 + random.random()  # noqa: S311 - no secret
            if now - self._failing_since >= self._pace.conflict:
                self._report(CONFLICT)
        else:
            await self._calls.reconnect()
            if self._failures >= FAILURES:
                self._report(str(error))
            if isinstance(error, ChannelUnavailable) and error.retry_after is not None:
                pause = error.retry_after
        await self._clock.sleep(pause)
