"""The people that are administered here, their identities on channels, and who asks to be let in."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import datetime
from functools import cache

from sqlalchemy import (
    BindParameter,
    Connection,
    Executable,
    Table,
    bindparam,
    delete,
    exists,
    insert,
    select,
    text,
    update,
)

from agent.errors import Conflict
from agent.ports.access import NewAudit
from agent.ports.people import Link, Pairing, Person
from storage.columns import Json, UtcTime
from storage.database import Database
from storage.store.access import record_act
from storage.store.rows import AnyRow
from storage.store.upserts import upsert
from storage.tables import (
    browser_sessions,
    calls,
    links,
    login_links,
    pairings,
    persons,
    sessions,
    status_in,
    tasks,
    tokens,
)

PERSONS = select(*(persons.c[name] for name in Person.__dataclass_fields__)).order_by(persons.c.folded)
ONE_PERSON = PERSONS.where(persons.c.name == bindparam("person"))
CHANGE_PERSON = update(persons).where(persons.c.name == bindparam("person"))
REMOVE_PERSON = delete(persons).where(persons.c.name == bindparam("person"))
REMOVE_BELONGINGS = [
    delete(table).where(table.c.member == bindparam("person"))
    for table in (links, tokens, login_links, browser_sessions)
]
WAITING = status_in(tasks, "waiting_approval")
LOCK_WAITING = select(tasks.c.task_id).where(WAITING).order_by(tasks.c.task_id).with_for_update()
UNDECIDED_CALLS = (
    select(calls.c.task_id, calls.c.call_id, calls.c.votes)
    .join(tasks, tasks.c.task_id == calls.c.task_id)
    .where(WAITING, status_in(calls, "waiting", "unknown"))
)
SAVE_VOTES = (
    update(calls)
    .where(calls.c.task_id == bindparam("of_task"), calls.c.call_id == bindparam("of_call"))
    .values(votes=bindparam("left", type_=Json))
)
HAS_WORKED = select(
    exists().where(tasks.c.requester == bindparam("person"))
    | exists().where(sessions.c.channel == "console", sessions.c.conversation == bindparam("person"))
)
LINKS = select(links).order_by(links.c.identity)
LINKS_OF_ONE = LINKS.where(links.c.member == bindparam("person"))
OF_IDENTITY: BindParameter[str] = bindparam("of_identity")
ONE_LINK = LINKS.where(links.c.identity == OF_IDENTITY)
REMOVE_LINK = delete(links).where(links.c.identity == OF_IDENTITY)
NOW = bindparam("now", type_=UtcTime)
OPEN_PAIRINGS = select(pairings).where(pairings.c.expires_at > NOW).order_by(pairings.c.asked_at, pairings.c.identity)
OLD_PAIRINGS = delete(pairings).where(pairings.c.expires_at <= NOW)
END_PAIRING = delete(pairings).where(pairings.c.identity == OF_IDENTITY)
USE_PAIRING = END_PAIRING.where(pairings.c.code == bindparam("by_code"), pairings.c.expires_at > NOW)
ONE_BY_ONE = text("LOCK TABLE pairings IN SHARE ROW EXCLUSIVE MODE")
"""PostgreSQL: whoever asks at the same moment waits, or more than allowed would come in together."""


@dataclass(frozen=True, slots=True)
class SqlRoster:
    """Implements Roster. Locks are taken in the order pairing, task, person, link."""

    database: Database

    # --- persons ---

    async def persons(self) -> list[Person]:
        return await self.database.read(lambda connection: [_as_person(row) for row in connection.execute(PERSONS)])

    async def person(self, name: str) -> Person | None:
        return await self.database.read(lambda connection: _person(connection, name))

    async def add_person(self, person: Person, audit: NewAudit) -> None:
        def work(connection: Connection) -> None:
            _add_person(connection, person)
            record_act(connection, audit)

        await self.database.write(work)

    async def change_person(self, person: Person, audit: NewAudit) -> bool:
        return await self.database.write(lambda connection: _change_person(connection, person, audit))

    async def remove_person(self, name: str, audit: NewAudit) -> bool:
        return await self.database.write(lambda connection: _remove_person(connection, name, audit))

    async def has_worked(self, name: str) -> bool:
        return await self.database.read(
            lambda connection: bool(connection.execute(HAS_WORKED, {"person": name}).scalar())
        )

    # --- links ---

    async def links(self, member: str | None = None) -> list[Link]:
        return await self.database.read(lambda connection: _links(connection, member))

    async def link(self, identity: str) -> Link | None:
        return await self.database.read(lambda connection: _link(connection, identity))

    async def add_link(self, link: Link, audit: NewAudit) -> None:
        def work(connection: Connection) -> None:
            connection.execute(END_PAIRING, {"of_identity": link.identity})
            _add_link(connection, link)
            record_act(connection, audit)

        await self.database.write(work)

    async def remove_link(self, identity: str, audit: NewAudit) -> bool:
        return await self.database.write(lambda connection: _remove(connection, REMOVE_LINK, identity, audit))

    # --- pairings ---

    async def ask_pairing(self, pairing: Pairing, most: int) -> Pairing | None:
        return await self.database.write(lambda connection: _ask_pairing(connection, pairing, most))

    async def pairings(self, now: datetime) -> list[Pairing]:
        return await self.database.read(lambda connection: _open_pairings(connection, now))

    async def admit(self, pairing: Pairing, person: Person | None, link: Link, audit: NewAudit) -> bool:
        return await self.database.write(lambda connection: _admit(connection, pairing, person, link, audit))

    async def reject(self, identity: str, audit: NewAudit) -> bool:
        return await self.database.write(lambda connection: _remove(connection, END_PAIRING, identity, audit))


def _person(connection: Connection, name: str) -> Person | None:
    row = connection.execute(ONE_PERSON, {"person": name}).first()
    return _as_person(row) if row else None


def _add_person(connection: Connection, person: Person) -> None:
    """Nothing is left to them of somebody who had this name before, here or in the configuration."""
    _forget_votes(connection, person.name)
    values = asdict(person) | {"folded": person.name.casefold()}
    if not connection.execute(_unless_known(connection.dialect.name, persons), values).rowcount:
        raise Conflict(f"There is somebody named {person.name} already; take another name.", code="person_exists")
    _remove_belongings(connection, person.name)


def _change_person(connection: Connection, person: Person, row: NewAudit) -> bool:
    changes = {"roles": person.roles, "timezone": person.timezone, "budget_day_usd": person.budget_day_usd}
    if not connection.execute(CHANGE_PERSON.values(changes), {"person": person.name}).rowcount:
        return False
    record_act(connection, row)
    return True


def _remove_person(connection: Connection, name: str, row: NewAudit) -> bool:
    """With every way in: whoever is given this name later must not find one open."""
    if not connection.execute(REMOVE_PERSON, {"person": name}).rowcount:
        return False
    _remove_belongings(connection, name)
    record_act(connection, row)
    return True


def _remove_belongings(connection: Connection, name: str) -> None:
    """Also of somebody who stood in the configuration under this name: that leaves no trace here when it ends."""
    for remove in REMOVE_BELONGINGS:
        connection.execute(remove, {"person": name})


def _forget_votes(connection: Connection, name: str) -> None:
    """On cards that are open: an approval of one person must not count as that of another."""
    connection.execute(LOCK_WAITING).all()
    for row in connection.execute(UNDECIDED_CALLS).all():
        if name in row.votes:
            left = [vote for vote in row.votes if vote != name]
            connection.execute(SAVE_VOTES, {"of_task": row.task_id, "of_call": row.call_id, "left": left})


def _links(connection: Connection, member: str | None) -> list[Link]:
    chosen = connection.execute(LINKS) if member is None else connection.execute(LINKS_OF_ONE, {"person": member})
    return [Link(**row._asdict()) for row in chosen]


def _link(connection: Connection, identity: str) -> Link | None:
    row = connection.execute(ONE_LINK, {"of_identity": identity}).first()
    return Link(**row._asdict()) if row else None


def _add_link(connection: Connection, link: Link) -> None:
    if connection.execute(_unless_known(connection.dialect.name, links), asdict(link)).rowcount:
        return
    known = _link(connection, link.identity)
    owner = known.member if known else "somebody"
    raise Conflict(f"{link.identity} belongs to {owner} already; unlink it first.", code="identity_linked")


def _remove(connection: Connection, remove: Executable, identity: str, row: NewAudit) -> bool:
    if not connection.execute(remove, {"of_identity": identity}).rowcount:
        return False
    record_act(connection, row)
    return True


def _open_pairings(connection: Connection, now: datetime) -> list[Pairing]:
    return [Pairing(**row._asdict()) for row in connection.execute(OPEN_PAIRINGS, {"now": now})]


def _ask_pairing(connection: Connection, new: Pairing, most: int) -> Pairing | None:
    if connection.dialect.name == "postgresql":
        connection.execute(ONE_BY_ONE)
    connection.execute(OLD_PAIRINGS, {"now": new.asked_at})
    channel, _, _ = new.identity.partition(":")
    of_channel = [one for one in _open_pairings(connection, new.asked_at) if one.identity.startswith(f"{channel}:")]
    for known in of_channel:
        if known.identity == new.identity:
            return known
    if len(of_channel) >= most:
        return None
    connection.execute(insert(pairings), asdict(new))
    return new


def _admit(connection: Connection, pairing: Pairing, person: Person | None, link: Link, row: NewAudit) -> bool:
    used = {"of_identity": pairing.identity, "by_code": pairing.code, "now": row.at}
    if not connection.execute(USE_PAIRING, used).rowcount:
        return False
    if person is not None:
        _add_person(connection, person)
    _add_link(connection, link)
    record_act(connection, row)
    return True


def _as_person(row: AnyRow) -> Person:
    fields = row._asdict()
    fields["roles"] = tuple(row.roles)
    return Person(**fields)


@cache
def _unless_known(dialect: str, table: Table) -> Executable:
    return upsert(dialect, table).on_conflict_do_nothing()
