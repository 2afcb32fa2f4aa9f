"""Receiving by a webhook: Telegram posts each update, and sends it again until it was answered with 200."""

from __future__ import annotations

import hmac
import json
from collections.abc import Sequence

import structlog
from aiohttp import web

from agent.errors import BadInput, ChannelError, Draining, NotAuthentic, StorageError
from agent.ports.clock import Clock
from channels.telegram.calls import Calls, TokenRefused
from channels.telegram.intake import Intake
from channels.telegram.polling import Report
from channels.telegram.settings import Pace
from channels.telegram.state import BotState
from channels.telegram.updates import KINDS

log = structlog.get_logger()

PATH = "/channels/telegram/"
HEADER = "X-Telegram-Bot-Api-Secret-Token"
"""core.telegram.org/bots/api#setwebhook"""
LOOK_SECONDS = 300.0
"""How often it is looked whether the webhook is still ours and reached."""


class Webhook:
    """Sets the webhook and takes what is posted to it."""

    def __init__(self, calls: Calls, intake: Intake, state: BotState, clock: Clock, pace: Pace, report: Report) -> None:
        self._calls = calls
        self._intake = intake
        self._state = state
        self._clock = clock
        self._pace = pace
        self._report = report
        self._ready = False

    def routes(self) -> Sequence[web.RouteDef]:
        """Where Telegram posts."""
        return [web.post(f"{PATH}{{path}}", self._posted)]

    async def turn(self, public_url: str) -> None:
        """Make sure that Telegram posts to us, and come back after a while."""
        pause = LOOK_SECONDS
        try:
            if not self._ready:
                await self._intake.begin()
                self._ready = True
            await self._look(f"{public_url.rstrip('/')}{PATH}{self._state.path}")
        except (ChannelError, StorageError) as error:
            self._report(str(error))
            pause = self._pace.refused if isinstance(error, TokenRefused) else self._pace.longest_pause
        await self._clock.sleep(pause)

    async def _look(self, url: str) -> None:
        info = await self._calls.ask(self._calls.bot.get_webhook_info)
        if info.url != url:
            secret_token = self._state.secret_token
            await self._calls.ask(
                lambda: self._calls.bot.set_webhook(url, allowed_updates=KINDS, secret_token=secret_token)
            )
            log.info("telegram_webhook_set")
        stuck = info.url == url and info.pending_update_count and info.last_error_message
        self._report(f"Telegram does not reach {PATH} at bot.http.public_url: {stuck}." if stuck else None)

    async def _posted(self, request: web.Request) -> web.Response:
        path = _same(request.match_info["path"], self._state.path)
        if not (_same(request.headers.get(HEADER, ""), self._state.secret_token) and path):
            raise NotAuthentic("This is no webhook of ours, or the secret token is wrong.")
        if not self._ready:
            raise Draining("Signoff is starting and takes no updates yet.")
        try:
            raw = json.loads(await request.read())
            int(raw["update_id"])
        except (ValueError, TypeError, KeyError, OverflowError, RecursionError):
            raise BadInput("The body is no update of the Bot API.") from None
        await self._intake.take(raw)
        return web.Response()


def _same(given: str, ours: str) -> bool:
    """Compared in constant time, whatever a sender wrote."""
    return hmac.compare_digest(given.encode("utf-8", "surrogateescape"), ours.encode())
