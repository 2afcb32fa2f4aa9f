"""The queue of updates: asked for by getUpdates or pushed to a webhook; an update is forgotten when it is confirmed."""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from contextlib import suppress
from typing import Any

import aiohttp

from tests.servers.telegram import limits
from tests.servers.telegram.refusal import Refused

FIRST_UPDATE = 5_000
RETRY_SECONDS = 0.02
"""Telegram waits longer and longer before it sends an update again; tests do not."""


class Updates:
    """What happened and has not been confirmed, oldest first (core.telegram.org/bots/api#getupdates)."""

    def __init__(self) -> None:
        self.pending: list[dict[str, Any]] = []
        self.url = ""
        self.last_error = ""
        self.pushes: list[tuple[int, int]] = []  # update id and status of each attempt
        self._secret = ""
        self._allowed: Collection[str] = limits.UPDATE_KINDS
        self._next_id = FIRST_UPDATE
        self._arrived = asyncio.Event()
        self._taken = asyncio.Event()
        self._poll: asyncio.Future[None] | None = None
        self._push: asyncio.Task[None] | None = None

    def add(self, kind: str, body: dict[str, Any]) -> int | None:
        """Queue an update; None when the bot did not ask for that kind."""
        if kind not in self._allowed:
            return None
        self._next_id += 1
        self.pending.append({"update_id": self._next_id, kind: body})
        self._arrived.set()
        return self._next_id

    def again(self, update: dict[str, Any]) -> None:
        """Deliver an update once more, as Telegram does now and then."""
        self.pending.insert(0, update)
        self._arrived.set()

    def allow(self, kinds: Collection[str] | None) -> None:
        """None leaves it as it was, an empty list means all."""
        if kinds is not None:
            self._allowed = kinds or limits.UPDATE_KINDS

    async def poll(self, offset: int, limit: int, wait_seconds: float) -> list[dict[str, Any]]:
        """Forgets what is older than `offset`; a second poll ends the first, which gets 409."""
        if self.url:
            raise Refused(
                409,
                "Conflict: can't use getUpdates method while webhook is active; "
                "use deleteWebhook to delete the webhook first",
            )
        if self._poll is not None and not self._poll.done():
            self._poll.set_result(None)
        mine = self._poll = asyncio.get_running_loop().create_future()
        if offset < 0:
            self.pending = self.pending[offset:]
        elif offset > 0:
            self.pending = [update for update in self.pending if update["update_id"] >= offset]
        await self._wait(mine, wait_seconds)
        if mine.done():
            raise Refused(
                409,
                "Conflict: terminated by other getUpdates request; make sure that only one bot instance is running",
            )
        mine.set_result(None)
        return self.pending[:limit]

    async def _wait(self, mine: asyncio.Future[None], seconds: float) -> None:
        deadline = asyncio.get_running_loop().time() + seconds
        while not self.pending and not mine.done():
            left = deadline - asyncio.get_running_loop().time()
            if left <= 0:
                return
            self._arrived.clear()
            arrived = asyncio.ensure_future(self._arrived.wait())
            waited: set[asyncio.Future[Any]] = {arrived, mine}
            await asyncio.wait(waited, timeout=left, return_when=asyncio.FIRST_COMPLETED)
            arrived.cancel()

    async def delivered(self, seconds: float = 10) -> None:
        """Wait until the webhook has taken all there is."""
        async with asyncio.timeout(seconds):
            while self.pending:
                self._taken.clear()
                await self._taken.wait()

    async def set_webhook(self, url: str, secret: str) -> None:
        """Begin to push; an empty URL ends it."""
        await self.close()
        self.url, self._secret, self.last_error = url, secret, ""
        if url:
            self._push = asyncio.create_task(self._pushing())

    async def close(self) -> None:
        """Stop pushing, and end a poll that waits."""
        if self._poll is not None and not self._poll.done():
            self._poll.set_result(None)
        if self._push is not None:
            self._push.cancel()
            with suppress(asyncio.CancelledError):
                await self._push
            self._push = None

    async def _pushing(self) -> None:
        """One after the other, each until it gets a 2xx (core.telegram.org/bots/api#setwebhook)."""
        headers = {"X-Telegram-Bot-Api-Secret-Token": self._secret} if self._secret else {}
        async with aiohttp.ClientSession() as client:
            while True:
                while not self.pending:
                    self._arrived.clear()
                    await self._arrived.wait()
                update = self.pending[0]
                status = await self._post(client, update, headers)
                self.pushes.append((update["update_id"], status))
                if 200 <= status < 300:
                    self.pending.remove(update)
                    self._taken.set()
                else:
                    self.last_error = f"Wrong response from the webhook: {status}"
                    await asyncio.sleep(RETRY_SECONDS)

    async def _post(self, client: aiohttp.ClientSession, update: dict[str, Any], headers: dict[str, str]) -> int:
        try:
            async with client.post(self.url, json=update, headers=headers) as answer:
                await answer.read()
                return answer.status
        except aiohttp.ClientError:
            return 0
