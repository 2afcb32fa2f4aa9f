"""The schema at start: made, migrated, left alone, or refused."""

from __future__ import annotations

import asyncio
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from alembic.config import Config
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, text

from agent.errors import ConfigError
from storage import schema
from storage.database import Database, open_database
from storage.store.sql import SqlStore
from tests.storage import given

SHAPES = {
    "sqlite": "SELECT name || ' ' || coalesce(sql, '') FROM sqlite_master WHERE name NOT LIKE 'sqlite_%'",
    "postgresql": """
        SELECT concat_ws(' ', table_name, column_name, data_type, is_nullable, column_default)
        FROM information_schema.columns WHERE table_schema = 'public'
        UNION ALL SELECT indexdef FROM pg_indexes WHERE schemaname = 'public'
        UNION ALL SELECT concat_ws(' ', conrelid::regclass, conname, pg_get_constraintdef(oid))
        FROM pg_constraint WHERE connamespace = 'public'::regnamespace""",
}


def shape(connection: Connection) -> list[str]:
    """SQLite keeps the text of a statement: columns that were added later stand in it without line breaks."""
    lines = connection.execute(text(SHAPES[connection.dialect.name])).scalars()
    return sorted(re.sub(r"\s*([(),])\s*", r"\1", " ".join(line.split())) for line in lines)


async def shape_of(url: str, make: Callable[[Connection], None]) -> list[str]:
    """What `make` leaves in an empty database."""
    database = await open_database(url, schema=make)
    try:
        return await database.read(shape)
    finally:
        await database.close()


def test_head_is_the_newest_revision() -> None:
    """The constant that an ordinary start compares with is the head of the scripts."""
    config = Config()
    config.set_main_option("script_location", str(schema.MIGRATIONS))
    assert ScriptDirectory.from_config(config).get_heads() == [schema.HEAD]


async def test_migrations_make_what_the_tables_say_on_sqlite(tmp_path: Path) -> None:
    """All revisions one after the other end in the schema of storage/tables.py."""
    made = await shape_of(str(tmp_path / "made.db"), schema.create)
    migrated = await shape_of(str(tmp_path / "migrated.db"), schema.migrate)
    assert [line for line in migrated if "alembic_version" not in line] == [
        line for line in made if "alembic_version" not in line
    ]
    assert any("tasks" in line for line in made)


@pytest.mark.postgres
@pytest.mark.xdist_group("postgres")
async def test_migrations_make_what_the_tables_say_on_postgres(request: pytest.FixtureRequest) -> None:
    """The same on PostgreSQL: columns, defaults, indexes, constraints."""
    server = request.getfixturevalue("server")
    shapes = []
    for name, make in (("made", schema.create), ("migrated", schema.migrate)):
        server.sql(f"CREATE DATABASE {name}")
        lines = await shape_of(server.url(name), make)
        shapes.append([line for line in lines if "alembic_version" not in line])
    assert shapes[0] == shapes[1]
    assert any("tasks" in line for line in shapes[0])


async def test_a_newer_database_is_refused(store: SqlStore, url: str) -> None:
    """The message names both revisions and what to do; nothing is changed."""
    await given.sql(store, "UPDATE alembic_version SET version_num = '9999'")
    try:
        with pytest.raises(ConfigError, match=f"revision 9999.*knows {schema.HEAD}.*install the newer version"):
            await open_database(url)
    finally:
        await given.sql(store, "UPDATE alembic_version SET version_num = :head", head=schema.HEAD)


async def test_two_processes_start_on_an_empty_database(tmp_path: Path) -> None:
    """On SQLite one of them makes the schema and the other finds it."""
    databases = await asyncio.gather(*(open_database(tmp_path / "new.db") for _ in range(3)))
    await _close(databases)


@pytest.mark.postgres
@pytest.mark.xdist_group("postgres")
async def test_two_processes_start_on_an_empty_postgres(empty_database: str) -> None:
    """The same on PostgreSQL, where CREATE TABLE alone would let both begin."""
    databases = await asyncio.gather(*(open_database(empty_database) for _ in range(3)))
    await _close(databases)


async def _close(databases: list[Database]) -> None:
    for database in databases:
        assert await database.read(lambda connection: connection.execute(schema.VERSION).scalar()) == schema.HEAD
        await database.close()


def test_an_ordinary_start_loads_neither_the_migration_tool_nor_another_driver(tmp_path: Path) -> None:
    """G5: alembic and asyncpg cost a start nothing when they are not needed, not even the first start."""
    code = (
        "import asyncio, sys; from storage.store.sql import open_store; from tests.clock import FakeClock\n"
        "async def main():\n"
        f"    for _ in range(2): await (await open_store({str(tmp_path / 'x.db')!r}, clock=FakeClock())).close()\n"
        "asyncio.run(main())\n"
        "print(*({'alembic', 'asyncpg', 'mako'} & set(sys.modules)))"
    )
    root = Path(__file__).parents[2]
    done = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""


@pytest.mark.parametrize(
    ("url", "complaint"),
    [
        ("mysql://localhost/x", "use sqlite:///PATH or postgresql"),
        ("postgresql://localhost/x", "use sqlite:///PATH or postgresql"),
        ("postgresql+asyncpg://postgres@127.0.0.1:1/x", "cannot be reached"),
        ("not a url://", "storage.url"),
    ],
)
async def test_an_unusable_url_is_one_clear_line(url: str, complaint: str) -> None:
    """What cannot be opened names the key of the configuration."""
    with pytest.raises(ConfigError, match=complaint) as caught:
        await open_database(url)
    assert str(caught.value).startswith("storage.url: ")
    assert "\n" not in str(caught.value)
