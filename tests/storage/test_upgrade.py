"""A database of an older version, taken over with its rows."""

from __future__ import annotations

from urllib.parse import urlsplit

import pytest
from alembic import command
from alembic.config import Config
from sqlalchemy import Connection, inspect, text

from agent.ports.access import NewAudit
from storage import schema
from storage.database import open_database
from storage.store.access import SqlAccess
from storage.store.sql import SqlStore, open_store
from tests.clock import START, FakeClock
from tests.servers.postgres import Postgres
from tests.storage import given

NEW_IN_2 = {"tokens", "login_links", "browser_sessions", "audit"}


def first_revision(connection: Connection) -> None:
    """What version 0.1 left behind."""
    config = Config()
    config.set_main_option("script_location", str(schema.MIGRATIONS).replace("%", "%%"))
    config.attributes["connection"] = connection
    command.upgrade(config, "0001")


@pytest.fixture
def empty_url(request: pytest.FixtureRequest, url: str) -> str:
    """A database without any table, on either engine."""
    if "://" not in url:
        return url
    server: Postgres = request.getfixturevalue("server")
    name = urlsplit(url).path.strip("/")
    server.sql(f"DROP DATABASE {name}")
    server.sql(f"CREATE DATABASE {name}")
    return url


async def test_the_first_revision_is_taken_over(empty_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its tasks are there, the new tables work, and a second start finds nothing to do."""
    with monkeypatch.context() as patched:
        patched.setattr("storage.database.prepare", first_revision)
        old = SqlStore(await open_database(empty_url), FakeClock())
    assert NEW_IN_2.isdisjoint(await tables(old))
    hook = "INSERT INTO hooks (name, token_sha256, deliver) VALUES ('kept', 'x', '[]')"
    await given.sql(old, hook)
    await given.accept(old)
    await old.close()
    for starts in (1, 2):
        store = await open_store(empty_url, clock=FakeClock())
        assert await tables(store) >= NEW_IN_2
        assert await store.database.read(lambda connection: connection.execute(schema.VERSION).scalar()) == schema.HEAD
        await SqlAccess(store.database).audit(NewAudit(at=START, who="Ann", what="login"))
        assert await given.sql(store, "SELECT count(*) FROM audit") == starts
        assert [hook.name for hook in await store.hooks()] == ["kept"]
        assert await given.sql(store, "SELECT prompt FROM tasks") == "hello"
        await store.close()


async def tables(store: SqlStore) -> set[str]:
    return set(await store.database.read(lambda connection: inspect(connection).get_table_names()))


async def test_made_and_migrated_are_the_same(empty_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Columns with their types and defaults, indexes and keys of the tables that came with 0002."""
    described = []
    for make in (schema.migrate, schema.create):
        with monkeypatch.context() as patched:
            patched.setattr("storage.database.prepare", make)
            database = await open_database(empty_url)
        described.append(await database.read(_description))
        await database.write(_emptied)
        await database.close()
    assert described[0] == described[1]


def _description(connection: Connection) -> dict[str, object]:
    seen = inspect(connection)
    return {
        name: [
            [str(sorted((key, str(value)) for key, value in column.items())) for column in seen.get_columns(name)],
            sorted(str(index) for index in seen.get_indexes(name)),
            sorted(str(unique) for unique in seen.get_unique_constraints(name)),
            str(seen.get_pk_constraint(name)),
        ]
        for name in sorted(NEW_IN_2)
    }


def _emptied(connection: Connection) -> None:
    for name in reversed(inspect(connection).get_table_names()):
        cascade = " CASCADE" if connection.dialect.name == "postgresql" else ""
        connection.execute(text(f"DROP TABLE {name}{cascade}"))
