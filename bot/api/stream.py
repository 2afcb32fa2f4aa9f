"""Following a task over HTTP, as server-sent events."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from time import monotonic

from aiohttp import web
from pydantic import Field

from agent.domain import TERMINAL
from bot.api.events import QUIET_SECONDS, Event, follow
from bot.api.route import Call
from bot.api.shapes import Parameters, Seq
from bot.api.tasks import visible_task
from bot.entrance.rules import ADMISSION

STANDS_SECONDS = 2.0
"""How often it is looked whether a follower may still follow: who was removed, or lost a role, must not read on."""
RETRY_MILLISECONDS = 1_000
"""How long a browser waits before it comes back."""
_HEADERS = {
    "Content-Type": "text/event-stream",
    "Cache-Control": "no-store",
    # nginx would gather the events; https://nginx.org/en/docs/http/ngx_http_proxy_module.html#proxy_buffering
    "X-Accel-Buffering": "no",
}


class EventHeaders(Parameters):
    """What a browser sends when it comes back: the last `id` it got."""

    last: Seq | None = Field(default=None, alias="Last-Event-ID")


class Streams:
    """The streams that are open in this process."""

    def __init__(self, *, quiet_seconds: float = QUIET_SECONDS) -> None:
        self._quiet_seconds = quiet_seconds
        self._open: set[asyncio.Task[object]] = set()

    async def run(self, call: Call) -> web.StreamResponse:
        """Write events until the task has ended or the follower has gone.

        Whoever comes back after the end and misses nothing gets 204, upon which a browser does not come again
        (https://html.spec.whatwg.org/multipage/server-sent-events.html, 9.2.3).
        """
        task = await visible_task(call.services, call.viewer, call.id("task_id"))
        after = call.query.after if call.headers.last is None else call.headers.last
        news = task.status not in TERMINAL or await call.services.store.journal(task.task_id, after)
        if call.headers.last is not None and not news:
            return web.Response(status=204)
        events = follow(call.services, call.viewer, task.task_id, after, quiet_seconds=self._quiet_seconds)
        return await self.write(call.request, _texts(events))

    def close(self) -> None:
        """End all streams; whoever follows comes back to the next process."""
        for stream in self._open:
            stream.cancel()

    async def write(self, request: web.Request, texts: AsyncGenerator[str, None]) -> web.StreamResponse:
        """Write the texts of events until there are no more, the follower has gone or may not follow as before, or the
        server ends."""
        response = web.StreamResponse(headers=_HEADERS)
        stream = asyncio.current_task()
        assert stream is not None  # noqa: S101 - a handler always runs in a task
        self._open.add(stream)
        try:
            await response.prepare(request)
            await response.write(f"retry: {RETRY_MILLISECONDS}\n\n".encode())
            looked = monotonic()
            async with aclosing(texts):
                async for text in texts:
                    if monotonic() - looked >= STANDS_SECONDS:
                        if not await request[ADMISSION].stands():
                            break
                        looked = monotonic()
                    await response.write(text.encode())
            await response.write_eof()
        except ConnectionResetError:
            pass  # nobody listens any more
        finally:
            self._open.discard(stream)
        return response


async def _texts(events: AsyncGenerator[Event, None]) -> AsyncGenerator[str, None]:
    async with aclosing(events):
        async for event in events:
            yield as_text(event)


def as_text(event: Event) -> str:
    """An event as it is written; JSON has no line breaks outside of strings, and none inside."""
    if event.data is None:
        return ": nothing new\n\n"
    number = "" if event.seq is None else f"id: {event.seq}\n"
    return f"{number}event: {event.kind}\ndata: {event.data.model_dump_json()}\n\n"
