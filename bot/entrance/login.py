"""The pages of login and logout, the only ones that strangers see."""

from __future__ import annotations

from html import escape

from aiohttp import web

from agent.errors import BadInput, NotFound
from bot.api import access
from bot.entrance.door import ARRIVAL, BROWSER, LOGIN, check_origin, cookie_name, set_cookie
from bot.entrance.rules import Guarded, Rule
from bot.services import Services

HOW = "To log in, open a login link. Whoever runs Signoff makes one with: signoff login-link NAME"


class Login:
    """A link shows a page with a button, and only the button signs in: programs that preview links press none."""

    def __init__(self, services: Services) -> None:
        self._services = services

    def routes(self) -> list[Guarded]:
        """`/login`, `/login/{secret}` and `/logout`."""
        return [
            Guarded(web.get(LOGIN, self._how), None),
            Guarded(web.get(f"{LOGIN}/{{secret}}", self._ask), None),
            Guarded(web.post(f"{LOGIN}/{{secret}}", self._log_in), None),
            Guarded(web.post("/logout", self._log_out), Rule(page=True)),
        ]

    async def _how(self, _: web.Request) -> web.Response:
        return _page("Log in", HOW)

    async def _ask(self, request: web.Request) -> web.Response:
        secret = request.match_info["secret"]
        try:
            member = await access.linked_member(self._services, secret, request[ARRIVAL].client)
        except BadInput as error:
            return _refused(error)
        return _page("Log in", f"Log in to Signoff as {member.name}?", button="Log in")

    async def _log_in(self, request: web.Request) -> web.Response:
        arrival = request[ARRIVAL]
        check_origin(request, arrival)
        try:
            link, old = request.match_info["secret"], request.cookies.get(cookie_name(arrival), "")
            secret = await access.log_in(self._services, link, arrival.client, replaces=old)
        except BadInput as error:
            return _refused(error)
        response = web.Response(status=303, headers={"Location": "/"})
        set_cookie(response, arrival, secret)
        return response

    async def _log_out(self, request: web.Request) -> web.Response:
        if BROWSER in request:
            await access.log_out(self._services, request[BROWSER])
        response = web.Response(status=303, headers={"Location": LOGIN})
        set_cookie(response, request[ARRIVAL], "")
        return response


def _refused(error: BadInput) -> web.Response:
    return _page("This link does not work", str(error), HOW, status=404 if isinstance(error, NotFound) else 410)


def _page(title: str, *sentences: str, button: str = "", status: int = 200) -> web.Response:
    press = f'<button class="primary" type="submit" autofocus>{escape(button)}</button>'
    form = f'<form method="post">{press}</form>' if button else ""
    body = "".join(f"<p>{escape(sentence)}</p>" for sentence in sentences)
    html = (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark"><link rel="icon" href="/static/icon.svg" type="image/svg+xml">'
        f'<title>{escape(title)} · Signoff</title><link rel="stylesheet" href="/static/app.css"></head>'
        '<body><main class="lone"><div class="sheet"><span class="brand">'
        '<img src="/static/icon.svg" alt="" width="28" height="28">Signoff</span>'
        f"<h1>{escape(title)}</h1>{body}{form}</div></main></body></html>"
    )
    return web.Response(status=status, text=html, content_type="text/html", headers={"Cache-Control": "no-store"})
