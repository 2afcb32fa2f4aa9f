"""The people that are administered while Signoff runs, beside those of the configuration, and who asks to come in."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Protocol

from agent.domain import Role
from agent.ports.access import NewAudit


@dataclass(frozen=True, kw_only=True, slots=True)
class Person:
    """A person added by an admin. `timezone` and `budget_day_usd` None: as configured for everybody."""

    name: str
    roles: tuple[Role, ...]
    added_at: datetime
    added_by: str
    timezone: str | None = None
    budget_day_usd: Decimal | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Link:
    """An identity on a channel (`channel:id`) that belongs to a person, of the configuration or added.

    `shown_name` is what the platform called them then, for people to read; nothing is decided by it.
    """

    identity: str
    member: str
    shown_name: str
    linked_at: datetime
    linked_by: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Pairing:
    """A stranger who asks to be let in. An admin who is told the `code` can admit them until `expires_at`."""

    identity: str
    shown_name: str
    code: str
    asked_at: datetime
    expires_at: datetime


class Roster(Protocol):
    """The rows of people. A change and its audit row are committed together."""

    async def persons(self) -> list[Person]:
        """Everybody who was added, by name."""
        ...

    async def person(self, name: str) -> Person | None:
        """One of them, by the exact name."""
        ...

    async def add_person(self, person: Person, audit: NewAudit) -> None:
        """Add somebody; Conflict when there is a person of that name, upper and lower case being one.

        Whatever way in an earlier person of that name had is theirs no more.
        """
        ...

    async def change_person(self, person: Person, audit: NewAudit) -> bool:
        """Give an added person other roles, time zone or budget; False when there is none."""
        ...

    async def remove_person(self, name: str, audit: NewAudit) -> bool:
        """Remove an added person with their links, API tokens and browser sessions; False when there is none."""
        ...

    async def has_worked(self, name: str) -> bool:
        """Whether somebody of this name has asked for something, or had a conversation in the console."""
        ...

    async def links(self, member: str | None = None) -> list[Link]:
        """Every linked identity, or those of a member, by identity."""
        ...

    async def link(self, identity: str) -> Link | None:
        """Whose an identity is."""
        ...

    async def add_link(self, link: Link, audit: NewAudit) -> None:
        """Link an identity and end its pairing; Conflict when it belongs to somebody already."""
        ...

    async def remove_link(self, identity: str, audit: NewAudit) -> bool:
        """Unlink an identity; False when it is not linked."""
        ...

    async def ask_pairing(self, pairing: Pairing, most: int) -> Pairing | None:
        """The open pairing of an identity, or this new one in place of an expired one.

        None, and nothing is written, when `most` others of the same channel are open already.
        """
        ...

    async def pairings(self, now: datetime) -> list[Pairing]:
        """The open ones, oldest first."""
        ...

    async def admit(self, pairing: Pairing, person: Person | None, link: Link, audit: NewAudit) -> bool:
        """In one transaction: end the pairing, add the person (None: they exist), link the identity.

        False when somebody else ended the pairing before; Conflict as of `add_person` and `add_link`.
        """
        ...

    async def reject(self, identity: str, audit: NewAudit) -> bool:
        """End a pairing; False when there is none."""
        ...
