"""What the channels of chat platforms are made with."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from agent.chat import PlatformChat
from agent.ports.platform import Platform
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
