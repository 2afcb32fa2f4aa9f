"""INSERT with ON CONFLICT, which SQLAlchemy spells per engine and both engines spell alike."""

from __future__ import annotations

from sqlalchemy import Table
from sqlalchemy.dialects import postgresql, sqlite

Upsert = sqlite.Insert | postgresql.Insert


def upsert(dialect: str, table: Table) -> Upsert:
    """An INSERT of this engine that knows `on_conflict_do_nothing` and `on_conflict_do_update`."""
    return postgresql.insert(table) if dialect == "postgresql" else sqlite.insert(table)
