"""The way in for people: a link, a button, a cookie."""

from __future__ import annotations

import asyncio

import pytest

from bot.api import access
from tests.bot.entrance.conftest import House, OpenHouse

DAY = 86_400


async def test_a_link_asks_and_a_button_signs_in(house: House) -> None:
    """Looking at the link, as programs that preview links do, uses nothing up."""
    visitor, link = house.visitor(), await house.link("Ann")
    for _ in range(3):
        asked = await visitor.get(link)
        assert (asked.status, asked.cookies) == (200, [])
        assert "Log in to Signoff as Ann?" in asked.text
    pressed = await visitor.post(link)
    assert (pressed.status, pressed.headers["Location"]) == (303, "/")
    assert (await visitor.get("/page")).json["name"] == "Ann"
    assert await house.acts() == [("Ann", "login", "127.0.0.1")]


async def test_the_cookie_is_out_of_reach(house: House) -> None:
    """Of scripts, of other sites' forms and of other paths; 30 days."""
    [cookie] = (await house.visitor().post(await house.link())).cookies
    name, *attributes = cookie.split("; ")
    assert name.startswith("signoff=")
    assert attributes == ["Path=/", "Max-Age=2592000", "HttpOnly", "SameSite=Lax"]


async def test_with_a_public_https_address_the_cookie_is_secure(open_house: OpenHouse) -> None:
    """And bound to the host by its name."""
    house = await open_house(public_url="https://signoff.example.com")
    [cookie] = (await house.visitor().post(await house.link())).cookies
    assert cookie.startswith("__Host-signoff=")
    assert cookie.endswith("; Secure")
    assert "Domain" not in cookie


async def test_a_link_works_once(house: House) -> None:
    """Whoever comes second is told so, and it is recorded."""
    link = await house.link("Ann")
    assert (await house.visitor().post(link)).status == 303
    for again in (await house.visitor().post(link), await house.visitor().get(link)):
        assert (again.status, again.cookies) == (410, [])
        assert "was used before" in again.text
        assert "signoff login-link NAME" in again.text
    assert [act[:2] for act in await house.acts()] == [("Ann", "login"), *[("Ann", "login_refused")] * 2]


async def test_of_two_at_once_one_gets_in(house: House) -> None:
    """The database decides, not who looked first."""
    link = await house.link()
    came = await asyncio.gather(*(house.visitor().post(link) for _ in range(5)))
    assert sorted(each.status for each in came) == [303, 410, 410, 410, 410]


async def test_a_link_works_for_ten_minutes(house: House) -> None:
    """Up to the last second, not after it."""
    in_time, late = await house.link(), await house.link()
    house.clock.advance(access.LINK_SECONDS - 1)
    assert (await house.visitor().post(in_time)).status == 303
    house.clock.advance(1)
    came = await house.visitor().post(late)
    assert came.status == 410
    assert "has expired" in came.text


@pytest.mark.parametrize("secret", ["x", "a" * 43, "%00", "<script>alert(1)", "ü" * 500])
async def test_a_wrong_link_is_a_clear_page(house: House, secret: str) -> None:
    """It says what to do, shows nothing of what was sent, and is not worth a row in the audit."""
    came = await house.visitor().get(f"/login/{secret}")
    assert (came.status, came.headers["Content-Type"]) == (404, "text/html; charset=utf-8")
    assert "is not known" in came.text
    assert "alert" not in came.text
    assert await house.acts() == []


async def test_a_link_for_somebody_who_left_is_refused(open_house: OpenHouse) -> None:
    """Like every other way in."""
    link = await (await open_house()).link("Bob")
    house = await open_house(people=[])
    came = await house.visitor().post(link)
    assert came.status == 410
    assert "somebody who was removed" in came.text


async def test_another_site_cannot_sign_a_browser_in(house: House) -> None:
    """Else somebody could have others work under a name that is not theirs."""
    link = await house.link()
    for headers in ({"Origin": "https://evil.example"}, {"Origin": "null"}, {"Sec_Fetch_Site": "cross-site"}):
        assert (await house.visitor().post(link, **headers)).status == 403
    assert (await house.visitor().post(link, Origin=house.url, Sec_Fetch_Site="same-origin")).status == 303


async def test_strangers_are_shown_the_way(house: House) -> None:
    """Pages lead to the page that says how to log in, htmx is told to go there, the API answers 401."""
    stranger = house.visitor()
    for path in ("/page", "/admin"):
        came = await stranger.get(path)
        assert (came.status, came.headers["Location"]) == (303, "/login")
    fragment = await stranger.get("/page", HX_Request="true")
    assert (fragment.status, fragment.headers["HX-Redirect"]) == (401, "/login")
    api = await stranger.get("/v1/probe")
    assert (api.status, api.json["error"]["code"]) == (401, "unauthorized")
    assert (await stranger.get("/v1/nothing")).status == 401
    assert "signoff login-link" in (await stranger.get("/login")).text
    assert (await stranger.get("/open")).text == "open"


async def test_log_out_ends_the_session(house: House) -> None:
    """For everybody who holds the cookie, at once."""
    browser = await house.browser("Ann")
    thief = house.visitor()
    thief.jar = dict(browser.jar)
    came = await browser.post("/logout", {"csrf_token": browser.csrf})
    assert (came.status, came.headers["Location"]) == (303, "/login")
    assert "Max-Age=0" in came.cookies[-1]
    for each in (browser, thief):
        assert (await each.get("/v1/probe")).status == 401
    assert [act[:2] for act in await house.acts()] == [("Ann", "login"), ("Ann", "logout")]


async def test_a_new_login_ends_the_old_one(house: House) -> None:
    """A copy of the cookie that the browser had before lets nobody in any more."""
    browser, copy = await house.browser("Ann"), house.visitor()
    copy.jar = dict(browser.jar)
    await browser.sign_in(await house.link("Bob"))
    assert (await browser.get("/page")).json["name"] == "Bob"
    assert (await copy.get("/page")).status == 303
    assert [act[:2] for act in await house.acts()] == [("Ann", "login"), ("Bob", "login"), ("Ann", "logout")]


async def test_a_browser_that_was_away_for_a_month_logs_in_again(house: House) -> None:
    """One that comes by stays."""
    regular, absent = await house.browser(), await house.browser()
    for _ in range(2):
        house.clock.advance(15 * DAY)
        assert (await regular.get("/page")).status == 200
    assert (await absent.get("/page")).status == 303


async def test_the_secret_changes_once_a_day(house: House) -> None:
    """Streams carry the new one along; the old one holds for a minute after the new one was shown."""
    browser, tab = await house.browser(), house.visitor()
    tab.jar = dict(browser.jar)
    house.clock.advance(DAY)
    rotated = await browser.get("/v1/stream")
    assert (rotated.status, len(rotated.cookies)) == (200, 1)
    assert browser.jar != tab.jar
    assert (await browser.get("/v1/probe")).cookies == []
    house.clock.advance(59)
    assert (await tab.get("/v1/probe")).status == 200
    house.clock.advance(1)
    assert (await tab.get("/v1/probe")).status == 401
    assert (await browser.post("/v1/probe", X_CSRF_Token=browser.csrf)).status == 200


async def test_a_lost_answer_does_not_lock_out(house: House) -> None:
    """A browser that never got the new secret goes on with the old one and is handed another."""
    browser = await house.browser()
    old = dict(browser.jar)
    house.clock.advance(DAY)
    await browser.get("/v1/probe")
    browser.jar = dict(old)
    house.clock.advance(3600)
    again = await browser.get("/v1/probe")
    assert (again.status, len(again.cookies)) == (200, 1)
    assert (await browser.get("/v1/probe")).status == 200
    assert browser.jar != old


async def test_a_restart_leaves_everybody_signed_in(open_house: OpenHouse) -> None:
    """Sessions are rows; who left the configuration is out."""
    first = await open_house()
    ann, bob = await first.browser("Ann"), await first.browser("Bob")
    second = await open_house(people=[{"name": "Ann"}])
    for visitor, status in ((ann, 200), (bob, 401)):
        visitor.url = second.url
        assert (await visitor.get("/v1/probe")).status == status


async def test_every_answer_protects_the_browser(house: House) -> None:
    """Pages, errors, health: no script but our own files, no frame, no guessing of types."""
    browser = await house.browser()
    for path in ("/page", "/login", "/login/wrong", "/healthz", "/nowhere", "/v1/probe", "/v1/stream"):
        headers = (await browser.get(path)).headers
        policy = headers["Content-Security-Policy"].split("; ")
        assert policy[:3] == ["default-src 'none'", "script-src 'self'", "style-src 'self'"]
        assert {"frame-ancestors 'none'", "base-uri 'none'", "form-action 'self'"} <= set(policy)
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["Referrer-Policy"] == "same-origin"
    assert (await browser.get("/page")).headers["Cache-Control"] == "no-store"
