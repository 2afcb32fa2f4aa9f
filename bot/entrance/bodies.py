"""Bodies that never come: whoever announces one must go on sending it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from aiohttp import StreamReader, web
from aiohttp.typedefs import Middleware

BODY_SECONDS = 30.0
"""Without a single byte. aiohttp has no limit of its own, neither for bodies nor for headers
(https://docs.aiohttp.org/en/stable/web_reference.html#aiohttp.web.AppRunner)."""


def bodies_within(seconds: float) -> Middleware:
    """A middleware that answers 408 when a handler waits for a body that has stopped."""

    @web.middleware
    async def watched(
        request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
    ) -> web.StreamResponse:
        if request.content.is_eof():  # there is none, or it came along with the headers
            return await handler(request)
        watch = Watch(request.content, seconds)
        try:
            return await handler(request)
        except TimeoutError:
            if not watch.stopped:
                raise
            text = f"The body stopped: nothing came for {seconds:g} seconds. Send it again."
            raise web.HTTPRequestTimeout(text=text) from None
        finally:
            watch.end()

    return watched


class Watch:
    """Looks at a body now and then; once it has stopped, whoever reads it gets a TimeoutError."""

    def __init__(self, body: StreamReader, seconds: float) -> None:
        self.stopped = False
        self._body = body
        self._seconds = seconds
        self._seen = body.total_bytes
        self._timer = self._later()

    def end(self) -> None:
        self._timer.cancel()

    def _later(self) -> asyncio.TimerHandle:
        return asyncio.get_running_loop().call_later(self._seconds, self._look)

    def _look(self) -> None:
        if self._body.is_eof():
            return
        if self._body.total_bytes == self._seen:
            self.stopped = True
            self._body.set_exception(TimeoutError("The body stopped."))
            return
        self._seen = self._body.total_bytes
        self._timer = self._later()
