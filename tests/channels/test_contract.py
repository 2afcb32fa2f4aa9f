"""What every channel holds to, so that the core treats them alike."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import get_args

import pytest
from aiohttp import web

from agent.domain import COLLECTED, Address, Delivery, Task
from agent.errors import ChannelError, NotFound
from agent.people import People
from agent.ports.channels import Channel, Feature, Outgoing, Shown
from agent.ports.platform import Platform
from channels.callback import Callback
from channels.console import Console
from channels.slack.channel import Slack
from channels.slack.settings import SlackSettings
from channels.telegram.channel import Telegram
from channels.telegram.settings import TelegramSettings
from channels.telegram.state import BotState
from channels.webhook import Webhook
from storage.store.people import SqlRoster
from tests.channels.conftest import DAY, Site
from tests.channels.listener import Listener
from tests.servers.lines import Lines


def a_webhook(site: Site) -> Channel:
    return Webhook(site.inbox, site.store, site.outcomes, site.store.doorbell, site.blobs, site.clock)


def a_callback(site: Site) -> Channel:
    return Callback(site.store, site.outcomes, site.clock, allow_private=False)


@dataclass(frozen=True)
class Case:
    """How a channel is made, and an address of its own that works."""

    name: str
    make: Callable[[Site], Channel]
    address: Address


def lines(_: Site) -> Channel:
    return Lines(Listener())


def slack(site: Site) -> Channel:
    """With nobody at Slack's end."""
    settings = SlackSettings.model_validate(
        {
            "enabled": True,
            "mode": "http",
            "bot_token": "x",
            "signing_secret": "x",
            "base_url": "http://127.0.0.1:9/api/",
        }
    )
    platform = Platform(
        chat=Listener(),
        people=People((), SqlRoster(site.store.database)),
        deliveries=site.store,
        leases=site.store,
        blobs=site.blobs,
        clock=site.clock,
        report=lambda *_: None,
        public_url=None,
    )
    return Slack(settings, platform, rows=site.store, max_file_bytes=1)


def telegram(site: Site) -> Channel:
    """With nobody at Telegram's end."""
    settings = TelegramSettings.model_validate({"enabled": True, "token": "1:x", "base_url": "http://127.0.0.1:9/bot"})
    platform = Platform(
        chat=Listener(),
        people=People((), SqlRoster(site.store.database)),
        deliveries=site.store,
        leases=site.store,
        blobs=site.blobs,
        clock=site.clock,
        report=lambda *_: None,
        public_url=None,
    )
    return Telegram(settings, BotState(site.folder / "telegram"), platform, "one")


CASES = [
    Case("webhook", a_webhook, Address(channel="webhook", conversation="orders", thread="run")),
    Case("callback", a_callback, Address(channel="callback", conversation="orders", thread="http://127.0.0.1:1/cb")),
    Case("console", lambda _: Console(), Address(channel="console", conversation="operator", thread="one")),
    Case("lines", lines, Address(channel="lines", conversation="room")),
    Case("slack", slack, Address(channel="slack", conversation="C1", thread="1.0")),
    Case("telegram", telegram, Address(channel="telegram", conversation="-100", thread="7")),
]
every_channel = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)


def outgoing(site: Site, case: Case, kind: str = "notice") -> Outgoing:
    """A notice to an address of the channel."""
    delivery = Delivery(
        delivery_id=1,
        task_id=None,
        kind=kind,  # type: ignore[arg-type]
        to=case.address,
        text="Hello.",
        dedup_key="notice:1",
        status="pending",
        attempts=0,
        next_attempt_at=site.clock.now(),
        expires_at=site.clock.now() + DAY,
    )
    return Outgoing(delivery=delivery, text=delivery.text)


@every_channel
def test_its_name_is_the_first_part_of_its_addresses(site: Site, case: Case) -> None:
    """The outbox finds a channel by it, and a pattern in `workspaces.*.channels` begins with it."""
    assert case.make(site).name == case.name == case.address.channel


@every_channel
def test_its_features_are_known(site: Site, case: Case) -> None:
    """A misspelt feature would silently never be used."""
    assert case.make(site).features <= set(get_args(Feature))


@every_channel
async def test_it_stops_whether_it_was_started_or_not(site: Site, case: Case) -> None:
    """A start that failed half-way is followed by the same stop; a second one does no harm."""
    channel = case.make(site)
    await channel.stop()
    channel = case.make(site)
    await channel.start()
    await channel.stop()
    await channel.stop()


@every_channel
async def test_what_it_cannot_send_is_a_channel_error(site: Site, case: Case) -> None:
    """Whatever goes wrong on the way out says by its class whether to try again; nothing else comes out."""
    channel = case.make(site)
    with suppress(ChannelError):
        sent_as = await channel.send(outgoing(site, case))
        assert sent_as is None or sent_as
    await channel.stop()


@every_channel
async def test_a_collected_channel_needs_no_sending(site: Site, case: Case) -> None:
    """A delivery to it is `sent` as it is written, so sending one again must be harmless."""
    if case.name in COLLECTED:
        assert await case.make(site).send(outgoing(site, case)) is None


@every_channel
async def test_settling_and_progress_are_best_effort(site: Site, case: Case) -> None:
    """A card that is gone and progress that nobody looks at are no errors."""
    channel = case.make(site)
    await channel.settle(outgoing(site, case, "settle"), "gone")
    task = Task(
        task_id=1, session_id=1, seq=1, origin="message", requester="Ann", reply_to=(case.address,), workspace="office",
        prompt="Go", files=(), status="running", created_at=site.clock.now(), run_after=site.clock.now(),
    )  # fmt: skip
    with suppress(ChannelError):
        await channel.progress(case.address, Shown(task=task, steps=(), text="so far"))
    await channel.stop()


@every_channel
async def test_a_file_it_does_not_have_is_an_error_of_ours(site: Site, case: Case) -> None:
    """In a sentence; a channel that brings its files along has none."""
    channel = case.make(site)
    with pytest.raises((NotFound, ChannelError), match=r"\w\."):
        await channel.download("no-such-file")
    await channel.stop()


@every_channel
async def test_its_routes_are_its_own(site: Site, case: Case) -> None:
    """Two channels never answer for the same path."""
    taken = [
        (route.method, route.path)
        for other in CASES
        for route in other.make(site).routes()
        if isinstance(route, web.RouteDef)
    ]
    assert len(taken) == len(set(taken))
