"""What is believed of a reverse proxy, and from whom."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent.errors import ConfigError
from bot.config import load_config
from bot.entrance.proxies import origin
from tests.bot.entrance.conftest import House, OpenHouse

FORWARDED = {"X_Forwarded_For": "203.0.113.9", "X_Forwarded_Proto": "https", "X_Forwarded_Host": "signoff.example.com"}


async def came_from(house: House, chain: str) -> str:
    visitor = await house.browser()
    client = (await visitor.get("/v1/probe", X_Forwarded_For=chain)).json["client"]
    assert isinstance(client, str)
    return client


async def test_headers_of_strangers_mean_nothing(house: House) -> None:
    """Without trusted proxies, everybody is who they connect as."""
    visitor = house.visitor()
    came = await visitor.post(await house.link(), **FORWARDED)
    assert came.cookies[0].startswith("signoff=")
    assert await house.acts() == [("operator", "login", "127.0.0.1")]
    refused = await house.visitor().post(await house.link(), **FORWARDED, Origin="https://signoff.example.com")
    assert refused.status == 403


async def test_a_trusted_proxy_tells_who_and_where(open_house: OpenHouse) -> None:
    """The sender's address, the scheme for the cookie, the host for the origin."""
    house = await open_house(trusted_proxies=["127.0.0.1"])
    visitor = house.visitor()
    came = await visitor.sign_in(await house.link(), **FORWARDED, Origin="https://signoff.example.com")
    assert came.status == 303
    assert came.cookies[0].startswith("__Host-signoff=")
    assert await house.acts() == [("operator", "login", "203.0.113.9")]
    changed = await visitor.post("/v1/probe", **FORWARDED, X_CSRF_Token=visitor.csrf)
    assert changed.json["client"] == "203.0.113.9"


@pytest.mark.parametrize(
    ("chain", "client"),
    [
        ("203.0.113.9", "203.0.113.9"),
        ("1.1.1.1, 203.0.113.9", "203.0.113.9"),
        ("203.0.113.9, 10.0.0.5, 10.0.0.6", "203.0.113.9"),
        ("203.0.113.9:4711", "203.0.113.9"),
        ("[2001:db8::1]:443", "2001:db8::1"),
        ("2001:db8::1", "2001:db8::1"),
        ("::ffff:203.0.113.9", "203.0.113.9"),
        ("10.0.0.5", "10.0.0.5"),
        ("unknown", "127.0.0.1"),
        ("203.0.113.9, unknown, 10.0.0.5", "10.0.0.5"),
        ("", "127.0.0.1"),
        (" , ,", "127.0.0.1"),
    ],
)
async def test_the_sender_is_whom_the_last_trusted_proxy_saw(open_house: OpenHouse, chain: str, client: str) -> None:
    """What lies before it in the chain may be made up."""
    house = await open_house(trusted_proxies=["127.0.0.0/8", "10.0.0.0/8"])
    assert await came_from(house, chain) == client


@pytest.mark.parametrize("scheme", ["ftp", "https; x", "javascript"])
async def test_nonsense_from_a_proxy_is_ignored(open_house: OpenHouse, scheme: str) -> None:
    """The request's own scheme and host hold then."""
    house = await open_house(trusted_proxies=["127.0.0.1"])
    came = await house.visitor().post(
        await house.link(), X_Forwarded_Proto=scheme, X_Forwarded_Host="a b/<>", Origin=house.url
    )
    assert (came.status, came.cookies[0][:8]) == (303, "signoff=")


async def test_the_public_address_is_an_origin(open_house: OpenHouse) -> None:
    """Also behind a proxy that says nothing; the printed link begins with it."""
    house = await open_house(public_url="https://Signoff.example.com:443/")
    visitor = house.visitor()
    assert (await visitor.sign_in(await house.link(), Origin="https://signoff.example.com")).status == 303
    refused = await house.visitor().post(await house.link(), Origin="http://signoff.example.com")
    assert refused.status == 403


@pytest.mark.parametrize(
    ("scheme", "host", "text"),
    [
        ("http", "Example.com:80", "http://example.com"),
        ("https", "example.com:443", "https://example.com"),
        ("http", "example.com:443", "http://example.com:443"),
        ("http", "[::1]:80", "http://[::1]"),
    ],
)
def test_origins_are_written_like_browsers_do(scheme: str, host: str, text: str) -> None:
    """In lower case, without the port that goes without saying."""
    assert origin(scheme, host) == text


@pytest.mark.parametrize("value", ["proxy.internal", "10.0.0.1/8", "", "10.0.0.0/33"])
def test_what_is_no_address_is_refused(tmp_path: Path, value: str) -> None:
    """With its place in the file: a mistyped range must not trust nobody, or everybody."""
    (tmp_path / "config.yaml").write_text(f"bot: {{http: {{trusted_proxies: ['{value}']}}}}")
    with pytest.raises(ConfigError, match=r"bot\.http\.trusted_proxies\.0: .* is no address"):
        load_config(tmp_path / "config.yaml", {})
