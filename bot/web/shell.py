"""What every page has around it: navigation, who is logged in, what waits, and the form of an error."""

from __future__ import annotations

from typing import Any

from aiohttp import web

from bot.api.approvals import cards
from bot.api.sessions import list_sessions
from bot.entrance.rules import CSRF_TOKEN, VIEWER
from bot.services import Services
from bot.web.rendering import Rendering
from bot.web.rights import rights

SESSIONS_SHOWN = 40
"""Chats beside every page."""
MOST_WAITING = 99
_FRAGMENT_ERRORS = {"HX-Retarget": "#toasts", "HX-Reswap": "beforeend", "HX-Push-Url": "false"}
"""An error of a part of a page is told above it and replaces nothing."""
_TITLES = {
    401: "Please log in",
    403: "This is not allowed",
    404: "This is not here",
    409: "This has changed",
    410: "This is gone",
    413: "This is too large",
    503: "Back in a moment",
}


class Shell:
    """Puts pages together for whoever asks."""

    def __init__(self, services: Services) -> None:
        self.services = services
        self.rendering = Rendering()

    async def page(self, request: web.Request, template: str, *, status: int = 200, **values: Any) -> web.Response:
        """A whole page."""
        viewer = request[VIEWER]
        waiting = await cards(self.services, viewer, "open", page_size=MOST_WAITING)
        sessions = await list_sessions(self.services, viewer, mine=True, page_size=SESSIONS_SHOWN)
        around = {"waiting": len(waiting), "sessions": sessions.sessions, "session_id": None}
        return self._html(template, {**self.given(request), **around, **values}, status)

    def fragment(self, request: web.Request, template: str, **values: Any) -> web.Response:
        """A part of a page."""
        return self._html(template, {**self.given(request), **values}, 200)

    def given(self, request: web.Request) -> dict[str, Any]:
        """What every template may use."""
        viewer = request[VIEWER]
        return {
            "viewer": viewer,
            "admin": "admin" in viewer.member.roles,
            "zone": viewer.member.timezone,
            "now": self.services.clock.now(),
            "csrf": request[CSRF_TOKEN],
            "rights_to": lambda card: rights(viewer, card),
        }

    def refusal(self, request: web.Request, status: int, message: str) -> web.Response:
        """An error as a page of its own, or as a line above the page that asked for a part."""
        values = {"status": status, "title": _TITLES.get(status, "This did not work"), "message": message}
        if "HX-Request" in request.headers:
            response = self._html("toast.html", values, status)
            response.headers.update(_FRAGMENT_ERRORS)
            return response
        return self._html("error.html", values, status)

    def _html(self, template: str, values: dict[str, Any], status: int) -> web.Response:
        text = self.rendering.render(template, **values)
        return web.Response(status=status, text=text, content_type="text/html", headers={"Cache-Control": "no-store"})


def wants_fragment(request: web.Request) -> bool:
    """Whether htmx asks, which puts the answer into the page."""
    return "HX-Request" in request.headers


def see_other(request: web.Request, url: str) -> web.Response:
    """Go to another page, asked by a form or by htmx."""
    if wants_fragment(request):
        return web.Response(status=200, headers={"HX-Redirect": url})
    return web.Response(status=303, headers={"Location": url})
