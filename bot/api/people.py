"""Who one is, and who else is here."""

from __future__ import annotations

from agent.domain import Member, Role
from bot.api.shapes import Shown
from bot.api.viewer import Scope, Viewer
from bot.api.workspaces import WorkspaceView, list_workspaces
from bot.services import Services


class PersonView(Shown):
    """A person of the configuration, or the operator."""

    name: str
    roles: list[Role]
    timezone: str


class Whoami(PersonView):
    """The viewer: what this way in lets them do, and where they work. `budget_day_usd` null: the general one."""

    scopes: list[Scope]
    workspaces: list[WorkspaceView]
    budget_day_usd: float | None


class PersonList(Shown):
    """The operator, then the people in the order of the configuration."""

    people: list[PersonView]


async def whoami(services: Services, viewer: Viewer) -> Whoami:
    """The viewer."""
    member = viewer.member
    return Whoami(
        name=member.name,
        roles=sorted(member.roles),
        timezone=member.timezone,
        scopes=sorted(viewer.scopes),
        workspaces=(await list_workspaces(services, viewer)).workspaces,
        budget_day_usd=None if member.budget_day_usd is None else float(member.budget_day_usd),
    )


async def list_people(services: Services, viewer: Viewer) -> PersonList:
    """Everybody."""
    viewer.require("people:read")
    return PersonList(people=[_person(member) for member in await services.people.all()])


def _person(member: Member) -> PersonView:
    return PersonView(name=member.name, roles=sorted(member.roles), timezone=member.timezone)
