"""What only PostgreSQL does: the listener, and what it says when it is in the way."""

from __future__ import annotations

import asyncio

import pytest

from agent.errors import ConfigError, DiskFull, StorageError
from storage.database import open_database
from storage.doorbell import ring
from storage.store.sql import SqlStore
from tests.servers.postgres import Postgres
from tests.storage import given
from tests.storage.conftest import POSTGRES, OpenStore

pytestmark = [
    pytest.mark.postgres,
    pytest.mark.xdist_group("postgres"),
    pytest.mark.parametrize("url", [POSTGRES], indirect=True),
]
LISTENERS = "pid IN (SELECT pid FROM pg_stat_activity WHERE query LIKE 'LISTEN%' AND datname = 'shared')"


async def heard(store: SqlStore, other: SqlStore, topic: str) -> None:
    """Wait until what `other` rings reaches `store`."""
    waiting = asyncio.create_task(given.rings(store.doorbell, topic))
    while not waiting.done():
        await other.database.write(lambda connection: ring(connection, topic))
        await asyncio.wait([waiting], timeout=0.1)
    await waiting


async def test_the_listener_comes_back(store: SqlStore, open_another: OpenStore, server: Postgres) -> None:
    """A lost connection costs rings, not work: writes go on, and the listener connects again."""
    other = await open_another()
    await heard(store, other, "before")
    missed = asyncio.create_task(given.rings(store.doorbell, "rung while nobody listened"))
    await asyncio.sleep(0)
    server.sql(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE {LISTENERS}", "shared")
    await given.accept(store)
    await missed
    await heard(store, other, "after")


async def test_lost_connections_fail_one_write_at_most(store: SqlStore, server: Postgres) -> None:
    """After a restart of the server the pool connects anew by itself."""
    await given.accept(store)
    server.sql(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND datname = 'shared'",
        "shared",
    )
    with pytest.raises(StorageError):
        await given.accept(store)
    assert (await given.accept(store)).fresh


async def test_a_missing_database_is_named(url: str, server: Postgres) -> None:
    """One line at start says what to create."""
    with pytest.raises(ConfigError, match="no such database"):
        await open_database(server.url("missing"))


async def test_leases_are_measured_by_the_server(store: SqlStore) -> None:
    """The clocks of machines differ: a lease ends 30 s from the server's now, whatever this process thinks."""
    await given.claimed(store)
    left = await given.sql(store, "SELECT lease_until / 1000000.0 - extract(epoch FROM clock_timestamp()) FROM tasks")
    assert 25 < left <= 30


async def test_a_full_disk_is_told_apart(store: SqlStore) -> None:
    """By its SQLSTATE, so that whoever sees it can make room."""
    with pytest.raises(DiskFull, match="disk is full"):
        await given.sql(store, "DO $$ BEGIN RAISE 'could not extend file' USING ERRCODE = '53100'; END $$")
