"""Every route of `/v1` with no token, and without its scope; what belongs to whom: `tests/bot/test_isolation.py`."""

from __future__ import annotations

from typing import Any

import pytest

from bot.api.openapi import document
from bot.api.route import Route
from bot.api.stream import Streams
from bot.api.table import table
from bot.api.viewer import SCOPES, allowed
from tests.bot.api.site import ADMIN, Answer, Site

ROUTES = table(Streams())
UNKNOWN = {
    "task_id": 9001,
    "session_id": 9001,
    "approval_id": 9001,
    "artifact_id": 9001,
    "workspace": "nobodys",
    "name": "nobody",
    "identity": "lines:nobody",
}
BODIES: dict[str, dict[str, Any]] = {
    "POST /v1/tasks": {"text": "hello"},
    "POST /v1/sessions": {},
    "PATCH /v1/sessions/{session_id}": {"title": "x"},
    "POST /v1/approvals/{approval_id}/decision": {"verdict": "approved"},
    "POST /v1/approvals/{approval_id}/edit": {"item": 1, "arguments": {}},
    "PUT /v1/memory/{workspace}": {"text": "x"},
    "POST /v1/people": {"name": "Cem"},
    "PATCH /v1/people/named/{name}": {"roles": []},
    "POST /v1/people/named/{name}/identities": {"identity": "lines:1"},
    "POST /v1/strangers/admit": {"code": "AAAA-AAAA"},
    "POST /v1/strangers/reject": {"who": "lines:1"},
}


def named(route: Route) -> str:
    return f"{route.method} {route.path}"


def query(route: Route) -> str:
    """What a route cannot do without."""
    if route.query is None:
        return ""
    needed = [name for name, field in route.query.model_fields.items() if field.is_required()]
    return "?" + "&".join(f"{name}=a.md" for name in needed) if needed else ""


async def sent(site: Site, who: str | None, route: Route, ids: dict[str, Any], **more: Any) -> Answer:
    path = route.path.format(**ids) + query(route)
    if route.sent:
        more.setdefault("headers", {})["Content-Type"] = "application/octet-stream"
        return await site.ask(who, route.method, f"{path}?name=a.md", data=b"x", **more)
    return await site.ask(who, route.method, path, json=BODIES.get(named(route)), **more)


@pytest.mark.parametrize("route", ROUTES, ids=named)
def test_each_route_with_a_body_is_tried_with_one(route: Route) -> None:
    """The table of bodies above is complete."""
    assert (route.body is not None) == (named(route) in BODIES)


async def test_without_a_token_nobody_comes_in(site: Site) -> None:
    """401 with the same words everywhere, and for a token that was never given."""
    answers = [await sent(site, None, route, UNKNOWN) for route in ROUTES]
    wrong = {"Authorization": "Bearer signoff_1_" + "A" * 43}
    answers += [await sent(site, None, route, UNKNOWN, headers=dict(wrong)) for route in ROUTES]
    answers.append(await site.get(None, "/v1/no/such/thing"))
    assert {answer.status for answer in answers} == {401}
    assert {answer.error["code"] for answer in answers} == {"unauthorized"}
    assert {answer.headers["WWW-Authenticate"] for answer in answers} == {"Bearer"}
    assert len({answer.body for answer in answers}) == 1


async def test_the_description_is_for_everybody(site: Site) -> None:
    """No login is needed to read it, and it holds the routes of the table, each with its scope."""
    answer = await site.get(None, "/openapi.json")
    assert answer.status == 200
    assert answer.json == document(ROUTES)
    described = {(method, path) for path, methods in answer.json["paths"].items() for method in methods}
    assert described == {(route.method.lower(), route.path) for route in ROUTES}
    ids = [one["operationId"] for methods in answer.json["paths"].values() for one in methods.values()]
    assert len(ids) == len(set(ids))


async def test_without_its_scope_a_route_is_forbidden(site: Site) -> None:
    """A token that may do all but this; what is only for admins is forbidden to a member who may do all."""
    for route in ROUTES:
        if route.scope is None:
            continue
        less = await site.token(ADMIN, SCOPES - {route.scope})
        answer = await sent(site, None, route, UNKNOWN, headers={"Authorization": f"Bearer {less}"})
        assert (named(route), answer.status, answer.error["code"]) == (named(route), 403, "missing_scope")
        if route.role == "admin":
            answer = await sent(site, "ann", route, UNKNOWN)
            assert (named(route), answer.status, answer.error["code"]) == (named(route), 403, "missing_role")


async def test_an_admin_sees_all(site: Site) -> None:
    """What each member has, and what each spent; a member sees the own."""
    site.model.will("Done.")
    await site.reached(await site.task("ann"), "done")
    [line] = (await site.get(ADMIN, "/v1/usage?by=member")).json["lines"]
    assert (line["key"], line["calls"]) == ("ann", 1)
    assert [task["requester"] for task in (await site.get(ADMIN, "/v1/tasks")).json["tasks"]] == ["ann"]
    nothing = (await site.get("bob", "/v1/usage")).json["total"]
    assert (nothing["calls"], nothing["cost_usd"]) == (0, 0)


async def test_whoami(site: Site) -> None:
    """The name, what the token may do, and where one works."""
    me = (await site.get("bob", "/v1/people/me")).json
    assert (me["name"], me["workspaces"]) == ("bob", [{"name": "bobs", "default": True}])
    assert me["scopes"] == sorted(allowed((await site.viewer("bob")).member))
    people = (await site.get("bob", "/v1/people")).json["people"]
    assert [person["name"] for person in people] == [ADMIN, "ann", "bob"]
