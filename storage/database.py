"""Opens the database: an embedded file or PostgreSQL, with the schema this version knows."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Protocol, TypeVar

from sqlalchemy import Connection, make_url
from sqlalchemy.exc import ArgumentError

from agent.errors import ConfigError, StorageError
from storage.doorbell import LocalDoorbell
from storage.schema import prepare
from storage.sqlite import SqliteDatabase

T = TypeVar("T")
BUSY_SECONDS = 5.0
"""How long a writer of SQLite waits for another process."""


class Database(Protocol):
    """Runs functions of a plain SQLAlchemy connection, each in a transaction; the same ones on every engine.

    A driver's error arrives as StorageError, and as Clash when a unique row was in the way. A cancelled caller waits
    until the transaction has ended.
    """

    @property
    def doorbell(self) -> LocalDoorbell:
        """What `storage.doorbell.ring` rings after the commit."""
        ...

    @property
    def shared(self) -> bool:
        """Whether other processes may do this one's work at the same time."""
        ...

    async def write(self, function: Callable[[Connection], T]) -> T:
        """Run a function in a write transaction; what it raises rolls back its own changes alone."""
        ...

    async def read(self, function: Callable[[Connection], T]) -> T:
        """Run a function that only reads."""
        ...

    async def close(self) -> None:
        """Finish what is under way and release everything."""
        ...


async def open_database(
    url: str | Path, *, busy_seconds: float = BUSY_SECONDS, schema: Callable[[Connection], None] = prepare
) -> Database:
    """Open a file (a path or `sqlite:///path`) or `postgresql+asyncpg://…` and bring its schema up to date by `schema`.

    ConfigError when it cannot be opened, or belongs to a newer version.
    """
    database = _connect(str(url), busy_seconds)
    try:
        await database.write(schema)
    except StorageError as error:
        await database.close()
        raise ConfigError(f"storage.url: {error}") from error
    except ConfigError:
        await database.close()
        raise
    return database


def _connect(url: str, busy_seconds: float) -> Database:
    if "://" not in url:
        return SqliteDatabase(_private_file(Path(url)), busy_seconds=busy_seconds)
    try:
        parsed = make_url(url)
    except ArgumentError as error:
        raise ConfigError(f"storage.url: {error}") from error
    if parsed.get_backend_name() == "sqlite" and parsed.database:
        return SqliteDatabase(_private_file(Path(parsed.database)), busy_seconds=busy_seconds)
    if parsed.drivername == "postgresql+asyncpg":
        from storage.postgres import PostgresDatabase  # noqa: PLC0415 - its driver is only loaded when it is used

        return PostgresDatabase(parsed)
    raise ConfigError("storage.url: use sqlite:///PATH or postgresql+asyncpg://USER@HOST/DATABASE.")


def _private_file(path: Path) -> Path:
    """The file holds what people wrote and the secrets of callbacks: nobody else may read it."""
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.touch(mode=0o600)
    except OSError as error:
        raise ConfigError(f"storage.url: {path} cannot be written ({error.strerror}); check owner and mode.") from error
    return path
