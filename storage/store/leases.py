"""What only one process may do at a time, by name."""

from __future__ import annotations

from datetime import datetime
from functools import cache

from sqlalchemy import BigInteger, Connection, Executable, bindparam, delete, or_

from storage.columns import lease_clock
from storage.store.upserts import upsert
from storage.tables import leases

GIVE_BACK = delete(leases).where(leases.c.name == bindparam("lease"), leases.c.owner == bindparam("whose"))


def lease(connection: Connection, name: str, owner: str, seconds: float, now: datetime) -> bool:
    if seconds <= 0:
        connection.execute(GIVE_BACK, {"lease": name, "whose": owner})
        return False
    values = {"lease": name, "whose": owner, "now": now, "microseconds": int(seconds * 1_000_000)}
    return connection.execute(_take(connection.dialect.name), values).first() is not None


@cache
def _take(dialect: str) -> Executable:
    """Insert the row, or change one that is our own or ran out; no row comes back when it is somebody else's."""
    until = lease_clock(dialect) + bindparam("microseconds", type_=BigInteger)
    new = upsert(dialect, leases).values(name=bindparam("lease"), owner=bindparam("whose"), until=until)
    return new.on_conflict_do_update(
        index_elements=[leases.c.name],
        set_={"owner": new.excluded.owner, "until": new.excluded.until},
        where=or_(leases.c.owner == new.excluded.owner, leases.c.until < lease_clock(dialect)),
    ).returning(leases.c.name)
