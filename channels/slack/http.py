"""The HTTP mode: Slack calls us, and signs what it sends.

docs.slack.dev/authentication/verifying-requests-from-slack
"""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qs

import orjson
from aiohttp import web

from agent.errors import NotAuthentic
from agent.ports.clock import Clock
from channels.slack.calls import Json
from channels.slack.sockets import Take

PATH = "/channels/slack/events"
"""For events, interactions and commands alike."""
SIGNED_FOR_SECONDS = 300
"""An older request may be somebody's copy."""
_TIMESTAMP = re.compile(r"[0-9]{1,12}")


class Requests:
    """Takes signed requests; everything else is answered with 401."""

    def __init__(self, signing_secret: str, take: Take, clock: Clock) -> None:
        self._secret = signing_secret.encode()
        self._take = take
        self._clock = clock

    def routes(self) -> list[web.RouteDef]:
        """The one address."""
        return [web.post(PATH, self._received)]

    async def _received(self, request: web.Request) -> web.Response:
        """Answered with 200 once it is durable; a failure is an error status, after which Slack sends it again."""
        body = await request.read()
        if not signed(body, request.headers, self._secret, self._clock.now().timestamp()):
            raise NotAuthentic("The signature is not Slack's.")
        kind, payload = decoded(body, request.content_type)
        if kind == "url_verification":
            return web.json_response({"challenge": str(payload.get("challenge") or "")})
        answer = await self._take(kind, payload)
        return web.json_response(answer) if answer else web.Response()


def signed(body: bytes, headers: Mapping[str, str], secret: bytes, now: float) -> bool:
    """Whether Slack signed these bytes, within the last minutes."""
    moment = headers.get("X-Slack-Request-Timestamp", "")
    # isdecimal() would let other scripts' digits through.
    if not secret or not _TIMESTAMP.fullmatch(moment) or abs(now - int(moment)) > SIGNED_FOR_SECONDS:
        return False
    digest = hmac.new(secret, b"v0:" + moment.encode() + b":" + body, hashlib.sha256).hexdigest()
    said = headers.get("X-Slack-Signature", "").encode(errors="surrogateescape")
    return hmac.compare_digest(f"v0={digest}".encode(), said)


def decoded(body: bytes, content_type: str) -> tuple[str, Json]:
    """What was sent and of which type, named as in Socket Mode; NotAuthentic for what Slack would not send."""
    try:
        if content_type != "application/json":
            return _form(body.decode())
        payload = _record(orjson.loads(body))
    except ValueError:
        raise NotAuthentic("This is nothing that Slack sends.") from None
    return ("url_verification" if payload.get("type") == "url_verification" else "events_api"), payload


def _form(text: str) -> tuple[str, Json]:
    fields = {name: values[0] for name, values in parse_qs(text, keep_blank_values=True, strict_parsing=True).items()}
    if "payload" in fields:
        return "interactive", _record(orjson.loads(fields["payload"]))
    return ("slash_commands" if "command" in fields else "other"), fields


def _record(value: Any) -> Json:
    if not isinstance(value, dict):
        raise ValueError  # noqa: TRY004 - like what is no JSON at all
    return value
