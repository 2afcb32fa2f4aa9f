"""Who is let in to what: tokens, roles, scopes, and what another site makes a browser send."""

from __future__ import annotations

import asyncio
from itertools import product

import pytest

from bot.api import access, audit
from bot.api.viewer import ADMIN_SCOPES, DEFAULT_SCOPES, SCOPES, terminal
from bot.entrance.door import Door
from bot.entrance.rules import Guarded
from bot.server import Health, Server
from tests.bot.entrance.conftest import GUARDED, House, OpenHouse


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


async def test_a_token_is_its_member(house: House) -> None:
    """With the scopes it was made with; the default reads and asks, and does not decide."""
    token = await house.token("Ann")
    came = (await house.visitor().post("/v1/probe", **bearer(token))).json
    assert (came["name"], came["way"], came["client"]) == ("Ann", "api", "127.0.0.1")
    assert set(came["scopes"]) == DEFAULT_SCOPES == SCOPES - ADMIN_SCOPES - {"approvals:decide"}


async def test_a_token_reaches_no_further_than_its_scopes(house: House) -> None:
    """What it was not made for is forbidden, whatever its member may."""
    token = await house.token("Zoe", "tasks:read")
    visitor = house.visitor()
    assert (await visitor.get("/v1/probe", **bearer(token))).status == 200
    refused = await visitor.post("/v1/probe", **bearer(token))
    assert (refused.status, refused.json["error"]["code"]) == (403, "missing_scope")
    assert (await visitor.get("/v1/audit", **bearer(token))).status == 403


async def test_a_token_reaches_no_further_than_its_member(open_house: OpenHouse) -> None:
    """Roles count as they are today."""
    token = await (await open_house()).token("Zoe", "audit:read")
    house = await open_house(people=[{"name": "Zoe"}])
    assert (await house.visitor().get("/v1/audit", **bearer(token))).status == 403


async def test_whatever_is_wrong_with_a_token_is_401(open_house: OpenHouse) -> None:
    """The same answer for all of it; a cookie beside it does not help."""
    first = await open_house()
    good, gone, brief = await first.token("Ann"), await first.token("Bob"), await first.token("Ann", seconds=60)
    revoked = await first.token("Ann")
    services = first.services
    await access.revoke_token(services, terminal(services.people, services.workspaces), int(revoked.split("_")[1]))
    first.clock.advance(60)
    house = await open_house(people=[{"name": "Ann"}])
    browser = await house.browser("Ann")
    other = good.replace("signoff_1_", "signoff_2_")
    bad = ["", "x", good[:-1], f"{good}x", good.lower(), other, "signoff_999_" + "a" * 43, gone, brief, revoked, "ü"]
    answers = set()
    for token in bad:
        for visitor in (house.visitor(), browser):
            came = await visitor.get("/v1/probe", **bearer(token))
            assert (came.status, came.headers["WWW-Authenticate"]) == (401, "Bearer"), token
            answers.add(came.text)
    assert len(answers) == 1
    assert (await house.visitor().get("/v1/probe", **bearer(good))).status == 200


async def test_only_the_hash_of_a_secret_is_kept(house: House) -> None:
    """Neither the database nor a copy of it lets anybody in."""
    secrets = [(await house.token("Ann")).split("_", 2)[2], (await house.link()).rsplit("/", 1)[1]]
    secrets += (await house.browser()).jar.values()
    folder = house.services.config.bot.data_dir
    stored = b"".join(path.read_bytes() for path in folder.glob("signoff.sqlite3*"))
    assert b"token_made" in stored
    assert [secret for secret in secrets if secret.encode() in stored] == []


async def test_a_token_needs_no_csrf_token(house: House) -> None:
    """Another site cannot make a browser send it; it may come from anywhere."""
    token = await house.token("Ann")
    came = await house.visitor().post("/v1/probe", **bearer(token), Origin="https://elsewhere.example")
    assert came.status == 200


async def test_a_browser_changes_nothing_without_its_csrf_token(house: House) -> None:
    """In the header, or in the field of a plain form; another session's is as good as none."""
    browser, other = await house.browser("Ann"), await house.browser("Ann")
    for headers in ({}, {"X_CSRF_Token": ""}, {"X_CSRF_Token": "ü"}, {"X_CSRF_Token": other.csrf}):
        refused = await browser.post("/v1/probe", **headers)
        assert (refused.status, refused.json["error"]["code"]) == (403, "csrf")
    for form in ({"a": "b"}, {"csrf_token": other.csrf}):
        assert (await browser.post("/v1/probe", form)).status == 403
    assert (await browser.post("/v1/probe", X_CSRF_Token=browser.csrf)).status == 200
    assert (await browser.post("/v1/probe", {"csrf_token": browser.csrf})).status == 200


async def test_a_browser_changes_nothing_for_another_site(house: House) -> None:
    """Not even with the right token."""
    browser = await house.browser()
    for headers in ({"Origin": "https://evil.example"}, {"Origin": "null"}, {"Sec_Fetch_Site": "same-site"}):
        refused = await browser.post("/v1/probe", X_CSRF_Token=browser.csrf, **headers)
        assert (refused.status, refused.json["error"]["code"]) == (403, "foreign_origin")
    assert (await browser.post("/v1/probe", X_CSRF_Token=browser.csrf, Origin=house.url)).status == 200


async def test_the_password_of_a_proxy_is_not_a_token(house: House) -> None:
    """A proxy that asks for one passes it on with every request of the browser."""
    browser = await house.browser("Ann")
    assert (await browser.get("/v1/probe", Authorization="Basic YTpi")).json["way"] == "console"
    assert (await house.visitor().get("/v1/probe", Authorization="Basic YTpi")).status == 401


async def test_roles_guard_pages(house: House) -> None:
    """Only admins come where admins belong."""
    for name, status in (("operator", 200), ("Zoe", 200), ("Ann", 403), ("Bob", 403)):
        assert (await (await house.browser(name)).get("/admin")).status == status


async def test_everybody_sees_their_own_workspaces(house: House) -> None:
    """Those whose patterns name them; admins see all, also the private ones of others."""
    for name, seen in (("Ann", ["lab", "shared"]), ("Bob", ["shared"]), ("Zoe", None), ("operator", None)):
        for visitor, headers in (
            (await house.browser(name), {}),
            (house.visitor(), bearer(await house.token(name))),
        ):
            assert (await visitor.get("/v1/probe", **headers)).json["workspaces"] == seen


async def test_two_browsers_do_not_mix(house: House) -> None:
    """Each request is its own sender's, also when many come at once."""
    ann, bob = await house.browser("Ann"), await house.browser("Bob")
    came = await asyncio.gather(*(visitor.get("/v1/probe") for _ in range(20) for visitor in (ann, bob)))
    assert [each.json["name"] for each in came] == ["Ann", "Bob"] * 20


async def test_a_route_without_a_rule_is_closed(house: House) -> None:
    """What somebody forgot to guard answers like nothing at all."""

    class Forgetful(Door):
        def _note(self, route: object, rule: object) -> None:
            """Forget."""

    door = Forgetful(house.services, lambda: [Guarded(each.route, None) for each in GUARDED])
    server = Server(Health(listings=house.services.store), [], max_body=1024, door=door)
    port = await server.start("127.0.0.1", 0)
    try:
        assert (await house.visitor().get(f"http://127.0.0.1:{port}/open")).status == 404
    finally:
        await server.close()


@pytest.mark.parametrize(
    ("method", "path"), list(product(("GET", "HEAD"), ("/v1/probe", "/page", "/admin", "/v1/audit")))
)
async def test_no_guarded_route_lets_a_stranger_in(house: House, method: str, path: str) -> None:
    """HEAD is guarded like GET."""
    assert (await house.visitor().send(method, path)).status in {401, 303}
    assert (await (await house.browser()).send(method, path)).status == 200


async def test_acts_are_recorded(house: House) -> None:
    """Who, what, to what, when and from where; tokens made and revoked among them."""
    services = house.services
    by = terminal(services.people, services.workspaces)
    token, _ = await access.make_token(services, by, "Ann", ["tasks:read"], label="ci")
    await access.revoke_token(services, by, token.token_id)
    await audit.record(services, by, "file_uploaded", "demo/a.csv", size_bytes=3)
    rows = [(row.who, row.what, row.subject, row.detail, row.way) for row in await services.access.audits()]
    made = {"member": "Ann", "label": "ci", "scopes": ["tasks:read"]}
    assert rows == [
        ("operator", "file_uploaded", "demo/a.csv", {"size_bytes": 3}, "cli"),
        ("operator", "token_revoked", "1", {"member": "Ann"}, "cli"),
        ("operator", "token_made", "1", made, "cli"),
    ]
