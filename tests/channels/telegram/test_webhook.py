"""Receiving by a webhook: only Telegram gets in, and an update is answered with 200 once it is durable."""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import aiohttp
import pytest

from agent.errors import Draining, StorageError
from bot.server import Health, Server
from channels.telegram.channel import Telegram
from channels.telegram.state import BotState
from channels.telegram.webhook import HEADER
from tests.channels.telegram.conftest import Site
from tests.servers.telegram.people import Sent


def free_port() -> int:
    """One that nobody listens at now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@asynccontextmanager
async def posted_to(site: Site) -> AsyncIterator[tuple[Telegram, str]]:
    """A channel in webhook mode on a server, and the server's URL."""
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    channel = site.channel(mode="webhook", public_url=url)
    server = Server(Health(listings=site.store), [channel], max_body=100_000)
    await server.start("127.0.0.1", port)
    await channel.start()
    try:
        yield channel, url
    finally:
        await channel.stop()
        await server.close()


async def test_updates_are_posted_and_taken(site: Site) -> None:
    """In their order, from the first start on."""
    ann = site.tg.user("Ann")
    site.tg.says(ann, site.tg.private(ann), "one")
    async with posted_to(site):
        await site.tg.until(lambda: site.tg.called("setWebhook"))
        site.tg.says(ann, site.tg.private(ann), "two")
        heard = await site.ears.hears(2)
        await site.tg.account.updates.delivered()
    assert [message.text for message in heard] == ["one", "two"]
    [call] = site.tg.called("setWebhook")
    assert "drop_pending_updates" not in call
    assert site.tg.refusals == []


@pytest.mark.parametrize(
    ("path", "headers", "status"),
    [
        pytest.param("{path}", {}, 401, id="no secret"),
        pytest.param("{path}", {HEADER: "wrong"}, 401, id="wrong secret"),
        pytest.param("{path}", {HEADER: "g\xe4nzlich"}, 401, id="strange secret"),
        pytest.param("somewhere", {HEADER: "{secret}"}, 401, id="wrong path"),
        pytest.param("{path}", {HEADER: "{secret}"}, 200, id="right"),
    ],
)
async def test_only_telegram_gets_in(site: Site, path: str, headers: dict[str, str], status: int) -> None:
    """TGU-11: 401 for everybody else, and nothing is done."""
    ann = site.tg.user("Ann")
    state = BotState(site.folder / "telegram")
    async with posted_to(site) as (_, url), aiohttp.ClientSession() as http:
        await site.tg.until(lambda: site.tg.called("setWebhook"))
        await site.tg.account.updates.set_webhook("", "")
        site.tg.says(ann, site.tg.private(ann), "Hello")
        target = f"{url}/channels/telegram/{path.format(path=state.path)}"
        headers = {name: value.format(secret=state.secret_token) for name, value in headers.items()}
        update = site.tg.account.updates.pending[0]
        async with http.post(target, json=update, headers=headers) as answer:
            assert answer.status == status
    assert len(site.ears.heard) == (status == 200)


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b'"x"', b'{"update_id":"x"}', b"\xfe"])
async def test_what_is_no_update_is_refused(site: Site, body: bytes) -> None:
    """Also with the right secret."""
    state = BotState(site.folder / "telegram")
    async with posted_to(site) as (_, url), aiohttp.ClientSession() as http:
        await site.tg.until(lambda: site.tg.called("setWebhook"))
        target, headers = f"{url}/channels/telegram/{state.path}", {HEADER: state.secret_token}
        async with http.post(target, data=body, headers=headers) as answer:
            assert answer.status == 422


async def test_an_update_is_answered_only_when_it_is_durable(site: Site) -> None:
    """Telegram sends it again until then."""
    ann = site.tg.user("Ann")
    site.ears.failures.extend([StorageError("Gone."), Draining("Stopping.")])
    async with posted_to(site):
        await site.tg.until(lambda: site.tg.called("setWebhook"))
        site.tg.says(ann, site.tg.private(ann), "one")
        [heard] = await site.ears.hears()
        await site.tg.account.updates.delivered()
    assert heard.text == "one"
    assert [status for _, status in site.tg.account.updates.pushes] == [503, 503, 200]


async def test_an_album_is_one_request_also_when_its_parts_are_posted_one_by_one(site: Site) -> None:
    """TGF-08: each is answered before the next comes."""
    ann = site.tg.user("Ann")
    async with posted_to(site):
        await site.tg.until(lambda: site.tg.called("setWebhook"))
        site.tg.sends(ann, site.tg.private(ann), *[Sent(name=None, kind="photo") for _ in range(3)])
        [message] = await site.ears.hears()
    assert len(message.awaited_files) == 3


async def test_the_secrets_are_made_once(site: Site) -> None:
    """And kept for the owner's eyes only."""
    first = BotState(site.folder / "telegram")
    again = BotState(site.folder / "telegram")
    assert (first.path, first.secret_token) == (again.path, again.secret_token)
    assert len(first.path) >= 32
    assert len(first.secret_token) >= 32
    assert (site.folder / "telegram" / "state.json").stat().st_mode & 0o077 == 0


async def test_a_webhook_that_somebody_took_away_is_set_again(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another program polled with the same token."""
    monkeypatch.setattr("channels.telegram.webhook.LOOK_SECONDS", 0.05)
    async with posted_to(site):
        await site.tg.until(lambda: site.tg.called("setWebhook"))
        await site.tg.account.updates.set_webhook("", "")
        await site.tg.until(lambda: len(site.tg.called("setWebhook")) == 2)


async def test_a_webhook_that_is_not_reached_is_reported(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """With what Telegram says about it."""
    monkeypatch.setattr("channels.telegram.webhook.LOOK_SECONDS", 0.05)
    ann = site.tg.user("Ann")
    site.ears.failures.extend(StorageError("Gone.") for _ in range(1000))
    async with posted_to(site):
        site.tg.says(ann, site.tg.private(ann), "one")
        await site.ears.until(lambda: any(site.problems))
    assert "Wrong response from the webhook" in str(site.problems[-1])


async def test_no_route_in_polling_mode(site: Site) -> None:
    """Nothing is listened to that is not used."""
    assert site.channel().routes() == ()
