"""The inbound webhooks."""

from __future__ import annotations

from dataclasses import asdict
from functools import cache

from sqlalchemy import Connection, Executable, bindparam, select

from agent.domain import Hook
from storage.store import rows
from storage.store.upserts import upsert
from storage.tables import hooks

ALL = select(hooks).order_by(hooks.c.name)
ONE = select(hooks).where(hooks.c.name == bindparam("hook"))


def hook(connection: Connection, name: str) -> Hook | None:
    row = connection.execute(ONE, {"hook": name}).first()
    return rows.hook(row) if row else None


def all_hooks(connection: Connection) -> list[Hook]:
    return [rows.hook(row) for row in connection.execute(ALL)]


def save_hook(connection: Connection, new: Hook) -> None:
    connection.execute(_save(connection.dialect.name), asdict(new))


@cache
def _save(dialect: str) -> Executable:
    statement = upsert(dialect, hooks)
    fresh = {column.name: statement.excluded[column.name] for column in hooks.c if not column.primary_key}
    return statement.on_conflict_do_update(index_elements=["name"], set_=fresh)
