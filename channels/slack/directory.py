"""Who is who in the workspace, and where people are written to; looked up in Slack and remembered for a while."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Iterable

from agent.errors import ChannelError
from channels.slack.calls import Calls
from channels.slack.events import Me

REMEMBERED = 2_000
"""People and conversations; beyond that the oldest are asked for again."""
MOST_LOOKUPS = 20
"""For one message; who else is mentioned keeps their id."""
LOOKUP_SECONDS = 1.0
"""An event is to be acknowledged within 3 s (docs.slack.dev/apis/events-api); names are not worth more of it."""


class Directory:
    """Answers from memory where it can."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls
        self._me: Me | None = None
        self._names: OrderedDict[str, str] = OrderedDict()
        self._directs: OrderedDict[str, str] = OrderedDict()

    async def me(self) -> Me:
        """The bot itself; ChannelUnavailable while Slack does not say."""
        if self._me is None:
            said = await self._calls.call("auth.test")
            told = {name: str(said.get(name) or "") for name in ("user_id", "bot_id", "team_id", "enterprise_id")}
            self._me = Me(
                user=told["user_id"], bot=told["bot_id"], team=told["team_id"], enterprise=told["enterprise_id"]
            )
        return self._me

    async def names(self, users: Iterable[str]) -> dict[str, str]:
        """What people are called, by id; whom Slack does not name in time is missing."""
        wanted = list(dict.fromkeys(users))
        unknown = [user for user in wanted if user not in self._names]
        if unknown:
            looking = [asyncio.ensure_future(self._look_up(user)) for user in unknown[:MOST_LOOKUPS]]
            _, late = await asyncio.wait(looking, timeout=LOOKUP_SECONDS)
            for one in late:
                one.cancel()
        return {user: self._names[user] for user in wanted if user in self._names}

    async def channel(self, conversation: str) -> str:
        """The id that every method takes for the conversation of an address: people are written to by their own id."""
        if not conversation.startswith(("U", "W")):
            return conversation
        if conversation not in self._directs:
            said = await self._calls.call("conversations.open", users=conversation)
            self.note_direct(conversation, str(said["channel"]["id"]))
        return self._directs[conversation]

    def note_direct(self, user: str, channel: str) -> None:
        """Remember under which id a person and the bot talk alone."""
        _remember(self._directs, user, channel)

    async def _look_up(self, user: str) -> None:
        try:
            said = (await self._calls.call("users.info", user=user)).get("user") or {}
        except ChannelError:
            return
        profile = said.get("profile") or {}
        shown = profile.get("display_name") or profile.get("real_name") or said.get("real_name") or said.get("name")
        if shown:
            _remember(self._names, user, str(shown))


def _remember(known: OrderedDict[str, str], key: str, value: str) -> None:
    known[key] = value
    known.move_to_end(key)
    if len(known) > REMEMBERED:
        known.popitem(last=False)
