"""A Slack, two people in a channel with the bot, and the official client."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass

import pytest
from slack_sdk.web.async_client import AsyncWebClient

from tests.servers.slack.server import FakeSlack, running


@dataclass(frozen=True)
class Office:
    slack: FakeSlack
    client: AsyncWebClient
    ann: str
    bob: str
    ops: str


@pytest.fixture
async def office() -> AsyncIterator[Office]:
    async with running() as slack:
        ann, bob = slack.person("ann"), slack.person("bob")
        # By default it repeats a call whose connection broke, also one that took effect.
        client = AsyncWebClient(slack.bot_token, base_url=slack.api_url, retry_handlers=[])
        yield Office(slack, client, ann, bob, slack.room("ops", ann, bob))
