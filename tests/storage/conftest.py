"""The store on both engines: every test that asks for `store` runs on SQLite and on a real PostgreSQL."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from itertools import count
from pathlib import Path

import pytest

from storage.store.sql import SqlStore, open_store
from tests.clock import FakeClock
from tests.servers import postgres
from tests.servers.postgres import Postgres

TEMPLATE = "signoff_template"
POSTGRES = pytest.param("postgresql", marks=[pytest.mark.postgres, pytest.mark.xdist_group("postgres")])
numbers = count(1)

OpenStore = Callable[[], Awaitable[SqlStore]]
"""Opens one more store on the same database, as another process would."""


@pytest.fixture(scope="session")
def server() -> Iterator[Postgres]:
    """One server for the session, with an up-to-date template, so that a new database costs milliseconds."""
    if not postgres.available():
        pytest.skip(f"no PostgreSQL 15 in {postgres.BINARIES}")
    running = postgres.start()
    try:
        running.sql(f"CREATE DATABASE {TEMPLATE}")
        asyncio.run(_make_schema(running.url(TEMPLATE)))
        yield running
    finally:
        running.stop()


async def _make_schema(url: str) -> None:
    store = await open_store(url, clock=FakeClock())
    await store.close()


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def postgres_url(server: Postgres) -> str:
    name = f"test_{next(numbers)}"
    server.sql(f"CREATE DATABASE {name} TEMPLATE {TEMPLATE}")
    return server.url(name)


@pytest.fixture(params=["sqlite", POSTGRES])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return str(tmp_path / "signoff.db")
    address: str = request.getfixturevalue("postgres_url")
    return address


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
