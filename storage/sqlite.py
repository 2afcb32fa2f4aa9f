"""SQLite in one process: a writer thread that shares its commits, and readers that never wait for it."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from queue import Empty, SimpleQueue
from types import TracebackType
from typing import Any, TypeVar

from sqlalchemy import Connection, Engine, NullPool, create_engine, event

from agent.errors import StorageError
from storage.doorbell import TOPICS, LocalDoorbell
from storage.faults import FOREIGN, translated
from storage.shield import shielded

T = TypeVar("T")
READERS = 3
SHARED = 256
"""Functions that share one commit at most."""
POLL_SECONDS = 0.1
"""How often is looked whether another process committed."""


class Job:
    """A function on its way to a connection, and its outcome on the way back."""

    def __init__(self, function: Callable[[Connection], Any], future: asyncio.Future[Any]) -> None:
        self.function = function
        self.future = future
        self.value: Any = None
        self.error: Exception | None = None
        self.topics: set[str] = set()

    def __enter__(self) -> None:
        """What goes wrong inside belongs to the caller; it must not end the thread that serves the others."""

    def __exit__(self, kind: object, error: BaseException | None, trace: TracebackType | None) -> bool:
        if isinstance(error, Exception):
            self.error = error
        return self.error is not None

    def run(self, connection: Connection) -> None:
        """In the thread."""
        connection.info[TOPICS] = self.topics
        with self:
            self.value = self.function(connection)

    def settle(self, doorbell: LocalDoorbell) -> None:
        """In the event loop."""
        if self.error is None:
            for topic in self.topics:
                doorbell.ring(topic)
        if self.future.done():
            return
        if self.error is None:
            self.future.set_result(self.value)
        else:
            self.future.set_exception(translated(self.error) if isinstance(self.error, FOREIGN) else self.error)


Jobs = SimpleQueue[Job | None]
"""None ends one thread."""
Settle = Callable[[list[Job]], None]


class Writer(threading.Thread):
    """Owns the only connection that writes. All functions that wait share one transaction and one commit."""

    def __init__(self, engine: Engine, jobs: Jobs, settle: Settle, foreign_commit: Callable[[], None]) -> None:
        super().__init__(name="sqlite-writer", daemon=True)
        self._engine = engine
        self._jobs = jobs
        self._settle = settle
        self._foreign_commit = foreign_commit
        self._closing = False
        self._version = 0
        self._looked_at = 0.0

    def run(self) -> None:
        connection: Connection | None = None
        while not self._closing:
            jobs = self._take()
            try:
                connection = connection or self._engine.connect()
                if jobs:
                    _transact(connection, jobs)
            except FOREIGN as error:
                cause = next((job.error for job in jobs if isinstance(job.error, FOREIGN)), error)
                for job in jobs:
                    job.error = cause
            if jobs:
                self._settle(jobs)
            if connection:
                self._look(connection)
        if connection:
            connection.close()

    def _take(self) -> list[Job]:
        """Everything that waits; nothing when the time to look has come."""
        jobs: list[Job] = []
        try:
            job = self._jobs.get(timeout=POLL_SECONDS)
            while job:
                jobs.append(job)
                if len(jobs) == SHARED:
                    return jobs
                job = self._jobs.get_nowait()
            self._closing = True
        except Empty:
            pass
        return jobs

    def _look(self, connection: Connection) -> None:
        """`data_version` changes with the commits of others, never with one's own: sqlite.org/pragma.html."""
        if (now := time.monotonic()) < self._looked_at + POLL_SECONDS:
            return
        self._looked_at = now
        try:
            with closing(connection.connection.cursor()) as cursor:
                version: int = cursor.execute("PRAGMA data_version").fetchone()[0]
        except sqlite3.Error:
            return  # whoever writes next is told
        if self._version not in {0, version}:
            self._foreign_commit()
        self._version = version


class Reader(threading.Thread):
    """One of the connections that read; each job sees one snapshot."""

    def __init__(self, engine: Engine, jobs: Jobs, settle: Settle) -> None:
        super().__init__(name="sqlite-reader", daemon=True)
        self._engine = engine
        self._jobs = jobs
        self._settle = settle

    def run(self) -> None:
        connection: Connection | None = None
        while job := self._jobs.get():
            try:
                connection = connection or self._engine.connect()
                with connection.begin():
                    connection.exec_driver_sql("BEGIN")
                    job.run(connection)
            except FOREIGN as error:
                job.error = error
            self._settle([job])
        if connection:
            connection.close()


def _transact(connection: Connection, jobs: list[Job]) -> None:
    with connection.begin() as transaction:
        connection.exec_driver_sql("BEGIN IMMEDIATE")
        if len(jobs) == 1:
            jobs[0].run(connection)
            if jobs[0].error:
                transaction.rollback()
            return
        for job in jobs:
            connection.exec_driver_sql("SAVEPOINT job")
            job.run(connection)
            if job.error:
                connection.exec_driver_sql("ROLLBACK TO job")
            connection.exec_driver_sql("RELEASE job")


class SqliteDatabase:
    """One file. Each function gets a connection inside a transaction of its own."""

    shared = False

    def __init__(self, path: Path, *, busy_seconds: float) -> None:
        self.doorbell = LocalDoorbell()
        self._loop = asyncio.get_running_loop()
        self._writes: Jobs = SimpleQueue()
        self._reads: Jobs = SimpleQueue()
        writing = _engine(path, busy_seconds, ("PRAGMA journal_mode=WAL", "PRAGMA synchronous=FULL"))
        reading = _engine(path, busy_seconds, ("PRAGMA query_only=ON",))
        self._threads = [
            Writer(writing, self._writes, self._settle, self._ring_all),
            *(Reader(reading, self._reads, self._settle) for _ in range(READERS)),
        ]
        for thread in self._threads:
            thread.start()

    async def write(self, function: Callable[[Connection], T]) -> T:
        """Run a function in a write transaction."""
        return await self._submit(self._writes, function)

    async def read(self, function: Callable[[Connection], T]) -> T:
        """Run a function over one snapshot of the rows."""
        return await self._submit(self._reads, function)

    async def close(self) -> None:
        """Finish what is queued and end the threads."""
        self._writes.put(None)
        for _ in range(READERS):
            self._reads.put(None)
        for thread in self._threads:
            await asyncio.to_thread(thread.join)
        self._threads.clear()

    async def _submit(self, jobs: Jobs, function: Callable[[Connection], T]) -> T:
        if not self._threads:
            raise StorageError("The database is closed.")
        future: asyncio.Future[T] = self._loop.create_future()
        jobs.put(Job(function, future))
        return await shielded(future)

    def _settle(self, jobs: list[Job]) -> None:
        self._loop.call_soon_threadsafe(self._settle_here, jobs)

    def _settle_here(self, jobs: list[Job]) -> None:
        for job in jobs:
            job.settle(self.doorbell)

    def _ring_all(self) -> None:
        self._loop.call_soon_threadsafe(self.doorbell.ring_all)


def _engine(path: Path, busy_seconds: float, pragmas: tuple[str, ...]) -> Engine:
    """The standard driver without its own idea of transactions: a writer that begins as a reader fails at once when
    somebody else wrote in between, whatever its timeout (sqlite.org/isolation.html, SQLITE_BUSY_SNAPSHOT).

    A listener for SQLAlchemy's `begin` would do the same, and cost every statement 10 µs.
    """
    connect = {"isolation_level": None, "timeout": busy_seconds}
    engine = create_engine(f"sqlite:///{path}", poolclass=NullPool, connect_args=connect, hide_parameters=True)

    @event.listens_for(engine, "connect")
    def prepare(connection: sqlite3.Connection, _: object) -> None:
        for pragma in ("PRAGMA foreign_keys=ON", *pragmas):
            connection.execute(pragma)

    return engine
