"""Who waits is woken: within the process at once, over processes by what the engine offers."""

from __future__ import annotations

import asyncio
from collections import OrderedDict

from sqlalchemy import Connection

TOPICS = "topics"
REMEMBERED = 1_024
"""Rings that nobody waited for; beyond that the poll behind every wait has to do."""


def ring(connection: Connection, *topics: str) -> None:
    """Ring when, and only when, the transaction of this connection commits."""
    connection.info[TOPICS].update(topics)


class LocalDoorbell:
    """Wakes the waiters of this process; belongs to one event loop.

    A ring that finds nobody waiting is kept for the next one who comes.
    """

    def __init__(self) -> None:
        self._waiters: dict[str, set[asyncio.Future[bool]]] = {}
        self._unheard: OrderedDict[str, None] = OrderedDict()

    def ring(self, topic: str) -> None:
        """Wake the waiters of a topic."""
        if waiters := self._waiters.pop(topic, None):
            for waiter in waiters:
                _resolve(waiter, rang=True)
            return
        self._unheard[topic] = None
        if len(self._unheard) > REMEMBERED:
            self._unheard.popitem(last=False)

    def ring_all(self) -> None:
        """Wake everybody: something happened elsewhere, and nobody can say what."""
        for topic in {*self._waiters, "tasks", "outbox", "cancel"}:
            self.ring(topic)

    async def wait(self, topic: str, seconds: float) -> None:
        """Return at once when the topic rang unheard, else when it rings, or after `seconds`."""
        if topic in self._unheard:
            del self._unheard[topic]
            return
        loop = asyncio.get_running_loop()
        waiter: asyncio.Future[bool] = loop.create_future()
        self._waiters.setdefault(topic, set()).add(waiter)
        timer = loop.call_later(seconds, lambda: _resolve(waiter, rang=False))
        try:
            await waiter
        except asyncio.CancelledError:
            if not waiter.cancelled() and waiter.result():
                self.ring(topic)  # it rang for somebody who had to go before he heard it
            raise
        finally:
            timer.cancel()
            self._forget(topic, waiter)

    def _forget(self, topic: str, waiter: asyncio.Future[bool]) -> None:
        waiters = self._waiters.get(topic, set())
        waiters.discard(waiter)
        if not waiters:
            self._waiters.pop(topic, None)


def _resolve(waiter: asyncio.Future[bool], *, rang: bool) -> None:
    if not waiter.done():
        waiter.set_result(rang)
