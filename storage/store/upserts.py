"""INSERT with ON CONFLICT, which SQLAlchemy spells per engine and both engines spell alike."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import Table
from sqlalchemy.dialects import sqlite

if TYPE_CHECKING:
    from sqlalchemy.dialects import postgresql


def upsert(dialect: str, table: Table) -> sqlite.Insert | postgresql.Insert:
    """An INSERT of this engine that knows `on_conflict_do_nothing` and `on_conflict_do_update`."""
    if dialect == "postgresql":
        from sqlalchemy.dialects import postgresql  # noqa: PLC0415 - 0.02 s that SQLite's start does not need

        return postgresql.insert(table)
    return sqlite.insert(table)
