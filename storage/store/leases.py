"""What only one process may do at a time, by name."""

from __future__ import annotations

from datetime import datetime, timedelta
from functools import cache

from sqlalchemy import Connection, Executable, bindparam, delete, or_

from storage.columns import SERVER_CLOCK, UtcTime
from storage.store.upserts import upsert
from storage.tables import leases

GIVE_BACK = delete(leases).where(leases.c.name == bindparam("lease"), leases.c.owner == bindparam("whose"))


def lease(connection: Connection, name: str, owner: str, seconds: float, now: datetime) -> bool:
    """Take or renew a lease; on PostgreSQL by its own clock, because those of several machines differ."""
    if not seconds:
        connection.execute(GIVE_BACK, {"lease": name, "whose": owner})
        return False
    shared = connection.dialect.name == "postgresql"
    values = {"name": name, "owner": owner}
    if shared:
        statement = _take(shared=True, microseconds=int(seconds * 1_000_000))
    else:
        statement = _take(shared=False, microseconds=0)
        values |= {"until": now + timedelta(seconds=seconds), "now": now}  # type: ignore[dict-item]
    return connection.execute(statement, values).first() is not None


@cache
def _take(*, shared: bool, microseconds: int) -> Executable:
    statement = upsert("postgresql" if shared else "sqlite", leases)
    current = SERVER_CLOCK if shared else bindparam("now", type_=UtcTime)
    if shared:
        statement = statement.values(until=SERVER_CLOCK + microseconds)
    return statement.on_conflict_do_update(
        index_elements=["name"],
        set_={"owner": statement.excluded.owner, "until": statement.excluded.until},
        where=or_(leases.c.owner == statement.excluded.owner, leases.c.until < current),
    ).returning(leases.c.name)
