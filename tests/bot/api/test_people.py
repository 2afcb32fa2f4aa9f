"""People and strangers over `/v1`."""

from __future__ import annotations

from typing import Any

import pytest

from bot.api.viewer import SCOPES
from tests.bot.api.site import ADMIN, Site

CEM = {"name": "Cem", "roles": ["approver"], "timezone": "Asia/Tokyo", "budget_day_usd": 2.5}


async def names(site: Site) -> list[str]:
    return [person["name"] for person in (await site.get(ADMIN, "/v1/people")).json["people"]]


async def acts(site: Site) -> list[tuple[str, str, dict[str, Any]]]:
    """What was done to people, the oldest first."""
    rows = reversed((await site.get(ADMIN, "/v1/audit")).json["audit"])
    return [(row["what"], row["subject"], row["detail"]) for row in rows if row["what"] != "token_made"]


async def code_of(site: Site, identity: str = "lines:7", shown_name: str = "Eve") -> str:
    code = (await site.app.services.pairing.knock(identity, shown_name)).code
    assert code is not None
    return code


async def test_a_person_is_added_changed_and_removed(site: Site) -> None:
    """Each time the answer shows them as they are; every act is in the audit."""
    added = await site.post(ADMIN, "/v1/people", CEM)
    assert added.status == 201
    assert added.json == {
        "name": "Cem",
        "roles": ["approver", "member"],
        "timezone": "Asia/Tokyo",
        "account": {"source": "added", "identities": [], "budget_day_usd": 2.5},
    }
    changed = await site.ask(ADMIN, "PATCH", "/v1/people/named/Cem", json={"timezone": None, "roles": ["member"]})
    assert (changed.json["timezone"], changed.json["roles"]) == ("UTC", ["member"])
    assert changed.json["account"]["budget_day_usd"] == 2.5
    assert await names(site) == [ADMIN, "ann", "bob", "Cem"]
    assert (await site.ask(ADMIN, "DELETE", "/v1/people/named/Cem")).status == 204
    assert await names(site) == [ADMIN, "ann", "bob"]
    assert [what for what, *_ in await acts(site)] == ["person_added", "person_changed", "person_removed"]
    assert (await acts(site))[1] == ("person_changed", "Cem", {"roles": ["member"], "timezone": None})


async def test_whoever_is_removed_is_out_at_once(site: Site) -> None:
    """Their tokens end, and a new person of the name has none of them."""
    await site.post(ADMIN, "/v1/people", CEM)
    token = await site.token("Cem")
    assert (await site.get("Cem", "/v1/people/me")).json["name"] == "Cem"
    await site.ask(ADMIN, "DELETE", "/v1/people/named/Cem")
    assert (await site.get("Cem", "/v1/people/me")).status == 401
    await site.post(ADMIN, "/v1/people", CEM)
    assert (await site.get(None, "/v1/people/me", headers={"Authorization": f"Bearer {token}"})).status == 401


async def test_a_role_counts_at_once(site: Site) -> None:
    """Also for a token that was made before."""
    await site.post(ADMIN, "/v1/people", {"name": "Cem", "roles": ["admin"]})
    assert (await site.get("Cem", "/v1/audit")).status == 200
    await site.ask("Cem", "PATCH", "/v1/people/named/Cem", json={"roles": []})
    assert (await site.get("Cem", "/v1/audit")).error["code"] == "missing_role"
    assert (await site.ask("Cem", "PATCH", "/v1/people/named/Cem", json={"roles": ["admin"]})).status == 403


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "code"),
    [
        ("POST", "", {"name": "ann"}, 409, "person_exists"),
        ("POST", "", {"name": "ANN"}, 409, "person_exists"),
        ("POST", "", {"name": "cem"}, 409, "person_exists"),
        ("POST", "", {"name": "operator"}, 422, "invalid"),
        ("POST", "", {"name": "a:b"}, 422, "invalid"),
        ("POST", "", {"name": "Zoe", "roles": ["king"]}, 422, "invalid"),
        ("POST", "", {"name": "Zoe", "timezone": "Mars/Olympus"}, 422, "invalid"),
        ("POST", "", {"name": "Zoe", "budget_day_usd": 0}, 422, "invalid"),
        ("POST", "", {"name": "Zoe", "budget_day_usd": 1e30}, 422, "invalid"),
        ("POST", "", {"name": "Zoe", "identities": ["lines:1"]}, 422, "invalid"),
        ("PATCH", "/ann", {"roles": ["admin"]}, 409, "configured"),
        ("PATCH", "/operator", {"roles": []}, 409, "operator"),
        ("PATCH", "/nobody", {"roles": []}, 404, "not_found"),
        ("PATCH", "/a%00b", {"roles": []}, 404, "not_found"),
        ("DELETE", "/ann", None, 409, "configured"),
        ("DELETE", "/operator", None, 409, "operator"),
        ("DELETE", "/nobody", None, 404, "not_found"),
        ("POST", "/nobody/identities", {"identity": "lines:1"}, 404, "not_found"),
        ("POST", "/operator/identities", {"identity": "lines:1"}, 409, "operator"),
        ("POST", "/ann/identities", {"identity": "console:bob"}, 422, "invalid"),
        ("POST", "/ann/identities", {"identity": "lines"}, 422, "invalid"),
        ("POST", "/ann/identities", {"identity": "lines:9"}, 409, "identity_linked"),
    ],
)
async def test_what_cannot_be_done(site: Site, method: str, path: str, body: Any, status: int, code: str) -> None:
    """Names that are taken or none, people of the configuration, identities of others: said, and nothing changes."""
    await site.post(ADMIN, "/v1/people", CEM)
    await site.post(ADMIN, "/v1/people/named/bob/identities", {"identity": "lines:9"})
    before = (await site.get(ADMIN, "/v1/people")).json
    answer = await site.ask(ADMIN, method, f"/v1/people{path and '/named'}{path}", json=body)
    assert (answer.status, answer.error["code"]) == (status, code), answer.error
    assert (await site.get(ADMIN, "/v1/people")).json == before


async def test_identities_are_linked_and_unlinked(site: Site) -> None:
    """Also of people of the configuration; the person sees their own, nobody else's."""
    linked = await site.post(ADMIN, "/v1/people/named/ann/identities", {"identity": "lines:7"})
    assert (linked.status, linked.json["account"]["identities"]) == (201, ["lines:7"])
    seen = {person["name"]: person["account"] for person in (await site.get("ann", "/v1/people")).json["people"]}
    assert seen == {
        ADMIN: None,
        "ann": {"source": "configuration", "identities": ["lines:7"], "budget_day_usd": None},
        "bob": None,
    }
    assert (await site.get("ann", "/v1/people/me")).json["account"] == seen["ann"]
    assert (await site.ask(ADMIN, "DELETE", "/v1/identities/lines:7")).status == 204
    for unknown in ("lines:7", "lines", "%00"):
        assert (await site.ask(ADMIN, "DELETE", f"/v1/identities/{unknown}")).status == 404
    assert await site.app.services.people.known_as("lines:7") is None


async def test_a_stranger_is_let_in(site: Site) -> None:
    """Their code is for them to tell: the list has it not."""
    code = await code_of(site)
    listed = await site.get(ADMIN, "/v1/strangers")
    assert code not in listed.body.decode()
    assert code.replace("-", "") not in listed.body.decode()
    [stranger] = listed.json["strangers"]
    assert (stranger["identity"], stranger["shown_name"]) == ("lines:7", "Eve")
    let_in = await site.post(ADMIN, "/v1/strangers/admit", {"code": code, "roles": ["approver"]})
    assert let_in.status == 200
    assert (let_in.json["name"], let_in.json["roles"]) == ("Eve", ["approver", "member"])
    assert let_in.json["account"]["identities"] == ["lines:7"]
    assert (await site.get(ADMIN, "/v1/strangers")).json == {"strangers": []}
    assert [what for what, *_ in await acts(site)] == ["pairing_admitted"]


async def test_a_stranger_is_turned_away(site: Site) -> None:
    """By identity, which is all the list shows, or by code."""
    await code_of(site)
    for who in ("lines:7", await code_of(site, "lines:8")):
        assert (await site.post(ADMIN, "/v1/strangers/reject", {"who": who})).status == 204
        assert (await site.post(ADMIN, "/v1/strangers/reject", {"who": who})).status == 404
    assert (await site.get(ADMIN, "/v1/strangers")).json == {"strangers": []}


async def test_wrong_codes_over_http(site: Site) -> None:
    """The sixth in an hour is a Conflict; the audit knows where they came from."""
    tried = [await site.post(ADMIN, "/v1/strangers/admit", {"code": "AAAA-AAAA"}) for _ in range(6)]
    assert [answer.status for answer in tried] == [404] * 5 + [409]
    assert tried[-1].error["code"] == "too_many_codes"
    rows = (await site.get(ADMIN, "/v1/audit?what=pairing_refused")).json["audit"]
    assert {(row["who"], row["way"], row["client"]) for row in rows} == {(ADMIN, "api", "127.0.0.1")}


async def test_a_token_needs_the_scope(site: Site) -> None:
    """An admin's program that was not made for it changes nobody."""
    token = await site.token(ADMIN, SCOPES - {"people:write"})
    answer = await site.ask(None, "POST", "/v1/people", json=CEM, headers={"Authorization": f"Bearer {token}"})
    assert answer.error["code"] == "missing_scope"
