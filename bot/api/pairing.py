"""Strangers who ask to be let in, for admins."""

from __future__ import annotations

from pydantic import Field

from agent.domain import Role
from bot.api.people import PersonView, person_view
from bot.api.shapes import Body, Moment, Shown, Text
from bot.api.viewer import Viewer
from bot.services import Services


class Stranger(Shown):
    """Somebody who asks to be let in. What they call themselves decides nothing; their code is for them to tell."""

    identity: str
    shown_name: str
    asked_at: Moment
    expires_at: Moment


class StrangerList(Shown):
    """Those whose code has not expired, the first first."""

    strangers: list[Stranger]


class Admission(Body):
    """The code that a stranger told an admin. `name` is a new one, or that of somebody we know, whose identity it then
    is; null: what they call themselves. `roles` are for a new person."""

    code: Text
    name: Text | None = None
    roles: list[Role] = Field(default_factory=list, max_length=10)


class Rejection(Body):
    """Whom to turn away, by code or by identity."""

    who: Text


async def list_strangers(services: Services, viewer: Viewer) -> StrangerList:
    """Who asks to be let in."""
    viewer.require("people:write")
    found = await services.pairing.waiting(viewer.member)
    return StrangerList(
        strangers=[Stranger(**{key: getattr(one, key) for key in Stranger.model_fields}) for one in found]
    )


async def admit(services: Services, viewer: Viewer, wanted: Admission) -> PersonView:
    """Let a stranger in; errors as of `Pairing.admit`."""
    viewer.require("people:write")
    member = await services.pairing.admit(
        wanted.code, viewer.member, wanted.name, wanted.roles, way=viewer.way, client=viewer.client
    )
    return person_view(services, viewer, member)


async def reject(services: Services, viewer: Viewer, who: Rejection) -> None:
    """Turn a stranger away; they may ask again. Errors as of `Pairing.admit`."""
    viewer.require("people:write")
    await services.pairing.reject(who.who, viewer.member, way=viewer.way, client=viewer.client)
