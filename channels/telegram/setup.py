"""Looks whether a bot is set up as it has to be, and gets to know people and groups when it is set up."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any, TypeVar

from agent.errors import ChannelError
from channels.looked import Looked
from channels.telegram.calls import Calls
from channels.telegram.settings import Pace, TelegramSettings
from channels.telegram.state import BotState

T = TypeVar("T")
Json = Mapping[str, Any]

PAUSE_SECONDS = 1.0
"""Between two looks at what has been written; each is answered at once."""
BUTTON = "setup"
SEEN = ("message", "my_chat_member", "callback_query")
PRIVACY = (
    "hears only commands, mentions and replies in groups (privacy mode). To hear everything: @BotFather → /setprivacy →"
    " the bot → Disable, then remove it from the group and add it again"
)


async def looked_at(settings: TelegramSettings, state: BotState) -> AsyncIterator[Looked]:
    """Token, webhook, privacy, and the groups in `allow`."""
    calls = Calls(settings, state, Pace())
    try:
        try:
            me = await calls.me()
        except ChannelError as error:
            yield Looked("telegram token", False, str(error))
            return
        yield Looked("telegram token", True, f"@{me.username}")
        yield await _webhook(calls, settings)
        hears = bool(me.can_read_all_group_messages)
        if settings.groups != "mention" and not hears:
            yield Looked("telegram privacy", False, f"groups is {settings.groups}, but the bot {PRIVACY}")
        for place in settings.allow:
            if place.startswith("-"):
                yield await _group(calls, place, me.id)
    finally:
        await calls.close()


async def _webhook(calls: Calls, settings: TelegramSettings) -> Looked:
    try:
        url = (await calls.ask(calls.bot.get_webhook_info)).url
    except ChannelError as error:
        return Looked("telegram updates", False, str(error))
    if settings.mode == "webhook":
        return Looked("telegram updates", True, "by webhook" if url else "by webhook, which `signoff run` sets")
    if url:
        return Looked("telegram updates", True, "a webhook is set; `signoff run` takes it away and asks instead")
    return Looked("telegram updates", True, "by asking (polling)")


async def _group(calls: Calls, place: str, me: int) -> Looked:
    name = f"telegram group {place}"
    try:
        member = await calls.to_chat(place, lambda chat: calls.bot.get_chat_member(chat, me), repeatable=True)
    except ChannelError as error:
        return Looked(name, False, f"{error} Add the bot to the group.")
    if member.status in {"left", "kicked"}:
        return Looked(name, False, "the bot is not in it; add it there")
    return Looked(name, True, f"the bot is {member.status}")


class Meeting:
    """A bot whose set-up is going on. It only looks at what people write: nothing is taken away from the queue, so
    that whatever waits there is worked on once the bot runs."""

    def __init__(self, settings: TelegramSettings, state: BotState) -> None:
        self._calls = Calls(settings, state, Pace(poll=0))
        self._known = -1

    async def close(self) -> None:
        """Hang up."""
        await self._calls.close()

    async def username(self) -> str:
        """What the bot is called; proves the token. ChannelError."""
        return str((await self._calls.me()).username)

    async def hears_all(self) -> bool:
        """Whether privacy mode is off."""
        return bool((await self._calls.me()).can_read_all_group_messages)

    async def make_way(self) -> None:
        """Take a webhook away: beside one nothing can be asked for. What waits is kept, and is not looked at."""
        await self._calls.ask(lambda: self._calls.bot.delete_webhook(drop_pending_updates=False))
        self._known = max((raw["update_id"] for raw in await self._calls.updates(None, SEEN)), default=-1)

    async def person(self, seconds: float) -> tuple[str, str] | None:
        """The id and name of whoever writes to it alone from now on."""
        return await self._waited(_person, seconds)

    async def group(self, seconds: float) -> tuple[str, str] | None:
        """The id and title of a group it is added to, or that somebody writes to it in, from now on."""
        return await self._waited(_group_of, seconds)

    async def standing(self, group: str) -> str:
        """What the bot is in a group: member, administrator."""
        me = (await self._calls.me()).id
        member = await self._calls.to_chat(group, lambda chat: self._calls.bot.get_chat_member(chat, me))
        return str(member.status)

    async def test(self, person: str, text: str, button: str) -> None:
        """A message with a button, which only shows that both ways work."""
        keyboard = {"inline_keyboard": [[{"text": button, "callback_data": BUTTON}]]}
        arguments = {"text": text, "reply_markup": keyboard}
        await self._calls.to_chat(
            person, lambda chat: self._calls.bot.raw("sendMessage", {"chat_id": chat, **arguments})
        )

    async def pressed(self, person: str, seconds: float) -> bool:
        """Whether that button was pressed; the query is answered."""
        query = await self._waited(lambda raw: _query(raw, person), seconds)
        if query is None:
            return False
        await self._calls.ask(lambda: self._calls.bot.answer_callback_query(query, text="Both ways work."))
        return True

    async def _waited(self, wanted: Callable[[Json], T | None], seconds: float) -> T | None:
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            for raw in await self._calls.updates(None, SEEN):
                if raw["update_id"] > self._known and (found := wanted(raw)) is not None:
                    return found
            await asyncio.sleep(PAUSE_SECONDS)
        return None


def _person(raw: Json) -> tuple[str, str] | None:
    message = raw.get("message") or {}
    chat = message.get("chat") or {}
    if chat.get("type") != "private":
        return None
    return str(chat["id"]), str(message.get("from", {}).get("first_name") or "")


def _group_of(raw: Json) -> tuple[str, str] | None:
    event = raw.get("message") or raw.get("my_chat_member") or {}
    chat = event.get("chat") or {}
    if chat.get("type") not in {"group", "supergroup"}:
        return None
    return str(chat["id"]), str(chat.get("title") or "")


def _query(raw: Json, person: str) -> str | None:
    query = raw.get("callback_query") or {}
    mine = str(query.get("from", {}).get("id")) == person and query.get("data") == BUTTON
    return str(query["id"]) if mine else None
