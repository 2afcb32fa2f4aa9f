"""The store on both engines: every test that asks for `store` runs on SQLite and on a real PostgreSQL."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from itertools import count
from pathlib import Path

import pytest

from storage.store.sql import SqlStore, open_store
from storage.tables import metadata
from tests.clock import FakeClock
from tests.servers import postgres
from tests.servers.postgres import Postgres

POSTGRES = pytest.param("postgresql", marks=[pytest.mark.postgres, pytest.mark.xdist_group("postgres")])
EMPTY_ALL = f"TRUNCATE {', '.join(metadata.tables)} RESTART IDENTITY CASCADE"
numbers = count(1)

OpenStore = Callable[[], Awaitable[SqlStore]]
"""Opens one more store on the same database, as another process would."""


@pytest.fixture(scope="session")
def server() -> Iterator[Postgres]:
    """One server for the session."""
    if not postgres.available():
        pytest.skip(f"no PostgreSQL 15 in {postgres.BINARIES}")
    running = postgres.start()
    try:
        running.sql("CREATE DATABASE shared")
        yield running
    finally:
        running.stop()


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def empty_database(server: Postgres) -> str:
    """A database of one's own, without any table."""
    name = f"own_{next(numbers)}"
    server.sql(f"CREATE DATABASE {name}")
    return server.url(name)


@pytest.fixture(params=["sqlite", POSTGRES])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return str(tmp_path / "signoff.db")
    running: Postgres = request.getfixturevalue("server")
    if running.sql("SELECT 1 FROM pg_tables WHERE tablename = 'tasks'", "shared"):
        running.sql(EMPTY_ALL, "shared")  # twenty times as fast as a database for each test
    return running.url("shared")


@pytest.fixture
async def open_another(url: str, clock: FakeClock) -> AsyncIterator[OpenStore]:
    opened: list[SqlStore] = []

    async def open_one() -> SqlStore:
        opened.append(await open_store(url, clock=clock))
        return opened[-1]

    yield open_one
    for store in opened:
        await store.close()


@pytest.fixture
async def store(open_another: OpenStore) -> SqlStore:
    return await open_another()
