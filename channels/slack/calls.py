"""The one place that calls Slack's Web API, and where its errors become ours."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

import aiohttp
import structlog
from slack_sdk.errors import SlackApiError, SlackClientError
from slack_sdk.web.async_client import AsyncWebClient

from agent.errors import ChannelError, ChannelUnavailable, DeliveryRefused
from agent.ports.clock import Clock
from channels.slack.condition import Condition
from channels.slack.settings import SlackSettings

log = structlog.get_logger()

Json = dict[str, Any]

CALL_SECONDS = 30.0
TOKEN_PAUSE = 300.0
"""Seconds until a token that Slack refuses is tried again: somebody has to do something first."""
UNNAMED_PAUSE = 30.0
"""Seconds to wait when Slack says "too fast" and not how long."""

# https://docs.slack.dev/reference/methods/auth.test#errors; every method may answer these.
_TOKEN_ERRORS = frozenset(
    {"account_inactive", "app_uninstalled", "invalid_auth", "no_permission", "not_allowed_token_type", "not_authed",
     "org_login_required", "team_access_not_granted", "token_expired", "token_revoked"}
)  # fmt: skip
_TOO_FAST = frozenset({"ratelimited", "rate_limited"})
_SLACKS_OWN = frozenset(
    {"accesslimited", "external_channel_migrating", "fatal_error", "internal_error", "message_limit_exceeded",
     "request_timeout", "service_unavailable", "team_added_to_org"}
)  # fmt: skip
_SENTENCES = {
    "cannot_reply_to_message": "Nobody can reply to this message in Slack.",
    "channel_not_found": "There is no such Slack channel, or the bot cannot see it: invite it there.",
    "file_deleted": "The file was deleted in Slack.",
    "file_not_found": "The file is not in Slack any more, or the bot cannot see it.",
    "is_archived": "The Slack channel is archived.",
    "not_in_channel": "The bot is not in this Slack channel: invite it there (/invite).",
    "restricted_action": "A rule of the Slack workspace forbids the bot to post there.",
    "user_not_in_channel": "This person is not in the Slack channel.",
}


class SlackRefused(DeliveryRefused):
    """Slack will never do this; `code` is its word for why, as its pages list it for each method."""

    def __init__(self, message: str, *, code: str) -> None:
        super().__init__(message)
        self.code = code


class Calls:
    """Calls methods of the Web API with the bot's token, over one pool of connections.

    A call that a method or channel has no room for yet is not made at all: ChannelUnavailable says how long. So is
    every failure on the way, also of a call that may have taken effect: whoever sends looks before repeating.
    """

    def __init__(self, settings: SlackSettings, condition: Condition, clock: Clock) -> None:
        self.base_url = settings.base_url
        self.condition = condition
        self._token = settings.bot_token.get_secret_value()
        self._clock = clock
        self._session: aiohttp.ClientSession | None = None
        self._closed = False
        self._free_at: dict[tuple[str, str], float] = {}

    @property
    def authorization(self) -> dict[str, str]:
        """The header that shows who we are; only ever for Slack's own hosts."""
        return {"Authorization": f"Bearer {self._token}"}

    @property
    def session(self) -> aiohttp.ClientSession:
        """The pool, for what is no method: files, uploads, the socket. ChannelUnavailable once it is closed."""
        if self._closed:
            raise ChannelUnavailable("The connection to Slack is closed.")
        if self._session is None:
            timeout = aiohttp.ClientTimeout(total=CALL_SECONDS)
            self._session = aiohttp.ClientSession(timeout=timeout, trust_env=True)
        return self._session

    async def close(self) -> None:
        """Let go of the connections; nothing is called any more."""
        self._closed = True
        if self._session is not None:
            await self._session.close()

    async def call(self, method: str, **arguments: Any) -> Json:
        """Call a method (`chat.postMessage`); its answer. ChannelUnavailable, SlackRefused."""
        where = (method, str(arguments.get("channel") or arguments.get("channel_id") or ""))
        self._require_room(where)
        try:
            async with asyncio.timeout(CALL_SECONDS):
                answer = await self._made(method, arguments)
        except SlackApiError as error:
            raise self._translated(error, where) from None
        except (SlackClientError, aiohttp.ClientError, OSError, TimeoutError, ValueError, AttributeError) as error:
            # The client stumbles with an AttributeError over a text where Slack's JSON should be.
            raise ChannelUnavailable(f"Slack did not answer {method} ({type(error).__name__}).") from None
        self._works(method)
        return answer

    async def connect(self, app_token: str) -> str:
        """The address of a new Socket Mode connection, good for one. Errors as of `call`."""
        return str((await self.call("apps.connections.open", app_token=app_token))["url"])

    async def _made(self, method: str, arguments: Mapping[str, Any]) -> Json:
        # By itself the client repeats a call whose connection broke, also one that took effect.
        client = AsyncWebClient(self._token, base_url=self.base_url, session=self.session, retry_handlers=[])
        client.proxy = None  # the session reads the environment, NO_PROXY included
        response = await getattr(client, method.replace(".", "_"))(**arguments)
        return dict(response.data)

    def _require_room(self, where: tuple[str, str]) -> None:
        left = self._free_at.get(where, 0.0) - self._now()
        if left > 0:
            raise ChannelUnavailable(f"Slack takes no {where[0]} there for {left:.0f} s.", retry_after=left)
        self._free_at.pop(where, None)

    def _now(self) -> float:
        return self._clock.now().timestamp()

    def _works(self, method: str) -> None:
        self.condition.works("app token" if method == "apps.connections.open" else "bot token")
        self.condition.works(f"scope of {method}")

    def _translated(self, error: SlackApiError, where: tuple[str, str]) -> ChannelError:
        """Slack's refusal as one of ours; Slack's own text may quote what was sent, so only its code is told."""
        method, status = where[0], error.response.status_code
        data = error.response.data if isinstance(error.response.data, dict) else {}
        code = str(data.get("error") or "")
        if status == HTTPStatus.TOO_MANY_REQUESTS or code in _TOO_FAST:
            return self._too_fast(where, error.response.headers)
        if not code or code in _SLACKS_OWN or status >= HTTPStatus.INTERNAL_SERVER_ERROR:
            return ChannelUnavailable(f"Slack could not do {method} ({code or f'HTTP {status}'}).")
        if code in _TOKEN_ERRORS:
            return self._token_refused(method, code)
        if code == "missing_scope":
            return self._scope_missing(method, str(data.get("needed") or "?"))
        messages = (data.get("response_metadata") or {}).get("messages") or []
        log.debug("slack_refused", method=method, code=code, messages=messages)
        return SlackRefused(_SENTENCES.get(code, f"Slack refused {method} ({code})."), code=code)

    def _too_fast(self, where: tuple[str, str], headers: Mapping[str, str]) -> ChannelUnavailable:
        said = headers.get("Retry-After", "")
        seconds = float(said) if said.isdecimal() else UNNAMED_PAUSE
        self._free_at = {place: at for place, at in self._free_at.items() if at > self._now()}
        self._free_at[where] = self._now() + seconds
        return ChannelUnavailable(f"Slack takes no {where[0]} there for {seconds:.0f} s.", retry_after=seconds)

    def _token_refused(self, method: str, code: str) -> ChannelUnavailable:
        token = "app token" if method == "apps.connections.open" else "bot token"
        problem = f"Slack refuses the {token} ({code}): install the app again and put the new token into .env."
        self.condition.fails(token, problem)
        return ChannelUnavailable(problem, retry_after=TOKEN_PAUSE)

    def _scope_missing(self, method: str, scope: str) -> SlackRefused:
        problem = f"The Slack app lacks the scope {scope} for {method}: add it and install the app again."
        self.condition.fails(f"scope of {method}", problem)
        return SlackRefused(problem, code="missing_scope")
