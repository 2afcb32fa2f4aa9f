"""The schema's version: compared by one query at start; the migration tool is only loaded when they differ."""

from __future__ import annotations

from pathlib import Path

from sqlalchemy import Connection, Select, inspect, literal_column, select, table, text

from agent.errors import ConfigError
from storage.tables import metadata

HEAD = "0004"
"""The newest revision below `migrations/versions`."""
MIGRATIONS = Path(__file__).parent / "migrations"
LOCK = 0x5349474E
"""PostgreSQL's advisory lock: two processes that start at once take turns."""
VERSION: Select[str] = select(literal_column("version_num")).select_from(table("alembic_version"))


def prepare(connection: Connection) -> None:
    """Bring the schema to HEAD; an empty database gets it in one go. ConfigError when it is newer than this code."""
    if connection.dialect.name == "postgresql":
        connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": LOCK})
    found = connection.execute(VERSION).scalar() if inspect(connection).has_table("alembic_version") else None
    if found == HEAD:
        return
    if found is None:
        create(connection)
    elif found > HEAD:
        raise ConfigError(
            f"The database is at revision {found}, this version of Signoff knows {HEAD} at most: "
            "install the newer version again, or restore a backup from before it."
        )
    else:
        migrate(connection)


def create(connection: Connection) -> None:
    """All tables of an empty database, marked as HEAD."""
    if connection.dialect.name == "postgresql":
        for index in (index for made in metadata.tables.values() for index in made.indexes):
            index.dialect_options["postgresql"]["where"] = index.dialect_options["sqlite"]["where"]
    metadata.create_all(connection)
    connection.execute(text("CREATE TABLE alembic_version (version_num VARCHAR(32) NOT NULL PRIMARY KEY)"))
    connection.execute(text("INSERT INTO alembic_version (version_num) VALUES (:head)"), {"head": HEAD})


def migrate(connection: Connection) -> None:
    """Run the revisions that are missing, in the caller's transaction."""
    from alembic import command  # noqa: PLC0415 - 0.1 s of CPU that an ordinary start does not need
    from alembic.config import Config  # noqa: PLC0415

    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    config.attributes["connection"] = connection
    command.upgrade(config, "head")
