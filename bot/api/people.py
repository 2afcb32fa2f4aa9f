"""Who one is, who else is here, and what admins change about them."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from typing import Annotated, Literal, NoReturn

from pydantic import Field

from agent.domain import OPERATOR, Member, Role
from agent.errors import BadInput, Conflict, NotFound
from agent.people import is_identity, is_name
from agent.ports.people import Link, Person
from agent.zones import Zone
from bot.api import audit
from bot.api.shapes import Body, Shown, Text
from bot.api.viewer import Scope, Viewer
from bot.api.workspaces import WorkspaceView, list_workspaces
from bot.services import Services

Source = Literal["operator", "configuration", "added"]
MOST_USD = 1_000_000


class Account(Shown):
    """What only admins and the person themselves see. Of `source` only `added` can be changed here; `budget_day_usd`
    null is the general one, `identities` are ids on channels (`channel:id`)."""

    source: Source
    identities: list[str]
    budget_day_usd: float | None


class PersonView(Shown):
    """A person; `account` null: somebody else's."""

    name: str
    roles: list[Role]
    timezone: str
    account: Account | None


class Whoami(PersonView):
    """The viewer: what this way in lets them do, and where they work."""

    scopes: list[Scope]
    workspaces: list[WorkspaceView]


class PersonList(Shown):
    """The operator, then the people in the order of the configuration, then those who were added, by name."""

    people: list[PersonView]


Money = Annotated[Decimal, Field(gt=0, le=MOST_USD, max_digits=12, decimal_places=6)]


class PersonChange(Body):
    """What is given is changed: all roles beside `member`; null is the general time zone or budget."""

    roles: list[Role] = Field(default_factory=list, max_length=10)
    timezone: Zone | None = None
    budget_day_usd: Money | None = None


class NewPerson(PersonChange):
    """Somebody to be added."""

    name: Text


class NewLink(Body):
    """An id on a channel, as `channel:id`."""

    identity: Text


def person_view(services: Services, viewer: Viewer, member: Member) -> PersonView:
    """A member as the viewer sees them."""
    mine = member.name == viewer.member.name
    return PersonView(
        name=member.name,
        roles=sorted(member.roles),
        timezone=member.timezone,
        account=_account(services, member) if mine or "admin" in viewer.member.roles else None,
    )


async def whoami(services: Services, viewer: Viewer) -> Whoami:
    """The viewer."""
    return Whoami(
        **person_view(services, viewer, viewer.member).__dict__,
        scopes=sorted(viewer.scopes),
        workspaces=(await list_workspaces(services, viewer)).workspaces,
    )


async def list_people(services: Services, viewer: Viewer) -> PersonList:
    """Everybody."""
    viewer.require("people:read")
    return PersonList(people=[person_view(services, viewer, member) for member in await services.people.all()])


async def add_person(services: Services, viewer: Viewer, new: NewPerson) -> PersonView:
    """Add somebody; BadInput for a name that is none, Conflict for one that is taken."""
    _require_admin(viewer)
    name = services.people.new_name(new.name)
    person = _changed(Person(name=name, roles=(), added_at=services.clock.now(), added_by=viewer.member.name), new)
    await services.roster.add_person(person, audit.row(services, viewer, "person_added", name, **_said(new)))
    return await _shown(services, viewer, name)


async def change_person(services: Services, viewer: Viewer, name: str, change: PersonChange) -> PersonView:
    """Give an added person other roles, time zone or budget; what is open counts with them at once. NotFound, Conflict
    for whoever stands in the configuration."""
    _require_admin(viewer)
    person = await _added(services, name)
    row = audit.row(services, viewer, "person_changed", name, **_said(change))
    if not await services.roster.change_person(_changed(person, change), row):
        _nobody(name)
    return await _shown(services, viewer, name)


async def remove_person(services: Services, viewer: Viewer, name: str) -> None:
    """Remove an added person with every way in they had; errors as of `change_person`."""
    _require_admin(viewer)
    await _added(services, name)
    if not await services.roster.remove_person(name, audit.row(services, viewer, "person_removed", name)):
        _nobody(name)


async def link(services: Services, viewer: Viewer, name: str, new: NewLink) -> PersonView:
    """Say that an identity is this person; BadInput, NotFound, Conflict when it is somebody's already."""
    _require_admin(viewer)
    identity = new.identity
    if not is_identity(identity):
        raise BadInput(
            f"{identity!r} is no identity: write the chat channel and the person's id there, like slack:U012AB.",
            field="identity",
        )
    if name == OPERATOR.name:
        raise Conflict("The operator is whoever owns the data, not a person; add one and link that.", code="operator")
    await services.people.member(name)
    if owner := await services.people.known_as(identity):
        raise Conflict(f"{identity} belongs to {owner.name} already; unlink it first.", code="identity_linked")
    made = Link(
        identity=identity, member=name, shown_name="", linked_at=services.clock.now(), linked_by=viewer.member.name
    )
    await services.roster.add_link(made, audit.row(services, viewer, "identity_linked", identity, member=name))
    return await _shown(services, viewer, name)


async def unlink(services: Services, viewer: Viewer, identity: str) -> None:
    """Make an identity a stranger's again; NotFound, Conflict when it stands in the configuration."""
    _require_admin(viewer)
    row = audit.row(services, viewer, "identity_unlinked", identity)
    if is_identity(identity) and await services.roster.remove_link(identity, row):
        return
    if owner := await services.people.known_as(identity):
        raise Conflict(f"{identity} stands in config.yaml, with {owner.name}; take it out there.", code="configured")
    raise NotFound(f"{identity!r} is linked to nobody.")


def _require_admin(viewer: Viewer) -> None:
    viewer.require_role("admin")
    viewer.require("people:write")


async def _added(services: Services, name: str) -> Person:
    if name == OPERATOR.name:
        raise Conflict("The operator is whoever owns the data; nothing can be changed about that.", code="operator")
    if services.people.configured(name):
        raise Conflict(f"{name} stands in config.yaml under `people`; change it there and restart.", code="configured")
    return (await services.roster.person(name) if is_name(name) else None) or _nobody(name)


def _nobody(name: str) -> NoReturn:
    raise NotFound(f"There is nobody named {name!r}; `signoff people` lists who there is.")


def _changed(person: Person, change: PersonChange) -> Person:
    """A person with what a change gives."""
    given = {key: getattr(change, key) for key in change.model_fields_set & PersonChange.model_fields.keys()}
    if "roles" in given:
        given["roles"] = tuple(sorted({*given["roles"]} - {"member"}))
    return replace(person, **given)


def _said(change: PersonChange) -> dict[str, object]:
    return change.model_dump(mode="json", include=change.model_fields_set - {"name"})


async def _shown(services: Services, viewer: Viewer, name: str) -> PersonView:
    return person_view(services, viewer, await services.people.member(name))


def _account(services: Services, member: Member) -> Account:
    configured: Source = "configuration" if services.people.configured(member.name) else "added"
    return Account(
        source="operator" if member.name == OPERATOR.name else configured,
        identities=sorted(member.identities),
        budget_day_usd=_usd(member),
    )


def _usd(member: Member) -> float | None:
    return None if member.budget_day_usd is None else float(member.budget_day_usd)
