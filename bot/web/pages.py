"""The pages of the console, as routes of the server."""

from __future__ import annotations

from aiohttp import web

from bot.api.stream import Streams
from bot.entrance.rules import Guarded
from bot.services import Services
from bot.web.chat import Chat
from bot.web.live import LiveChat
from bot.web.people import PeoplePages
from bot.web.policy import PolicyPage
from bot.web.shell import Shell
from bot.web.shelves import Shelves
from bot.web.work import Work

_FOREVER = "public, max-age=31536000, immutable"


class Pages:
    """Everything below `/` that people look at."""

    def __init__(self, services: Services, streams: Streams) -> None:
        self.shell = Shell(services)
        self._parts = (
            Chat(self.shell, LiveChat(self.shell, streams)),
            Work(self.shell),
            Shelves(self.shell),
            PeoplePages(self.shell),
            PolicyPage(self.shell),
        )

    def routes(self) -> list[Guarded]:
        """Every page and part with what it asks of whoever opens it."""
        static = Guarded(web.get("/static/{name}", self._static), None)
        return [static, *(guarded for part in self._parts for guarded in part.routes())]

    async def _static(self, request: web.Request) -> web.Response:
        """A file that comes with the pages; under its version's name it never changes."""
        file = self.shell.rendering.static.get(request.match_info["name"])
        if file is None:
            raise web.HTTPNotFound
        current = request.query.get("v") == file.version
        return web.Response(
            body=file.content,
            content_type=file.media_type,
            charset="utf-8",
            headers={"Cache-Control": _FOREVER if current else "no-cache"},
        )
