"""Somebody who is logged in and opens pages, with a real cookie on a real socket."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from aiohttp import FormData

from bot.api import access
from tests.bot.api.site import Answer, Site
from tests.bot.web.page import Page

PLAIN = {"Accept": "text/html"}


@dataclass(frozen=True, kw_only=True)
class Seen:
    """A page, or whatever came instead."""

    status: int
    headers: Mapping[str, str]
    text: str

    @property
    def page(self) -> Page:
        return Page(self.text)


@dataclass(kw_only=True)
class Visitor:
    """A browser without a screen."""

    site: Site
    cookie: str
    csrf: str = ""

    async def get(self, path: str, **headers: str) -> Seen:
        return await self._send("GET", path, headers={**PLAIN, **headers})

    async def post(
        self, path: str, form: Mapping[str, Any] | FormData | None = None, *, part: bool = True, **sent: Any
    ) -> Seen:
        """Send a form as htmx does (`part`), or as a browser does without a script."""
        headers = {"X-CSRF-Token": self.csrf, **PLAIN, **({"HX-Request": "true"} if part else {})}
        return await self._send("POST", path, headers=headers, **({"data": form} if form is not None else {}), **sent)

    async def say(self, text: str, session_id: int | None = None) -> int:
        """Ask for something and return the conversation."""
        seen = await self.post(f"/chat/{session_id}" if session_id else "/chat", {"text": text})
        assert seen.status == 200, seen.text
        return session_id or int(seen.headers["HX-Redirect"].rsplit("/", 1)[1])

    async def _send(self, method: str, path: str, **sent: Any) -> Seen:
        headers = {"Cookie": f"signoff={self.cookie}", **sent.pop("headers")}
        answer: Answer = await self.site.ask(None, method, path, headers=headers, allow_redirects=False, **sent)
        return Seen(status=answer.status, headers=answer.headers, text=answer.body.decode())


async def logged_in(site: Site, name: str = "operator") -> Visitor:
    """A member with the page of a new chat open."""
    secret = (await access.login_path(site.app.services, name)).rsplit("/", 1)[1]
    visitor = Visitor(site=site, cookie=await access.log_in(site.app.services, secret, "127.0.0.1"))
    visitor.csrf = (await visitor.get("/chat")).page.attribute("data-csrf")
    return visitor
