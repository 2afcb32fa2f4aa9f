"""Inbound webhooks: a POST becomes a task, its answer or a later GET tells the outcome."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import math
import secrets
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import quote

import orjson
from aiohttp import web
from pydantic import BaseModel, ConfigDict

from agent.domain import TERMINAL, Address, Hook, IncomingMessage
from agent.errors import BadInput, NotAuthentic, NotFound
from agent.ids import written_id
from agent.json_body import json_of, parsed
from agent.ports.channels import Feature, Inbox, Outgoing, Shown
from agent.ports.clock import Clock
from agent.ports.files import Blobs
from agent.ports.store import Accepted, Doorbell, Hooks
from channels.outcomes import Outcomes
from channels.webhook_view import (
    MAX_KEY,
    HookRequest,
    RateLimits,
    accepted,
    decoded,
    wait_seconds,
)

_NO_TOKEN_SHA256 = "0" * 64
KNOWN_FOR = timedelta(seconds=0.5)
"""For how long a hook is not read again from the database, and a token works that was replaced by another process."""
POLL_SECONDS = 5.0
"""How often an awaited task is looked up in case that its end did not ring in this process."""


class WebhookSettings(BaseModel):
    """`allow_private_callbacks` lets a hook deliver to addresses of your own network, which it else refuses."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    enabled: bool = True
    allow_private_callbacks: bool = False


class Webhook:
    """The channel `webhook`; a hook is a conversation, and each request that follows nothing up has its own session."""

    name = "webhook"
    features: frozenset[Feature] = frozenset()

    def __init__(
        self, inbox: Inbox, hooks: Hooks, outcomes: Outcomes, doorbell: Doorbell, blobs: Blobs, clock: Clock
    ) -> None:
        self._inbox = inbox
        self._hooks = hooks
        self._outcomes = outcomes
        self._doorbell = doorbell
        self._blobs = blobs
        self._clock = clock
        self._limits = RateLimits()
        self._known: dict[str, tuple[Hook, datetime]] = {}
        self._awaited: set[str] = set()
        self._stopped = False

    async def start(self) -> None:
        """Requests arrive through the routes."""

    async def stop(self) -> None:
        """Let every sender that still waits have its answer."""
        self._stopped = True
        for topic in self._awaited:
            self._doorbell.ring(topic)

    async def send(self, outgoing: Outgoing) -> str | None:
        """Nothing: the sender fetches the outcome."""
        return None

    async def settle(self, outgoing: Outgoing, sent_as: str) -> None:
        """Nothing: the outcome names the open approvals."""

    async def progress(self, to: Address, shown: Shown) -> None:
        """Nothing: nobody looks."""

    async def download(self, reference: str) -> bytes:
        """Files come with the request."""
        raise NotFound(f"There is no file {reference}.")

    def routes(self) -> Sequence[web.RouteDef]:
        """Its HTTP routes."""
        return [
            web.post("/hooks/{name}", self._post),
            web.get("/hooks/{name}/tasks/{id}", self._task),
            web.get("/hooks/{name}/artifacts/{id}", self._artifact),
        ]

    async def _post(self, request: web.Request) -> web.Response:
        hook = await self._authentic(request)
        self._spare(hook)
        seconds = wait_seconds(request.query.get("wait"))
        body = await json_of(request)
        message = self._message(hook, parsed(HookRequest, body), request.headers.get("Idempotency-Key"), body)
        task = await self._inbox.accept(message)
        if not seconds:
            return _json(202, accepted(task, self._outcomes.url(hook.name, "tasks", task.task_id)))
        outcome = await self._awaited_outcome(hook.name, task, seconds)
        return _json(200 if outcome["status"] in TERMINAL else 202, outcome)

    async def _task(self, request: web.Request) -> web.Response:
        hook = await self._authentic(request)
        return _json(200, await self._outcomes.read(hook.name, _id(request)))

    async def _artifact(self, request: web.Request) -> web.StreamResponse:
        hook = await self._authentic(request)
        artifact = await self._outcomes.artifact(hook.name, _id(request))
        path = self._blobs.path(artifact.sha256)
        if path is None:
            raise NotFound(f"The content of {artifact.name} is not kept any more.")
        headers = {
            "Content-Type": artifact.media_type,
            "Content-Disposition": f"attachment; filename*=UTF-8''{quote(artifact.name, safe='')}",
            "X-Content-Type-Options": "nosniff",
        }
        return web.FileResponse(path, headers=headers)

    async def _authentic(self, request: web.Request) -> Hook:
        """The hook of the request, if it holds the token; an unknown hook is answered like a wrong token."""
        scheme, _, credentials = request.headers.get("Authorization", "").partition(" ")
        token = credentials.strip() if scheme.lower() == "bearer" else request.headers.get("X-Signoff-Token", "")
        given, name = token_sha256(token), request.match_info["name"]
        now = self._clock.now()
        known, read_at = self._known.get(name, (None, now))
        if known is not None and now - read_at < KNOWN_FOR and hmac.compare_digest(given, known.token_sha256):
            return known
        hook = await self._hooks.hook(name)
        if not hmac.compare_digest(given, hook.token_sha256 if hook else _NO_TOKEN_SHA256) or hook is None:
            raise NotAuthentic("Send the hook's token as `Authorization: Bearer TOKEN` or in `X-Signoff-Token`.")
        self._known[name] = hook, now
        return hook

    def _spare(self, hook: Hook) -> None:
        if hook.rate_per_minute is None:
            return
        if seconds := self._limits.take(hook.name, hook.rate_per_minute, self._clock.now().timestamp()):
            text = f"This hook takes {hook.rate_per_minute} requests a minute."
            raise web.HTTPTooManyRequests(text=text, headers={"Retry-After": str(math.ceil(seconds))})

    def _message(self, hook: Hook, request: HookRequest, key: str | None, body: bytes) -> IncomingMessage:
        if key is not None and not (0 < len(key) <= MAX_KEY and key.isprintable()):
            field = "Idempotency-Key"
            raise BadInput(f"{field}: must be 1 to {MAX_KEY} printable characters.", field=field)
        run = secrets.token_hex(8)
        address = Address(channel=self.name, conversation=hook.name, thread=run)
        return IncomingMessage(
            dedup_key=f"webhook:{hook.name}:run:{run}" if key is None else f"webhook:{hook.name}:key:{key}",
            address=address,
            sender=f"webhook:{hook.name}",
            text=request.text,
            origin="webhook",
            received_at=self._clock.now(),
            files=decoded(request.files),
            reply_to=tuple(address if to == "answer" else callback_address(hook.name, to) for to in hook.deliver),
            workspace=hook.workspace,
            follow_up_of=request.follow_up_of,
            fingerprint=None if key is None else hashlib.sha256(body).hexdigest(),
        )

    async def _awaited_outcome(self, hook_name: str, task: Accepted, seconds: float) -> dict[str, Any]:
        """The task's state when it has ended, or after `seconds`, or when the channel stops."""
        now = asyncio.get_running_loop().time
        until = now() + seconds
        topic = f"task:{task.task_id}"
        self._awaited.add(topic)
        try:
            if task.status not in TERMINAL:
                await self._doorbell.wait(topic, min(seconds, POLL_SECONDS))
            while True:
                outcome = await self._outcomes.read(hook_name, task.task_id)
                left = until - now()
                if outcome["status"] in TERMINAL or left <= 0 or self._stopped:
                    return outcome
                await self._doorbell.wait(topic, min(left, POLL_SECONDS))
        finally:
            self._awaited.discard(topic)


def new_token() -> str:
    """A token for a hook, 256 bits."""
    return secrets.token_urlsafe(32)


def token_sha256(token: str) -> str:
    """What is stored of a token or another secret; a header's bytes that are no UTF-8 arrive as surrogates."""
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).hexdigest()


def callback_address(hook_name: str, url: str) -> Address:
    """Where a hook's results are sent as a signed POST; its secret is looked up by the name."""
    return Address(channel="callback", conversation=hook_name, thread=url)


def _id(request: web.Request) -> int:
    text = request.match_info["id"]
    if (found := written_id(text)) is None:
        raise NotFound(f"There is no {text!r}.")
    return found


def _json(status: int, value: dict[str, Any]) -> web.Response:
    return web.Response(status=status, body=orjson.dumps(value), content_type="application/json")
