"""Who may do what: every route of the table, with no token, without its scope, and with another member's token."""

from __future__ import annotations

import re
from typing import Any

import pytest

from bot.api.openapi import document
from bot.api.route import Route
from bot.api.stream import Streams
from bot.api.table import table
from bot.api.viewer import SCOPES, allowed
from tests.bot.api.site import ADMIN, Answer, Site
from tests.servers.llm import Reply

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
NOT_HERS = [
    ("POST", "/v1/tasks", {"text": "hello", "session_id": "session_id"}),
    ("POST", "/v1/tasks", {"text": "hello", "workspace": "workspace"}),
    ("POST", "/v1/sessions", {"workspace": "workspace"}),
    ("GET", "/v1/skills?workspace={workspace}", None),
]


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


async def made(site: Site) -> dict[str, Any]:
    """Everything Ann has: a conversation, a task that made a file, and a card that was decided."""
    (site.home / "annes" / "a.md").write_text("of Ann")
    site.model.will(Reply(calls=[("write_file", {"path": "b.md", "content": "secret of Ann"})]), "Done.")
    task_id = await site.task("ann", "the request of Ann")
    await site.reached(task_id, "waiting_approval")
    task = (await site.get("ann", f"/v1/tasks/{task_id}")).json
    approval_id = task["approvals"][0]["id"]
    assert (await site.post("ann", f"/v1/approvals/{approval_id}/decision", {"verdict": "approved"})).status == 200
    await site.reached(task_id, "done")
    task = (await site.get("ann", f"/v1/tasks/{task_id}")).json
    return {
        "task_id": task_id,
        "session_id": task["session_id"],
        "approval_id": approval_id,
        "artifact_id": task["artifacts"][0]["artifact_id"],
        "workspace": "annes",
    }


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


async def test_what_is_anothers_is_answered_like_what_is_not_there(site: Site) -> None:
    """Word for word, on every route that names a thing; and it is left as it was."""
    ids = await made(site)
    before = (await site.get("ann", f"/v1/tasks/{ids['task_id']}")).json
    mine = [route for route in ROUTES if route.names and route.role == "member"]
    assert len(mine) > 10
    for route in mine:
        foreign, unknown = await sent(site, "bob", route, ids), await sent(site, "bob", route, UNKNOWN)
        assert (named(route), foreign.status) == (named(route), 404)
        assert told(foreign, ids) == told(unknown, UNKNOWN)
    assert (await site.get("ann", f"/v1/tasks/{ids['task_id']}")).json == before
    assert sorted(path.name for path in (site.home / "annes").iterdir()) == ["a.md", "b.md"]


async def test_what_is_anothers_cannot_be_named_in_a_request_either(site: Site) -> None:
    """Nobody joins a foreign conversation or works in a foreign workspace."""
    ids = await made(site)
    for method, path, body in NOT_HERS:
        answers = [
            await site.ask(
                "bob",
                method,
                path.format(**given),
                json=body and {name: given.get(value, value) for name, value in body.items()},
            )
            for given in (ids, UNKNOWN)
        ]
        assert [answer.status for answer in answers] == [404, 404]
        assert told(answers[0], ids) == told(answers[1], UNKNOWN)


async def test_lists_hold_only_what_is_ones_own(site: Site) -> None:
    """Nothing of Ann's is in any list that Bob gets; an admin sees it all."""
    ids = await made(site)
    lists = ["tasks", "sessions", "approvals", "workspaces", "usage?by=model", "usage?by=member", "usage"]
    lists += [f"tasks?workspace=annes&session_id={ids['session_id']}", "tasks?requester=ann", "skills"]
    for path in lists:
        body = (await site.get("bob", f"/v1/{path}")).body.decode()
        assert "Ann" not in body, path
        assert "ann" not in body.replace("channel", ""), path
    [line] = (await site.get(ADMIN, "/v1/usage?by=member")).json["lines"]
    assert (line["key"], line["calls"]) == ("ann", 2)
    assert [task["task_id"] for task in (await site.get(ADMIN, "/v1/tasks")).json["tasks"]] == [ids["task_id"]]
    assert (await site.get("bob", "/v1/usage")).json["total"]["calls"] == 0


async def test_whoami(site: Site) -> None:
    """The name, what the token may do, and where one works."""
    me = (await site.get("bob", "/v1/people/me")).json
    assert (me["name"], me["workspaces"]) == ("bob", [{"name": "bobs", "default": True}])
    assert me["scopes"] == sorted(allowed((await site.viewer("bob")).member))
    people = (await site.get("bob", "/v1/people")).json["people"]
    assert [person["name"] for person in people] == [ADMIN, "ann", "bob"]


def told(answer: Answer, ids: dict[str, Any]) -> str:
    """The answer without the id that was asked for."""
    text = answer.body.decode()
    for value in ids.values():
        text = re.sub(rf"\b{value}\b", "…", text)
    return text
