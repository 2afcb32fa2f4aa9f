"""The channel behind the real outbox and the real store: how far a delivery is outlives the process."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import pytest
from pydantic import SecretStr

from agent.domain import Address
from agent.outbox import Outbox
from agent.people import People
from agent.ports.platform import Platform
from agent.ports.store import NewDelivery
from channels.slack.channel import Slack
from channels.slack.settings import SlackSettings
from storage.store.people import SqlRoster
from storage.store.sql import SqlStore, open_store
from tests.channels.listener import Listener
from tests.channels.slack.sending.office import Office
from tests.servers.slack.web_api import Fault

LONG = "\n\n".join(f"Paragraph {number}: " + "word " * 100 for number in range(60))


@pytest.fixture
async def rows(office: Office, tmp_path: Path) -> AsyncIterator[SqlStore]:
    store = await open_store(tmp_path / "signoff.sqlite3", clock=office.clock)
    yield store
    await store.close()


async def flushed(office: Office, rows: SqlStore) -> None:
    """A process sends what is due, and ends."""
    people = People((), SqlRoster(rows.database))
    platform = Platform(
        chat=Listener(), people=people, deliveries=rows, leases=rows, blobs=office.blobs, clock=office.clock,
        report=lambda _channel, _problem: None, public_url=None,
    )  # fmt: skip
    settings = SlackSettings(bot_token=SecretStr(office.slack.bot_token), base_url=office.slack.api_url)
    slack = Slack(settings, platform, rows=rows, max_file_bytes=1_000)
    await Outbox(rows, {"slack": slack}, people, office.clock).flush()
    await slack.stop()


async def test_a_long_notice_goes_on_in_the_next_process(office: Office, rows: SqlStore) -> None:
    """M: limits and a broken connection between its parts; each paragraph is there once, in order."""
    to = Address(channel="slack", conversation=office.ops, thread=office.request.ts)
    expires_at = office.clock.now() + timedelta(days=1)
    await rows.deliver([NewDelivery(kind="notice", to=to, text=LONG, dedup_key="n", expires_at=expires_at)])
    office.slack.api.order("chat.postMessage", Fault(kind="slow", seconds=0), times=2)
    office.slack.api.order("chat.postMessage", Fault(kind="rate_limited", seconds=30))
    office.slack.api.order("chat.postMessage", Fault(kind="cut", after=True))
    for sent in (2, 3, 6):
        await flushed(office, rows)
        office.clock.advance(31)
        assert len(office.thread) == sent
    assert "".join("".join(message.shown for message in office.thread).split()) == "".join(LONG.split())
    assert await rows.due(office.clock.now(), 10, frozenset()) == []
