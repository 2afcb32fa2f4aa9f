"""A conversation as it goes on: its tasks as HTML over server-sent events, each as often as it changes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from time import perf_counter

from aiohttp import web

from agent.ids import written_id
from bot.api.events import Event, ProgressView, StatusView, follow
from bot.api.sessions import show_session
from bot.api.stream import Streams
from bot.api.tasks import TaskFilter, journal, list_tasks, show_task
from bot.api.viewer import Viewer
from bot.entrance.rules import VIEWER
from bot.services import Services
from bot.web.shell import Shell
from bot.web.turn import Turn, turn

PAUSE_SECONDS = 0.05
"""Between two pieces of an answer: 20 a second."""
_SHARE = 8
"""Laying out an answer takes at most one part in so many of the time, however long it has become."""
_BEHIND = 50
"""How many tasks of a conversation are caught up with at once."""


async def load_turn(services: Services, viewer: Viewer, task_id: int) -> Turn:
    """A task as a chat shows it; NotFound."""
    # The journal first: what is written in between is then in the task at least, and comes with the next look.
    entries = await journal(services, viewer, task_id)
    return turn(await show_task(services, viewer, task_id), entries)


class LiveChat:
    """Streams conversations to open pages."""

    def __init__(self, shell: Shell, streams: Streams) -> None:
        self._shell = shell
        self._services = shell.services
        self._streams = streams

    async def follow(self, request: web.Request, session_id: int) -> web.StreamResponse:
        """Events `turn` (a task as it is now), `text` (what the model writes right now) and, when nothing is
        unfinished, `idle`. `Last-Event-ID` or `from` is the task from which on the page may be behind."""
        viewer = request[VIEWER]
        await show_session(self._services, viewer, session_id)
        wanted = request.headers.get("Last-Event-ID") or request.query.get("from", "")
        return await self._streams.write(request, self._chunks(request, session_id, written_id(wanted) or 1))

    async def _chunks(self, request: web.Request, session_id: int, first: int) -> AsyncGenerator[str, None]:
        viewer, which = request[VIEWER], TaskFilter(session_id=session_id)
        behind = first
        while True:
            newest = (await list_tasks(self._services, viewer, which, page_size=_BEHIND)).tasks
            tasks = [task for task in reversed(newest) if task.task_id >= behind]
            if not tasks:
                break
            for task in tasks:
                behind = task.task_id + 1
                async with aclosing(self._task(request, task.task_id)) as chunks:
                    async for chunk in chunks:
                        yield chunk
        yield _event("idle", "", None)

    async def _task(self, request: web.Request, task_id: int) -> AsyncGenerator[str, None]:
        """One task until it ends. Events that tell what was drawn already are passed over."""
        viewer = request[VIEWER]
        drawn = await load_turn(self._services, viewer, task_id)
        yield self._drawn(request, drawn)
        if drawn.ended:
            return
        async with aclosing(follow(self._services, viewer, task_id, drawn.seq)) as events:
            async for event in events:
                if event.kind == "quiet":
                    yield ": quiet\n\n"
                elif isinstance(event.data, ProgressView):
                    if not _is_next(event.data, drawn):
                        continue
                    started = perf_counter()
                    yield self._written(drawn, event.data.text)
                    await asyncio.sleep(max(PAUSE_SECONDS, (perf_counter() - started) * _SHARE))
                elif _is_news(event, drawn):
                    drawn = await load_turn(self._services, viewer, task_id)
                    yield self._drawn(request, drawn)

    def _drawn(self, request: web.Request, drawn: Turn) -> str:
        html = self._shell.rendering.render("turn.html", **self._shell.given(request), turn=drawn)
        # A task that goes on is looked at again by whoever comes back.
        return _event("turn", html, drawn.task.task_id + drawn.ended)

    def _written(self, drawn: Turn, text: str) -> str:
        return _event("text", self._shell.rendering.render("text.html", turn=drawn, text=text), None)


def _is_next(written: ProgressView, drawn: Turn) -> bool:
    """Whether a text goes behind what was drawn. When that is newer, the text is a part of it already."""
    return not drawn.ended and written.after_seq == drawn.seq


def _is_news(event: Event, drawn: Turn) -> bool:
    if event.seq is not None:
        return event.seq > drawn.seq
    return isinstance(event.data, StatusView) and event.data.status != drawn.task.status


def _event(kind: str, html: str, number: int | None) -> str:
    """An event with a text that may have lines."""
    lines = "".join(f"data: {line}\n" for line in html.split("\n"))
    name = "" if number is None else f"id: {number}\n"
    return f"{name}event: {kind}\n{lines}\n"
