"""PostgreSQL: any number of processes, woken by LISTEN and NOTIFY."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable
from typing import Any, TypeVar

import asyncpg
import structlog
from sqlalchemy import URL, Connection, bindparam, func, select
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine

from agent.errors import StorageError
from storage.doorbell import TOPICS, LocalDoorbell
from storage.faults import FOREIGN, translated
from storage.shield import shielded

log = structlog.get_logger()

T = TypeVar("T")
CHANNEL = "signoff"
CONNECTIONS = 10
RECONNECT_SECONDS = 1.0
NOTIFY = select(func.pg_notify(CHANNEL, bindparam("payload")))
FAILURES = (*FOREIGN, asyncpg.PostgresError, asyncpg.InterfaceError)


class PostgresDatabase:
    """One database. Each function gets a connection inside a transaction of its own."""

    shared = True

    def __init__(self, url: URL) -> None:
        self.doorbell = LocalDoorbell()
        self._engine = create_async_engine(url, hide_parameters=True, pool_size=CONNECTIONS, max_overflow=0)
        self._listener = Listener(self._engine, self.doorbell)
        self._closed = False

    async def write(self, function: Callable[[Connection], T]) -> T:
        """Run a function in a transaction."""
        if self._closed:
            raise StorageError("The database is closed.")
        return await shielded(asyncio.ensure_future(self._run(function)))

    read = write

    async def close(self) -> None:
        """Release the connections."""
        self._closed = True
        await self._listener.stop()
        await self._engine.dispose()

    async def _run(self, function: Callable[[Connection], T]) -> T:
        topics: set[str] = set()
        try:
            async with self._engine.begin() as connection:
                value = await connection.run_sync(self._call, function, topics)
        except FAILURES as error:
            raise translated(error) from error
        for topic in topics:
            self.doorbell.ring(topic)
        return value

    def _call(self, connection: Connection, function: Callable[[Connection], T], topics: set[str]) -> T:
        """NOTIFY takes part in the transaction: it is sent with the commit or not at all."""
        connection.info[TOPICS] = topics
        value = function(connection)
        if topics:
            connection.execute(NOTIFY, {"payload": self._listener.payload(topics)})
        return value


class Listener:
    """A connection of its own that hears what other processes ring; reconnects when it is lost."""

    def __init__(self, engine: AsyncEngine, doorbell: LocalDoorbell) -> None:
        self._engine = engine
        self._doorbell = doorbell
        self._name = secrets.token_hex(4)
        self._task = asyncio.create_task(self._listen_forever(), name="postgres listener")

    def payload(self, topics: set[str]) -> str:
        """What others read; one's own name in front, so that no process wakes itself twice."""
        return " ".join((self._name, *topics))

    async def stop(self) -> None:
        self._task.cancel()
        await asyncio.wait([self._task])

    async def _listen_forever(self) -> None:
        while True:
            try:
                await self._listen()
                log.warning("listener_disconnected")
            except FAILURES as error:
                log.warning("listener_failed", reason=str(error))
            await asyncio.sleep(RECONNECT_SECONDS)

    async def _listen(self) -> None:
        lost = asyncio.Event()
        _, arguments = self._engine.dialect.create_connect_args(self._engine.url)
        connection = await asyncpg.connect(**arguments)
        try:
            connection.add_termination_listener(lambda _: lost.set())
            await connection.add_listener(CHANNEL, self._heard)
            self._doorbell.ring_all()  # whatever rang while nobody listened
            await lost.wait()
        finally:
            connection.terminate()

    def _heard(self, _connection: Any, _pid: int, _channel: str, payload: str) -> None:
        sender, *topics = payload.split()
        if sender != self._name:
            for topic in topics:
                self._doorbell.ring(topic)
