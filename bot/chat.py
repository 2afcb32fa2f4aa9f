"""What the channels of chat platforms are made with."""

from __future__ import annotations

import os
import secrets
import socket
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial

from agent.chat import PlatformChat
from agent.ports.channels import Channel
from agent.ports.platform import Make, Platform
from bot.api.chat_desk import chat_desk
from bot.services import Services


def platform(services: Services, report: Callable[[str, str | None], None]) -> Platform:
    """What a channel works with; `report` is told how it is."""
    return Platform(
        chat=platform_chat(services),
        people=services.people,
        deliveries=services.store,
        leases=services.store,
        blobs=services.blobs,
        clock=services.clock,
        report=report,
        public_url=services.config.bot.http.public_url,
    )


def platform_chat(services: Services) -> PlatformChat:
    """Where they hand in what they receive."""
    return PlatformChat(
        reception=services.reception,
        store=services.store,
        people=services.people,
        pairing=services.pairing,
        desks=partial(chat_desk, services),
        clock=services.clock,
        allow={name: frozenset(chat.allow) for name, chat in services.config.channels.chats().items()},
    )


def enabled(services: Services) -> Iterator[Make]:
    """Those of the configuration; the library of each is imported only here."""
    if services.config.channels.slack.enabled:
        yield partial(_slack, services)
    if services.config.channels.telegram.enabled:
        yield partial(_telegram, services)


def _slack(services: Services, given: Platform) -> Channel:
    from channels.slack.channel import Slack  # noqa: PLC0415

    config = services.config
    return Slack(
        config.channels.slack,
        given,
        rows=services.store,
        max_file_bytes=config.bot.http.max_upload,
    )


def _telegram(services: Services, given: Platform) -> Channel:
    from channels.telegram.channel import Telegram  # noqa: PLC0415
    from channels.telegram.state import BotState  # noqa: PLC0415

    settings = services.config.channels.telegram
    state = BotState(services.config.bot.data_dir / "telegram" / settings.bot_id)
    chat = platform_chat(services)
    chat = replace(chat, allow={**chat.allow, Telegram.name: state.names(settings.allow)})
    # Where one process runs at a time, the lease of one that died is its successor's at once.
    owner = "embedded" if services.embedded else f"{socket.gethostname()}:{os.getpid()}:{secrets.token_hex(4)}"
    return Telegram(settings, state, replace(given, chat=chat), owner)
