"""People and strangers in a real database, for tests of what is decided about them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from agent.domain import Address, Member, Role
from agent.pairing import Pairing
from agent.people import People, PersonSettings
from agent.ports.access import Act, NewAudit
from agent.ports.people import Link, Person
from storage.store.access import SqlAccess
from storage.store.people import SqlRoster
from storage.store.sql import SqlStore, open_store
from tests.clock import START, FakeClock


@dataclass(frozen=True, kw_only=True)
class Rows:
    """A database with nobody in it yet, and those who read it."""

    store: SqlStore
    roster: SqlRoster
    access: SqlAccess
    clock: FakeClock

    def people(self, *settings: PersonSettings, timezone: str = "UTC") -> People:
        return People(settings, self.roster, timezone=timezone)

    def pairing(self, *settings: PersonSettings) -> Pairing:
        return Pairing(people=self.people(*settings), roster=self.roster, access=self.access, clock=self.clock)

    async def add(self, name: str, *roles: Role, timezone: str | None = None) -> None:
        person = Person(name=name, roles=roles, added_at=START, added_by="operator", timezone=timezone)
        await self.roster.add_person(person, _act("person_added"))

    async def change(self, name: str, *roles: Role) -> None:
        person = Person(name=name, roles=roles, added_at=START, added_by="operator")
        assert await self.roster.change_person(person, _act("person_changed"))

    async def link(self, name: str, identity: str) -> None:
        made = Link(identity=identity, member=name, shown_name="", linked_at=START, linked_by="operator")
        await self.roster.add_link(made, _act("identity_linked"))

    async def worked(self, name: str) -> None:
        """Have somebody begin a conversation in their console."""
        await self.store.new_session(Address(channel="console", conversation=name), "office", "")

    async def acts(self) -> Sequence[tuple[str, str, str]]:
        """Who did what to whom, the oldest first."""
        return [(one.who, one.what, one.subject) for one in reversed(await self.access.audits())]


def described(member: Member | None) -> tuple[str, list[str], list[str]]:
    """The name, roles and identities."""
    return (member.name, sorted(member.roles), sorted(member.identities)) if member else ("nobody", [], [])


@asynccontextmanager
async def opened(folder: Path) -> AsyncIterator[Rows]:
    """A new database in a folder."""
    clock = FakeClock()
    store = await open_store(folder / "signoff.db", clock=clock)
    try:
        yield Rows(store=store, roster=SqlRoster(store.database), access=SqlAccess(store.database), clock=clock)
    finally:
        await store.close()


def _act(what: Act) -> NewAudit:
    return NewAudit(at=START, who="operator", what=what)
