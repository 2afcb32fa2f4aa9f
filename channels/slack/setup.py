"""Looks whether a Slack app is set up as it has to be, and says what to click where it is not."""

from __future__ import annotations

from collections.abc import AsyncIterator

import aiohttp

from agent.errors import ChannelError
from agent.ports.clock import Clock
from channels.looked import Looked
from channels.slack.calls import Calls, SlackRefused
from channels.slack.condition import Condition
from channels.slack.manifest import APP_SCOPE, SCOPES, missing
from channels.slack.settings import SlackSettings

SECONDS = 10.0
APP_PAGES = "https://api.slack.com/apps"
INSTALL = f"{APP_PAGES} → your app → OAuth & Permissions → Bot Token Scopes, then Install to Workspace"


async def looked_at(settings: SlackSettings, clock: Clock) -> AsyncIterator[Looked]:
    """Every part of the app that can be asked about: tokens, scopes, connection, and the places in `allow`."""
    calls = Calls(settings, Condition(lambda _: None), clock)
    try:
        bot = await _bot(settings)
        yield bot
        if not bot.ok:
            return
        yield await _connection(calls, settings)
        for place in settings.allow:
            if place.startswith(("C", "G")):
                yield await _place(calls, place)
    finally:
        await calls.close()


async def _bot(settings: SlackSettings) -> Looked:
    """The bot token, with its scopes: Slack tells them in a header of every answer
    (docs.slack.dev/authentication/installing-with-oauth#scopes)."""
    name, token = "slack bot token", settings.bot_token.get_secret_value()
    if not token.startswith("xoxb-"):
        return Looked(name, False, f"this is no bot token, which begins with xoxb-; copy it from {INSTALL}")
    try:
        timeout = aiohttp.ClientTimeout(total=SECONDS)
        async with (
            aiohttp.ClientSession(timeout=timeout, trust_env=True) as session,
            session.post(f"{settings.base_url}auth.test", headers={"Authorization": f"Bearer {token}"}) as answer,
        ):
            said, given = await answer.json(content_type=None), answer.headers.get("x-oauth-scopes", "")
    except (aiohttp.ClientError, TimeoutError, ValueError) as error:
        return Looked(
            name, False, f"Slack could not be reached ({type(error).__name__}); look at the network and proxy"
        )
    if not isinstance(said, dict) or not said.get("ok"):
        code = said.get("error") if isinstance(said, dict) else "no JSON"
        return Looked(
            name, False, f"Slack refuses it ({code}); install the app again and copy the new token: {INSTALL}"
        )
    if lacking := missing([scope.strip() for scope in given.split(",")]):
        why = "; ".join(f"{scope} (to {SCOPES[scope]})" for scope in lacking)
        return Looked(name, False, f"lacks {why}. Add them: {INSTALL}")
    return Looked(name, True, f"{said.get('user')} in {said.get('team')}, all scopes")


async def _connection(calls: Calls, settings: SlackSettings) -> Looked:
    if settings.mode == "http":
        return Looked("slack signing secret", True, "is set; whether it fits shows with the first event")
    name, token = "slack app token", settings.app_token.get_secret_value()
    where = f"{APP_PAGES} → your app → Basic Information → App-Level Tokens, with the scope {APP_SCOPE}"
    if not token.startswith("xapp-"):
        return Looked(name, False, f"this is no app token, which begins with xapp-; make one: {where}")
    try:
        await calls.connect(token)
    except SlackRefused as error:
        return Looked(
            name, False, f"Slack does not connect it ({error.code}); turn on Socket Mode or make one: {where}"
        )
    except ChannelError as error:
        return Looked(name, False, f"{error} Make a new one: {where}")
    return Looked(name, True, "Socket Mode connects")


async def _place(calls: Calls, channel: str) -> Looked:
    name = f"slack channel {channel}"
    try:
        told = (await calls.call("conversations.info", channel=channel)).get("channel") or {}
    except ChannelError as error:
        return Looked(name, False, str(error))
    shown = f"#{told.get('name') or channel}"
    if not told.get("is_member"):
        return Looked(name, False, f"the bot is not in {shown}; write /invite @Signoff there")
    return Looked(name, True, f"the bot is in {shown}")
