"""Chat platforms in a running Signoff: what they are made with, who is let in, and how it is seen that one is down."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import aiohttp
import pytest
import structlog
from pydantic import SecretStr

from agent.chat import PlatformChat
from agent.domain import Address
from agent.errors import ChannelUnavailable
from agent.ports.channels import Channel
from agent.ports.platform import Platform
from bot.app import App, started
from bot.chat import platform_chat
from bot.config import ChannelsSettings, Config, load_config
from bot.services import connected
from channels.admission import ChatSettings
from tests.bot.conftest import Home
from tests.servers.lines import Lines, wired


class LinesSettings(ChatSettings):
    """Those of a chat platform with a token."""

    token: SecretStr | None = None


class WithLines(ChannelsSettings):
    """The channels once it has added its key."""

    lines: LinesSettings = LinesSettings()


def configured(home: Home, **lines: Any) -> Config:
    home.configure(bot={"http": {"port": 0}, "grace_seconds": 0})
    config = load_config(home.folder / "config.yaml", {})
    return config.model_copy(update={"channels": WithLines(lines=LinesSettings.model_validate(lines))})


async def ready(app: App) -> tuple[int, Any]:
    async with aiohttp.ClientSession() as client, client.get(f"{app.url}/readyz") as answer:
        return answer.status, await answer.json()


class Down(Lines):
    """One that the platform does not let in."""

    def __init__(self, platform: Platform) -> None:
        super().__init__(platform.chat)

    async def start(self) -> None:
        raise ChannelUnavailable("The token was revoked.")


class Made:
    """Makes a channel and remembers with what."""

    channel: Lines
    platform: Platform

    def __init__(self, kind: Callable[[Platform], Lines]) -> None:
        self._kind = kind

    def __call__(self, platform: Platform) -> Channel:
        self.platform, self.channel = platform, self._kind(platform)
        return self.channel


async def test_somebody_on_the_allow_list_is_answered(home: Home) -> None:
    """From a platform's socket to the model and back; others are strangers there."""
    made = Made(lambda platform: Lines(platform.chat))
    config = configured(home, enabled=True, allow=["X1"])
    async with started(config, None, made) as app, wired(made.channel) as wire:
        assert (await wire.say("X1", "Hello"))["outcome"] == "task"
        assert await wire.hears("Hello.") == "Hello."
        assert (await wire.say("X2", "Hello"))["outcome"] == "stranger"
        assert await ready(app) == (200, {"status": "ok"})
        assert (await made.platform.people.member("operator")).name == "operator"
        assert await made.platform.leases.lease("poll", "one", 30)
        assert await made.platform.deliveries.live_message(1, Address(channel="lines", conversation="X1")) is None


async def test_one_that_is_down_is_named_until_it_works(home: Home) -> None:
    """The others go on, `/readyz` stays 200, and the log has each change once."""
    made = Made(Down)
    with structlog.testing.capture_logs() as logs:
        async with started(configured(home), None, made) as app:
            assert await ready(app) == (200, {"status": "ok", "down": {"lines": "The token was revoked."}})
            report = made.platform.report
            for problem in ("The token was revoked.", "Again.", None, None):
                report("lines", problem)
            assert await ready(app) == (200, {"status": "ok"})
            report("lines", "The connection is lost.")
            assert (await ready(app))[1]["down"] == {"lines": "The connection is lost."}
    told = [(entry["event"], entry.get("reason")) for entry in logs if entry.get("channel") == "lines"]
    assert told == [
        ("channel_went_down", "The token was revoked."),
        ("channel_went_down", "Again."),
        ("channel_came_back", None),
        ("channel_went_down", "The connection is lost."),
    ]


@pytest.mark.parametrize(
    ("lines", "admitted", "holes"),
    [
        ({"enabled": True, "allow": ["X1", "C1"]}, {"X1", "X2 in C1"}, 0),
        ({"enabled": True, "allow": ["*"]}, {"X1", "X2", "X2 in C1"}, 1),
        ({"enabled": True}, set(), 1),
        ({"allow": ["*"]}, set(), 0),
    ],
)
async def test_who_is_let_in(home: Home, lines: dict[str, Any], admitted: set[str], holes: int) -> None:
    """By the configuration of the platform; it is told when that is everybody or nobody."""
    async with connected(configured(home, **lines)) as services:
        chat: PlatformChat = platform_chat(services)
        tries = {"X1": "X1", "X2": "X2", "X2 in C1": "C1"}
        found = {
            who
            for who, where in tries.items()
            if await chat.admits(f"lines:{who[:2]}", Address(channel="lines", conversation=where))
        }
        assert found == admitted
        told = [hole.text for hole in (await services.survey()).holes()]
    assert len([text for text in told if text.startswith("channels.lines")]) == holes


def test_its_token_is_a_secret(home: Home) -> None:
    """No log may show it; one that is not given is none."""
    assert "xoxb-1" in configured(home, token="xoxb-1").secrets()
    assert configured(home).secrets() == []
