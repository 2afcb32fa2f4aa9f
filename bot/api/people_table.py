"""The routes of people and of strangers, a part of the table."""

from __future__ import annotations

from aiohttp import web

from bot.api import pairing, people
from bot.api.route import Call, Route


def _name(call: Call) -> str:
    return call.request.match_info["name"]


async def _removed(call: Call) -> web.Response:
    await people.remove_person(call.services, call.viewer, _name(call))
    return web.Response(status=204)


async def _unlinked(call: Call) -> web.Response:
    await people.unlink(call.services, call.viewer, call.request.match_info["identity"])
    return web.Response(status=204)


async def _rejected(call: Call) -> web.Response:
    await pairing.reject(call.services, call.viewer, call.body)
    return web.Response(status=204)


PEOPLE = (
    Route(
        method="GET",
        path="/v1/people/me",
        summary="Show who one is and what one may do",
        answers={200: people.Whoami},
        run=lambda call: people.whoami(call.services, call.viewer),
    ),
    Route(
        method="GET",
        path="/v1/people",
        summary="List people",
        scope="people:read",
        answers={200: people.PersonList},
        run=lambda call: people.list_people(call.services, call.viewer),
    ),
    Route(
        method="POST",
        path="/v1/people",
        summary="Add a person",
        scope="people:write",
        role="admin",
        body=people.NewPerson,
        answers={201: people.PersonView},
        refusals=(409,),
        run=lambda call: people.add_person(call.services, call.viewer, call.body),
    ),
    Route(
        method="PATCH",
        path="/v1/people/named/{name}",
        summary="Give an added person other roles, time zone or budget",
        scope="people:write",
        role="admin",
        body=people.PersonChange,
        answers={200: people.PersonView},
        refusals=(409,),
        run=lambda call: people.change_person(call.services, call.viewer, _name(call), call.body),
    ),
    Route(
        method="DELETE",
        path="/v1/people/named/{name}",
        summary="Remove an added person with every way in they had",
        scope="people:write",
        role="admin",
        answers={204: None},
        refusals=(409,),
        run=_removed,
    ),
    Route(
        method="POST",
        path="/v1/people/named/{name}/identities",
        summary="Say that an id on a channel is this person",
        scope="people:write",
        role="admin",
        body=people.NewLink,
        answers={201: people.PersonView},
        refusals=(409,),
        run=lambda call: people.link(call.services, call.viewer, _name(call), call.body),
    ),
    Route(
        method="DELETE",
        path="/v1/identities/{identity}",
        summary="Make an id on a channel a stranger's again",
        scope="people:write",
        role="admin",
        answers={204: None},
        refusals=(409,),
        run=_unlinked,
    ),
    Route(
        method="GET",
        path="/v1/strangers",
        summary="List who asks to be let in",
        scope="people:write",
        role="admin",
        answers={200: pairing.StrangerList},
        run=lambda call: pairing.list_strangers(call.services, call.viewer),
    ),
    Route(
        method="POST",
        path="/v1/strangers/admit",
        summary="Let in whoever was shown a code",
        scope="people:write",
        role="admin",
        body=pairing.Admission,
        answers={200: people.PersonView},
        refusals=(404, 409),
        run=lambda call: pairing.admit(call.services, call.viewer, call.body),
    ),
    Route(
        method="POST",
        path="/v1/strangers/reject",
        summary="Turn a stranger away",
        scope="people:write",
        role="admin",
        body=pairing.Rejection,
        answers={204: None},
        refusals=(404, 409),
        run=_rejected,
    ),
)
