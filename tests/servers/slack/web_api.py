"""The Web API on a socket: who calls, with which arguments, how often; what goes wrong on order."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from aiohttp import web

from tests.servers.slack import chat, rooms, uploads
from tests.servers.slack.limits import maximum
from tests.servers.slack.methods import BOT_SCOPES, KINDS, METHODS, Method
from tests.servers.slack.shapes import complaint
from tests.servers.slack.world import Json, Refused, World

Handler = Callable[[World, Json], Json]
HANDLERS: dict[str, Handler] = {
    "auth.test": rooms.auth_test,
    "users.info": rooms.user_info,
    "conversations.info": rooms.conversation_info,
    "conversations.open": rooms.conversation_open,
    "conversations.replies": rooms.replies,
    "conversations.history": rooms.history,
    "reactions.add": rooms.add_reaction,
    "reactions.remove": rooms.remove_reaction,
    "agents.sessions.setStatus": rooms.set_session,
    "assistant.threads.setStatus": rooms.set_status,
    "assistant.threads.setSuggestedPrompts": rooms.set_prompts,
    "assistant.threads.setTitle": rooms.set_title,
    "views.open": rooms.open_view,
    "views.push": rooms.open_view,
    "views.update": rooms.update_view,
    "chat.postMessage": chat.post_message,
    "chat.update": chat.update,
    "chat.postEphemeral": chat.post_ephemeral,
    "chat.delete": chat.delete,
    "chat.getPermalink": chat.get_permalink,
    "chat.startStream": chat.start_stream,
    "chat.appendStream": chat.append_stream,
    "chat.stopStream": chat.stop_stream,
    "files.getUploadURLExternal": uploads.get_upload_url,
    "files.completeUploadExternal": uploads.complete,
    "files.info": uploads.info,
}
_AS_JSON = frozenset({"blocks", "view", "files", "metadata", "chunks", "attachments", "prompts", "loading_messages"})
_TEXTS = frozenset({"channel", "channel_id", "ts", "thread_ts", "user", "users", "name", "timestamp", "text", "file",
                    "status", "title", "filename", "markdown_text", "trigger_id", "view_id", "message_ts"})  # fmt: skip


@dataclass(frozen=True, kw_only=True, slots=True)
class Fault:
    """What a call answers instead; with `after` it has taken effect before. `slow` waits and then works."""

    kind: Literal["rate_limited", "status", "html", "cut", "refused", "slow"]
    after: bool = False
    seconds: float = 30
    status: int = 500
    error: str = "internal_error"


@dataclass(frozen=True, kw_only=True, slots=True)
class Call:
    """A call as it came and how it was answered: "" or Slack's error, `http_429` and the like for what is no JSON."""

    method: str
    arguments: Json
    answer: str
    at: float


@dataclass(kw_only=True)
class _Ordered:
    method: str
    channel: str | None
    fault: Fault
    left: int


@dataclass(kw_only=True)
class WebApi:
    """`token_error` set: the bot's token is refused with it. `has_rates`: calls that come too fast get 429."""

    world: World
    bot_token: str = "xoxb-1-signoff"
    app_token: str = "xapp-1-signoff"
    scopes: set[str] = field(default_factory=lambda: set(BOT_SCOPES))
    token_error: str = ""
    app_token_error: str = ""
    has_rates: bool = False
    calls: list[Call] = field(default_factory=list)
    handlers: dict[str, Handler] = field(default_factory=lambda: dict(HANDLERS))
    _ordered: list[_Ordered] = field(default_factory=list)
    _spent: dict[str, tuple[float, float]] = field(default_factory=dict)

    def order(self, method: str, fault: Fault, *, times: int = 1, channel: str | None = None) -> None:
        """The next calls of a method (in a channel) go wrong."""
        self._ordered.append(_Ordered(method=method, channel=channel, fault=fault, left=times))

    async def answer(self, request: web.Request) -> web.StreamResponse:
        """One call."""
        method = request.match_info["method"]
        arguments, token = await _arguments(request)
        fault = self._fault(method, arguments)
        if fault is not None and fault.kind == "slow":
            await asyncio.sleep(fault.seconds)
            fault = None
        if fault is None:
            return self._perform(method, arguments, token)
        if fault.after:
            self._perform(method, arguments, token)
        return self._fail(request, method, arguments, fault)

    def _fault(self, method: str, arguments: Json) -> Fault | None:
        for ordered in self._ordered:
            channel = arguments.get("channel") or arguments.get("channel_id")
            if ordered.left and ordered.method == method and ordered.channel in {None, channel}:
                ordered.left -= 1
                return ordered.fault
        return None

    def _fail(self, request: web.Request, method: str, arguments: Json, fault: Fault) -> web.StreamResponse:
        match fault.kind:
            case "rate_limited":
                return self._limited(method, arguments, fault.seconds)
            case "refused":
                return self._said(method, arguments, Refused(fault.error))
            case "html":
                self._note(method, arguments, "html")
                return web.Response(text="<html><body>Server Error</body></html>", content_type="text/html", status=200)
            case "cut":
                self._note(method, arguments, "cut")
                assert request.transport is not None
                request.transport.abort()
                return web.Response()
            case _:
                self._note(method, arguments, f"http_{fault.status}")
                return web.Response(status=fault.status, text="upstream connect error")

    def _perform(self, method: str, arguments: Json, token: str) -> web.StreamResponse:
        try:
            spec = METHODS.get(method)
            if spec is None:
                raise Refused("unknown_method", req_method=method)
            self._authenticate(method, token)
            if self.has_rates and (wait := self._wait(method, spec, arguments)):
                return self._limited(method, arguments, wait)
            self._check_scopes(spec, arguments)
            _check_arguments(spec, arguments)
            found = self.handlers[method](self.world, arguments)
        except Refused as refused:
            return self._said(method, arguments, refused)
        self._note(method, arguments, "")
        return web.json_response({"ok": True, **found}, headers=self._headers())

    def _authenticate(self, method: str, token: str) -> None:
        if not token:
            raise Refused("not_authed")
        if method == "apps.connections.open":
            if token == self.bot_token:
                raise Refused("not_allowed_token_type")
            if token != self.app_token or self.app_token_error:
                raise Refused(self.app_token_error or "invalid_auth")
        elif token == self.app_token:
            raise Refused("not_allowed_token_type")
        elif token != self.bot_token or self.token_error:
            raise Refused(self.token_error or "invalid_auth")

    def _check_scopes(self, spec: Method, arguments: Json) -> None:
        needed = spec.scopes
        if spec.by_channel:
            channel = rooms.channel_of(self.world, arguments)
            needed = (spec.by_channel[KINDS.index(channel.kind)],) if channel else spec.by_channel
        if needed and not self.scopes & set(needed):
            raise Refused("missing_scope", needed=needed[0], provided=",".join(sorted(self.scopes)))

    def _wait(self, method: str, spec: Method, arguments: Json) -> float:
        """Seconds until the method may be called again; a bucket for each method, or method and channel."""
        if spec.tier == "special":
            return 0
        name = f"{method} {arguments.get('channel')}" if spec.tier == "tier.channel" else method
        most = maximum("tier.channel.burst") if spec.tier == "tier.channel" else maximum(spec.tier)
        rate = maximum(spec.tier) / 60
        now = self.world.now()
        tokens, since = self._spent.get(name, (float(most), now))
        tokens = min(float(most), tokens + (now - since) * rate)
        self._spent[name] = (tokens - 1 if tokens >= 1 else tokens, now)
        return 0 if tokens >= 1 else (1 - tokens) / rate

    def _limited(self, method: str, arguments: Json, seconds: float) -> web.Response:
        self._note(method, arguments, "http_429")
        headers = {"Retry-After": str(max(1, round(seconds)))}
        return web.json_response({"ok": False, "error": "ratelimited"}, status=429, headers=headers)

    def _said(self, method: str, arguments: Json, refused: Refused) -> web.Response:
        self._note(method, arguments, refused.error)
        return web.json_response({"ok": False, "error": refused.error, **refused.fields}, headers=self._headers())

    def _note(self, method: str, arguments: Json, answer: str) -> None:
        self.world.stirred.set()
        self.calls.append(Call(method=method, arguments=arguments, answer=answer, at=self.world.now()))

    def _headers(self) -> dict[str, str]:
        return {"X-OAuth-Scopes": ",".join(sorted(self.scopes))}


def _check_arguments(spec: Method, arguments: Json) -> None:
    problems = [complaint(f"missing required field: {name}", "") for name in spec.required if name not in arguments]
    known = {*spec.required, *spec.optional, "team_id"}  # Bolt adds it to every call
    problems += [complaint(f"unknown argument: {name}", f"/{name}") for name in sorted(arguments.keys() - known)]
    wrong = [name for name in sorted(arguments.keys() & _TEXTS) if not isinstance(arguments[name], str)]
    problems += [complaint("must be a string", f"/{name}") for name in wrong]
    if problems:
        raise Refused("invalid_arguments", response_metadata={"messages": problems})


async def _arguments(request: web.Request) -> tuple[Json, str]:
    """Query, form or JSON; the token from the header or beside the arguments."""
    arguments: Json = dict(request.query)
    if request.content_type == "application/json":
        body = await request.json()
        arguments |= body if isinstance(body, dict) else {}
    elif request.can_read_body:
        arguments |= _plain(await request.post())
    for name in _AS_JSON & arguments.keys():
        arguments[name] = _parsed(arguments[name])
    token = str(arguments.pop("token", ""))
    return arguments, request.headers.get("Authorization", "").removeprefix("Bearer ") or token


def _plain(form: Mapping[str, Any]) -> Json:
    return {name: value for name, value in form.items() if isinstance(value, str)}


def _parsed(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except ValueError:
        return value
