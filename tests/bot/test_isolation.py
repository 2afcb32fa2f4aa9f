"""A member sees and touches only what is theirs: every route, every chat word, every button, one by one.

A new route or word fails here until it is said how it is tried.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import get_args

import pytest

from agent import buttons
from agent.commands import WORDS
from agent.domain import Address
from bot.api import access
from bot.api.viewer import terminal
from tests.bot.api.site import running
from tests.bot.isolated import HOOKS, IDENTITIES, UNKNOWN, House, Ids, Try, made, told, traces, without
from tests.bot.web.visitor import logged_in

ADMIN, OPEN, OWN = Try(expected="admin"), Try(expected="open"), Try(expected="own")
VERDICT = {"verdict": "approved"}

ROUTES: dict[str, tuple[Try, ...]] = {
    # --- for everybody
    "GET /healthz": (OPEN,),
    "GET /readyz": (OPEN,),
    "GET /openapi.json": (OPEN,),
    "GET /static/{name}": (Try(expected="open", path="/static/app.css"),),
    "GET /login": (OPEN,),
    "GET /login/{secret}": (OPEN,),
    "POST /login/{secret}": (OPEN,),
    # --- webhooks: one's own token opens nothing of another's hook
    "POST /hooks/{name}": (
        Try(expected="own", path=f"/hooks/{HOOKS['bob']}", body={"text": "hello"}),
        Try(path=f"/hooks/{HOOKS['bob']}", body={"text": "hello", "follow_up_of": "{hook_task_id}"}),
        Try(path=f"/hooks/{HOOKS['bob']}", body={"text": "hello", "follow_up_of": "{task_id}"}),
    ),
    "GET /hooks/{name}/tasks/{id}": (
        Try(path=f"/hooks/{HOOKS['bob']}/tasks/{{hook_task_id}}"),
        Try(path=f"/hooks/{HOOKS['bob']}/tasks/{{task_id}}"),
    ),
    "GET /hooks/{name}/artifacts/{id}": (
        Try(path=f"/hooks/{HOOKS['bob']}/artifacts/{{hook_artifact_id}}"),
        Try(path=f"/hooks/{HOOKS['bob']}/artifacts/{{artifact_id}}"),
    ),
    # --- /v1
    "GET /v1/tasks": (
        OWN,
        Try(expected="own", query="?workspace={workspace}"),
        Try(expected="own", query="?session_id={session_id}"),
        Try(expected="own", query="?requester=ann"),
        Try(expected="own", query="?origin=webhook"),
    ),
    "POST /v1/tasks": (
        Try(expected="own", body={"text": "hello"}),
        Try(body={"text": "hello", "session_id": "{session_id}"}),
        Try(body={"text": "hello", "workspace": "{workspace}"}),
    ),
    "GET /v1/tasks/{task_id}": (Try(), Try(path="/v1/tasks/{hook_task_id}")),
    "POST /v1/tasks/{task_id}/cancel": (Try(),),
    "GET /v1/tasks/{task_id}/journal": (Try(), Try(query="?after=1")),
    "GET /v1/tasks/{task_id}/events": (Try(),),
    "GET /v1/sessions": (OWN, Try(expected="own", query="?archived=true")),
    "POST /v1/sessions": (Try(expected="own", body={}), Try(body={"workspace": "{workspace}"})),
    "GET /v1/sessions/{session_id}": (Try(),),
    "PATCH /v1/sessions/{session_id}": (Try(body={"title": "x"}), Try(body={"archived": True})),
    "GET /v1/approvals": (OWN, Try(expected="own", query="?status=open")),
    "GET /v1/approvals/{approval_id}": (Try(),),
    "POST /v1/approvals/{approval_id}/decision": (
        Try(body=VERDICT),
        Try(body={"verdict": "denied", "reason": "no"}),
        Try(body={"verdict": "changes", "reason": "no"}),
    ),
    "POST /v1/approvals/{approval_id}/edit": (Try(body={"item": 1, "arguments": {"path": "b.md", "content": ""}}),),
    "POST /v1/approvals/{approval_id}/ask-again": (Try(),),
    "GET /v1/artifacts/{artifact_id}": (Try(), Try(path="/v1/artifacts/{hook_artifact_id}")),
    "GET /v1/artifacts/{artifact_id}/metadata": (Try(),),
    "GET /v1/workspaces": (OWN,),
    "GET /v1/files/{workspace}": (Try(), Try(expected="refused", path="/v1/files/bobs", query="?path=../{workspace}")),
    "POST /v1/files/{workspace}": (Try(query="?name=new.md"),),
    "GET /v1/files/{workspace}/content": (
        Try(query="?path=secret.md"),
        Try(expected="refused", path="/v1/files/bobs/content", query="?path=../{workspace}/plain.md"),
    ),
    "GET /v1/files/{workspace}/preview": (
        Try(query="?path=secret.md"),
        Try(expected="refused", path="/v1/files/bobs/preview", query="?path=../{workspace}/plain.md"),
    ),
    "GET /v1/memory/{workspace}": (Try(),),
    "PUT /v1/memory/{workspace}": (Try(expected="admin", body={"text": "x"}),),
    "GET /v1/skills": (OWN, Try(query="?workspace={workspace}")),
    "GET /v1/policy": (OWN,),
    "GET /v1/usage": (OWN, Try(expected="own", query="?by=member"), Try(expected="own", query="?by=model")),
    "GET /v1/people/me": (OWN,),
    "GET /v1/people": (OWN,),
    "POST /v1/people": (Try(expected="admin", body={"name": "Eve"}),),
    "PATCH /v1/people/named/{name}": (Try(expected="admin", body={"roles": []}),),
    "DELETE /v1/people/named/{name}": (ADMIN,),
    "POST /v1/people/named/{name}/identities": (Try(expected="admin", body={"identity": "lines:9"}),),
    "DELETE /v1/identities/{identity}": (ADMIN,),
    "GET /v1/strangers": (ADMIN,),
    "POST /v1/strangers/admit": (Try(expected="admin", body={"code": "AAAA-AAAA"}),),
    "POST /v1/strangers/reject": (Try(expected="admin", body={"who": "lines:9"}),),
    "GET /v1/audit": (ADMIN,),
    # --- pages
    "GET /": (OWN,),
    "POST /logout": (OPEN,),
    "GET /chat": (OWN,),
    "POST /chat": (
        Try(expected="own", body={"text": "hello"}),
        Try(body={"text": "hello", "workspace": "{workspace}"}),
    ),
    "GET /chats": (OWN, Try(expected="own", query="?now={session_id}")),
    "GET /chats/archived": (OWN,),
    "GET /chat/{session_id}": (Try(),),
    "POST /chat/{session_id}": (Try(body={"text": "hello"}), Try(body={"text": "/tasks"})),
    "GET /chat/{session_id}/live": (Try(endless=True),),
    "POST /chat/{session_id}/title": (Try(body={"title": "x"}),),
    "POST /chat/{session_id}/archived": (Try(body={"archived": "true"}),),
    "GET /tasks": (
        OWN,
        Try(expected="own", query="?workspace={workspace}"),
        Try(expected="own", query="?requester=ann"),
    ),
    "GET /tasks/{task_id}": (Try(), Try(path="/tasks/{hook_task_id}")),
    "POST /tasks/{task_id}/cancel": (Try(),),
    "GET /approvals": (OWN, Try(expected="own", query="?show=all")),
    "GET /approvals/waiting": (OWN,),
    "GET /approvals/{approval_id}": (Try(),),
    "POST /approvals/{approval_id}": (
        Try(body=VERDICT),
        Try(body={"verdict": "changes", "reason": "no"}),
    ),
    "POST /approvals/{approval_id}/edit": (Try(body={"item": "1", "text.path": "b.md", "text.content": ""}),),
    "POST /approvals/{approval_id}/again": (Try(),),
    "GET /files": (OWN,),
    "GET /files/{workspace}": (Try(),),
    "GET /files/{workspace}/view": (Try(query="?path=secret.md"),),
    "GET /memory": (OWN, Try(query="?workspace={workspace}")),
    "POST /memory/{workspace}": (Try(expected="admin", body={"text": "x"}),),
    "GET /skills": (OWN, Try(query="?workspace={workspace}")),
    "GET /policy": (OWN,),
    "GET /usage": (OWN,),
    "GET /people": (ADMIN,),
    "POST /people": (Try(expected="admin", body={"name": "Eve"}),),
    "POST /people/{name}": (ADMIN,),
    "POST /people/{name}/remove": (ADMIN,),
    "POST /people/{name}/link": (Try(expected="admin", body={"identity": "lines:9"}),),
    "POST /identities/unlink": (Try(expected="admin", body={"identity": IDENTITIES["ann"]}),),
    "POST /strangers/admit": (Try(expected="admin", body={"code": "AAAA-AAAA"}),),
    "POST /strangers/reject": (Try(expected="admin", body={"who": "lines:9"}),),
}
"""How Bob tries each route."""

SAID: dict[str, tuple[str, ...]] = {
    "help": ("",),
    "new": ("",),
    "stop": ("", "{task_id}"),
    "status": ("",),
    "tasks": ("", "{task_id}", "annes"),
    "files": ("", "../annes", "/annes", "secret.md"),
    "model": ("", "fake"),
    "usage": ("",),
    "memory": ("", "annes"),
    "skills": ("", "annes"),
    "workspace": ("", "{workspace}"),
    "approve": ("{approval_id}", "{approval_id} 1", "{approval_id} happened"),
    "deny": ("{approval_id} no", "{approval_id} 1 no"),
    "changes": ("{approval_id} no",),
    "pair": ("", "AAAA-AAAA", "AAAA-AAAA ann"),
    "whoami": ("",),
}
"""What Bob writes behind each chat word."""


@pytest.fixture
async def house(tmp_path: Path) -> AsyncIterator[House]:
    async with running(tmp_path) as site:
        ids = await made(site)
        yield House(site=site, ids=ids, ann=await logged_in(site, "ann"), bob=await logged_in(site, "bob"))


async def test_every_route_is_tried(house: House) -> None:
    """The table above is complete, and names nothing that there is not."""
    routes = {f"{method} {path}" for method, path in house.site.app.server.routes() if method != "HEAD"}
    assert routes == set(ROUTES)


async def test_no_route_leads_to_what_is_anothers(house: House) -> None:
    """What is Ann's is answered to Bob word for word like what is not there, and is left as it was."""
    before = await house.state()
    for route, tries in ROUTES.items():
        for one in tries:
            await tried(house, route, one)
    assert await house.state() == before


async def tried(house: House, route: str, one: Try) -> None:
    """One try of Bob's."""
    await house.quiet()
    who, what = None if one.expected == "open" else "bob", (route, one)
    foreign, unknown = await house.asked(who, route, one, house.ids), await house.asked(who, route, one, UNKNOWN)
    said = told(foreign, one.named(route, house.ids))
    assert traces(said) == [], what
    if one.named(route, UNKNOWN):
        assert (foreign.status, said) == (unknown.status, told(unknown, one.named(route, UNKNOWN))), what
    match one.expected:
        case "hidden":
            assert foreign.status == 404, what
        case "refused":
            assert foreign.status == 422, what
        case "own":
            assert foreign.status < 400, what
        case "admin":
            assert foreign.status == 403, what


async def test_what_is_tried_is_there(house: House) -> None:
    """For Ann each of these ids opens something, or Bob's tries would prove nothing."""
    for route, tries in ROUTES.items():
        for one in tries:
            if route.startswith("GET /") and one.expected == "hidden" and not one.endless:
                path = one.path.replace(HOOKS["bob"], HOOKS["ann"])
                if path.endswith(("tasks/{task_id}", "artifacts/{artifact_id}")) and path.startswith("/hooks"):
                    continue  # hers, and not her hook's
                answer = await house.asked("ann", route, Try(path=path, query=one.query), house.ids)
                assert answer.status == 200, (route, one, answer.body)


async def test_a_token_opens_one_hook(house: House) -> None:
    """Another's hook answers like one that there is not."""
    for path in ("", "/tasks/{hook_task_id}", "/artifacts/{hook_artifact_id}"):
        method, body = ("GET", None) if path else ("POST", {"text": "hello"})
        answers = [
            await house.asked("bob", f"{method} /hooks/{name}{path}", Try(body=body), house.ids)
            for name in (HOOKS["ann"], "nobodys-hook")
        ]
        assert [answer.status for answer in answers] == [401, 401]
        assert answers[0].body == answers[1].body


# --- chat -------------------------------------------------------------------------------------------------------------


def test_every_word_is_tried() -> None:
    """The table above is complete, and names nothing that there is not."""
    assert set(SAID) == set(WORDS)


async def test_no_word_leads_to_what_is_anothers(house: House) -> None:
    """In the console and on a chat platform: Ann's ids say what unknown ones say, and nothing of hers is shown."""
    before = await house.state()
    for word, rests in SAID.items():
        for rest in rests:
            foreign, unknown = await said(house, word, rest, house.ids), await said(house, word, rest, UNKNOWN)
            assert foreign == unknown, (word, rest)
            assert traces(" ".join(foreign)) == [], (word, rest)
    assert await house.state() == before


async def said(house: House, word: str, rest: str, ids: Ids) -> tuple[str, str]:
    """What Bob is told to a word, here and there, without what he wrote himself."""
    await house.quiet()
    written = f"/{word} {rest}".strip().format_map(ids)
    mine = {name: value for name, value in ids.items() if f"{{{name}}}" in rest} | {"own": rest.lstrip("./") or "…"}
    console = await house.asked("bob", "POST /chat", Try(body={"text": written}), {})
    return told(console, mine), without(await house.written(written), mine)


async def test_no_button_leads_to_what_is_anothers(house: House) -> None:
    """The token of another's card, come by somehow, is unknown here like one that was made up, whatever is pressed."""
    before = await house.state()
    for verb in get_args(buttons.Verb):
        values = [buttons.Value(token=str(ids["token"]), revision=1, verb=verb, item=1) for ids in (house.ids, UNKNOWN)]
        answers = [await house.pressed(str(value)) for value in values]
        assert {answer.partition(": ")[0] for answer in answers} == {"refused:not_found"}, verb
        assert traces(answers[0]) == [], verb
    assert await house.state() == before


async def test_a_group_shows_what_it_works_on(house: House) -> None:
    """To everybody who speaks there, and nothing of what they have elsewhere."""
    said = await house.written("/status", Address(channel="lines", conversation="a group"))
    assert "lines-a-group" in said
    assert "bobs" not in said
    assert traces(said) == []


# --- terminal ---------------------------------------------------------------------------------------------------------


async def test_the_tokens_of_a_member(house: House) -> None:
    """`signoff people tokens NAME`, the only listing of one member at the terminal, has no other's."""
    services = house.site.app.services
    for name in ("ann", "bob"):
        await house.site.token(name)
    operator = terminal(services.people, services.workspaces)
    assert {token.member for token in await access.list_tokens(services, operator, "bob")} == {"bob"}
