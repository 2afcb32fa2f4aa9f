"""The one HTTP server: health, whatever routes the channels bring along, and the door to `/v1` and the pages."""

from __future__ import annotations

import errno
import logging
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any

import orjson
import structlog
from aiohttp import web
from aiohttp.typedefs import Middleware

from agent.errors import (
    BadInput,
    ConfigError,
    Conflict,
    DiskFull,
    Draining,
    Forbidden,
    NotAuthentic,
    NotFound,
    SignoffError,
    StorageError,
)
from agent.ports.channels import Channel
from agent.ports.listings import Listings
from bot.entrance.bodies import BODY_SECONDS, bodies_within
from bot.entrance.door import Door
from bot.entrance.headers import secure

log = structlog.get_logger()

KEEPALIVE_SECONDS = 75.0
"""Above the 60 s after which common proxies drop an idle connection, so that they close it and not we."""
ANSWER_SECONDS = 2.0
"""How long answers under way may take once the server closes."""
_STATUS: dict[type[SignoffError], int] = {
    NotFound: 404,
    Conflict: 409,
    Forbidden: 403,
    BadInput: 422,
    NotAuthentic: 401,
    Draining: 503,
    StorageError: 503,
}
_CODES = {401: "unauthorized", 413: "too_large", 422: "invalid", 429: "rate_limited", 500: "internal"}
"""Where the name of a status is not the code we want to live with."""


@dataclass(kw_only=True)
class Health:
    """What the process says of itself; `down` holds the reason of each channel that does not work."""

    listings: Listings
    draining: bool = False
    down: dict[str, str] = field(default_factory=dict)

    def routes(self) -> list[web.RouteDef]:
        """`/healthz` (alive and not draining) and `/readyz` (the database answers, too)."""
        return [web.get("/healthz", self._alive), web.get("/readyz", self._ready)]

    def report(self, channel: str, problem: str | None) -> None:
        """A channel's own word on how it is; None: it works (again). The log has each change."""
        before = self.down.pop(channel, None)
        if problem is not None:
            self.down[channel] = problem
        if problem is not None and problem != before:
            log.error("channel_went_down", channel=channel, reason=problem)
        elif problem is None and before is not None:
            log.info("channel_came_back", channel=channel)

    async def _alive(self, request: web.Request) -> web.Response:
        return self._said(None)

    async def _ready(self, request: web.Request) -> web.Response:
        try:
            await self.listings.tasks(limit=1)
        except StorageError as error:
            log.error("database_not_reached", reason=str(error))  # noqa: TRY400 - the reason says it all
            return self._said("the database does not answer")
        return self._said(None)

    def _said(self, problem: str | None) -> web.Response:
        problem = "draining" if self.draining else problem
        body: dict[str, Any] = {"status": problem or "ok"}
        if self.down:
            body["down"] = self.down
        return _json(503 if problem else 200, body)


class Server:
    """Listens until it is closed. `around` are middlewares outside of the one that answers errors as JSON."""

    def __init__(
        self,
        health: Health,
        channels: Iterable[Channel],
        *,
        max_body: int,
        door: Door | None = None,
        around: Sequence[Middleware] = (),
        body_seconds: float = BODY_SECONDS,
    ) -> None:
        middlewares = [*around, _errors_as_json, bodies_within(body_seconds)]
        app = web.Application(middlewares=middlewares, client_max_size=max_body)
        app.on_response_prepare.append(secure)
        app.router.add_routes(health.routes())
        for channel in channels:
            app.router.add_routes(channel.routes())
        if door is not None:
            door.mount(app)
        self._runner = web.AppRunner(
            app,
            access_log=None,
            logger=_unheard(),
            keepalive_timeout=KEEPALIVE_SECONDS,
            shutdown_timeout=ANSWER_SECONDS,
        )

    def routes(self) -> list[tuple[str, str]]:
        """Method and pattern of everything that is answered."""
        routes = self._runner.app.router.routes()
        return [(route.method, route.resource.canonical) for route in routes if route.resource]

    async def start(self, host: str, port: int) -> int:
        """Listen and return the port; ConfigError when it cannot be had."""
        await self._runner.setup()
        try:
            await web.TCPSite(self._runner, host, port).start()
        except (OSError, UnicodeError) as error:
            await self._runner.cleanup()
            raise ConfigError(_refusal(error, host, port)) from None
        return int(self._runner.addresses[0][1])

    async def close(self) -> None:
        """Take no more requests and let answers under way finish."""
        await self._runner.cleanup()


def _unheard() -> logging.Logger:
    """For what is no HTTP at all: it is answered with 400, and the log of it would quote a header, perhaps a token."""
    logger = logging.getLogger("signoff.http")
    logger.disabled = True
    return logger


@web.middleware
async def _errors_as_json(
    request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
) -> web.StreamResponse:
    """The event border: whatever a handler raises, the sender gets `{"error": {...}}` and the server lives on."""
    try:
        return await handler(request)
    except web.HTTPException as answer:
        headers = {name: value for name, value in answer.headers.items() if name in {"Allow", "Retry-After"}}
        response = _error(answer.status, _said(answer), headers=headers)
        if answer.status == 408:
            response.force_close()  # what comes yet would be taken for the next request
        return response
    except SignoffError as error:
        return _refused(error)
    except Exception:
        log.exception("request_failed_unexpectedly", method=request.method, route=_route(request))
        return _error(500, "An unexpected error; the log has the details.")


def _said(answer: web.HTTPException) -> str:
    """What is wrong; aiohttp's own texts for these two only repeat the status."""
    if isinstance(answer, web.HTTPMethodNotAllowed):
        return f"{answer.method} is not possible here; possible: {', '.join(sorted(answer.allowed_methods))}."
    if isinstance(answer, web.HTTPNotFound):
        return "There is nothing at this address."
    return answer.text or answer.reason


def _refused(error: SignoffError) -> web.Response:
    status = next((status for kind, status in _STATUS.items() if isinstance(error, kind)), 500)
    if status >= 500 and not isinstance(error, Draining):
        log.error("request_failed", kind=type(error).__name__, reason=str(error))
    headers = {401: {"WWW-Authenticate": "Bearer"}, 503: {"Retry-After": "5"}}.get(status)
    if isinstance(error, DiskFull):
        return _error(status, "The disk is full: nothing was stored.", headers=headers, code="disk_full")
    if isinstance(error, StorageError):
        return _error(status, "The database does not answer; try again.", headers=headers, code="unavailable")
    if isinstance(error, Draining):
        return _error(status, str(error), headers=headers, code="draining")
    if isinstance(error, BadInput):
        code = None if error.code == "invalid" else error.code
        return _error(status, str(error), code=code, field=error.field)
    return _error(status, str(error), headers=headers)


def _error(
    status: int,
    message: str,
    *,
    headers: dict[str, str] | None = None,
    code: str | None = None,
    field: str | None = None,
) -> web.Response:
    code = code or _CODES.get(status) or HTTPStatus(status).name.lower()
    error = {"code": code, "message": message} | ({} if field is None else {"field": field})
    return _json(status, {"error": error}, headers)


def _json(status: int, value: dict[str, Any], headers: dict[str, str] | None = None) -> web.Response:
    return web.Response(status=status, body=orjson.dumps(value), content_type="application/json", headers=headers)


def _route(request: web.Request) -> str | None:
    """The pattern and not the URL, which may hold what a sender should not have put there."""
    resource = request.match_info.route.resource
    return resource.canonical if resource else None


def _refusal(error: OSError | UnicodeError, host: str, port: int) -> str:
    if isinstance(error, OSError) and error.errno == errno.EADDRINUSE:
        return f"bot.http.port: {port} is in use; stop what listens there or choose another."
    if isinstance(error, OSError) and error.errno in (errno.EACCES, errno.EPERM):
        return f"bot.http.port: {port} may not be used by this user; choose one above 1023."
    return f"bot.http.host: cannot listen on {host}: {error}."
