"""Errors for people: what the server answers as JSON becomes a page where a browser shows pages."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import orjson
from aiohttp import web
from aiohttp.typedefs import Middleware

from bot.entrance.door import BROWSER

_PROGRAMS = ("/v1/", "/hooks/", "/openapi.json", "/healthz", "/readyz")
"""Paths that programs use, whatever they say they accept; below /v1 a browser only opens the link of a file."""


def errors_as_pages(refusal: Callable[[web.Request, int, str], web.Response]) -> Middleware:
    """A middleware around the one that makes JSON of errors; `refusal` makes the page."""

    @web.middleware
    async def as_page(
        request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
    ) -> web.StreamResponse:
        response = await handler(request)
        message = _message(response) if _from_a_page(request) else None
        if message is None:
            return response
        shown = refusal(request, response.status, message)
        if "Retry-After" in response.headers:
            shown.headers["Retry-After"] = response.headers["Retry-After"]
        return shown

    return as_page


def _message(response: web.StreamResponse) -> str | None:
    """What an error says; None for any other answer."""
    if response.status < 400 or response.content_type != "application/json":
        return None
    body = response.body if isinstance(response, web.Response) else None
    return str(orjson.loads(body)["error"]["message"]) if isinstance(body, bytes) else None


def _from_a_page(request: web.Request) -> bool:
    if "text/html" not in request.headers.get("Accept", ""):
        return False
    return not request.path.startswith(_PROGRAMS) or (BROWSER in request and request.method == "GET")
