"""The menu of words that the platform shows, in private chats and in groups."""

from __future__ import annotations

from collections.abc import Sequence

import structlog
from telegram import BotCommand, BotCommandScopeAllGroupChats, BotCommandScopeAllPrivateChats

from agent.errors import ChannelError
from channels.telegram.calls import Calls

log = structlog.get_logger()

EVERYWHERE: Sequence[tuple[str, str]] = (
    ("new", "Begin another conversation"),
    ("stop", "Stop what is being worked on here"),
    ("status", "What goes on here"),
    ("tasks", "The newest tasks"),
    ("approve", "Sign off a card: /approve 12, or its item: /approve 12 2"),
    ("deny", "Refuse a card: /deny 12 and the reason"),
    ("changes", "Have a card proposed differently: /changes 12 and what"),
    ("files", "List files, or those of a folder"),
    ("model", "The models, or choose one for this conversation"),
    ("memory", "What is remembered"),
    ("skills", "What there are instructions for"),
    ("usage", "What was spent"),
    ("whoami", "Who you are here, and what you may ask for"),
    ("help", "All the words"),
)
ALONE: Sequence[tuple[str, str]] = (
    ("workspace", "The workspaces, or begin a conversation in one"),
    ("pair", "For admins: who asks to be let in, or let somebody in"),
)
"""What a group cannot choose, and what names people."""

START = "start"
"""What a client sends when somebody opens the bot (core.telegram.org/bots/features#global-commands)."""


def words() -> frozenset[str]:
    """Everything in the menu."""
    return frozenset(word for word, _ in (*EVERYWHERE, *ALONE))


async def offer_words(calls: Calls) -> None:
    """Set both menus. They only help people type, so a refusal keeps nothing from working."""
    alone = [BotCommand(*each) for each in (*EVERYWHERE, *ALONE)]
    company = [BotCommand(*each) for each in EVERYWHERE]
    try:
        await calls.ask(lambda: calls.bot.set_my_commands(alone, scope=BotCommandScopeAllPrivateChats()))
        await calls.ask(lambda: calls.bot.set_my_commands(company, scope=BotCommandScopeAllGroupChats()))
    except ChannelError as error:
        log.warning("telegram_menu_not_set", reason=str(error))
