"""Lets members in: finds out who asks, checks what their browser sends, and applies the rule of the route."""

from __future__ import annotations

import hmac
from collections.abc import Awaitable, Callable, Iterable
from functools import partial

import structlog
from aiohttp import web

from agent.errors import Forbidden, NotAuthentic, NotFound
from bot.api import access
from bot.api.access import Browser
from bot.entrance.later import Later
from bot.entrance.proxies import Arrival, Proxies
from bot.entrance.rules import ADMISSION, CSRF_TOKEN, VIEWER, Admission, Guarded, Rule
from bot.services import Services

log = structlog.get_logger()

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
ARRIVAL: web.RequestKey[Arrival] = web.RequestKey("arrival", Arrival)
BROWSER: web.RequestKey[Browser] = web.RequestKey("browser", Browser)
LOGIN = "/login"
SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})


class Door:
    """The way in to what is `guarded`, which is loaded when somebody comes."""

    def __init__(self, services: Services, guarded: Callable[[], Iterable[Guarded]]) -> None:
        http = services.config.bot.http
        self._services = services
        self._proxies = Proxies(http.trusted_proxies, http.public_url)
        self._guarded = guarded
        self._rules: dict[tuple[str, str], Rule | None] = {}

    def mount(self, app: web.Application) -> None:
        """Add the routes, and stand before everything the application has."""
        for route in app.router.routes():
            self._note(route, None)
        app.router.register_resource(Later(self._behind))
        app.middlewares.append(self._let_in)
        app.on_response_prepare.append(_hand_out_cookie)

    def _behind(self) -> web.UrlDispatcher:
        router = web.UrlDispatcher()
        for guarded in self._guarded():
            for route in router.add_routes([guarded.route]):
                self._note(route, guarded.rule)
        return router

    def _note(self, route: web.AbstractRoute, rule: Rule | None) -> None:
        if route.resource is not None:
            self._rules[route.resource.canonical, route.method] = rule

    @web.middleware
    async def _let_in(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        arrival = request[ARRIVAL] = self._proxies.arrival(request)
        rule = self._rule(request)
        if rule is not None:
            try:
                await self._identify(request, arrival)
            except NotAuthentic:
                if rule.page:
                    return _shown_the_way(request)
                raise
            rule.check(request[VIEWER])
        return await handler(request)

    def _rule(self, request: web.Request) -> Rule | None:
        """The rule of the route. What is no route needs a member below /v1, so that strangers learn nothing there."""
        resource = request.match_info.route.resource
        if resource is None:
            return Rule() if request.path.startswith("/v1/") else None
        method = "GET" if request.method == "HEAD" else request.method
        if (resource.canonical, method) not in self._rules:
            raise NotFound(f"There is no {request.method} {resource.canonical}.")
        return self._rules[resource.canonical, method]

    async def _identify(self, request: web.Request, arrival: Arrival) -> None:
        """Put the viewer into the request: of the token if there is one, else of the cookie; NotAuthentic."""
        scheme, _, credentials = request.headers.get("Authorization", "").partition(" ")
        # Another scheme is not for us: a proxy that asks for a password passes it on with every request.
        if scheme.lower() == "bearer":
            enter = partial(access.by_token, self._services, credentials.strip(), arrival.client)
            request[VIEWER], request[CSRF_TOKEN] = await enter(), ""
            request[ADMISSION] = Admission(viewer=request[VIEWER], again=enter)
            return
        cookie = request.cookies.get(cookie_name(arrival), "")
        browser = await access.by_cookie(self._services, cookie, arrival.client)
        enter = partial(access.looked_at, self._services, cookie, arrival.client)
        request[ADMISSION] = Admission(viewer=browser.viewer, again=enter)
        if request.method not in SAFE_METHODS:
            check_origin(request, arrival)
            await _check_csrf(request, browser.csrf_token)
        request[BROWSER], request[VIEWER], request[CSRF_TOKEN] = browser, browser.viewer, browser.csrf_token


def check_origin(request: web.Request, arrival: Arrival) -> None:
    """Forbidden for a request that another site made a browser send. Browsers name the origin of every POST."""
    said = request.headers.get("Origin")
    site = request.headers.get("Sec-Fetch-Site", "same-origin")
    if (said is not None and said.lower() not in arrival.origins) or (said is None and site != "same-origin"):
        log.warning("foreign_origin_refused", client=arrival.client)
        raise Forbidden(
            "This request comes from another site. Behind a proxy, set bot.http.public_url to the address that "
            "browsers use.",
            code="foreign_origin",
        )


async def _check_csrf(request: web.Request, expected: str) -> None:
    """Forbidden without the session's CSRF token: in the header, or in the field of a plain form."""
    token = request.headers.get("X-CSRF-Token", "")
    if not token and request.content_type == "application/x-www-form-urlencoded":
        token = str((await request.post()).get("csrf_token", ""))
    if not hmac.compare_digest(token.encode(errors="replace"), expected.encode()):
        raise Forbidden(
            "The page is out of date; load it again. (X-CSRF-Token is missing or not this session's.)", code="csrf"
        )


# --- cookies ----------------------------------------------------------------------------------------------------------


def cookie_name(arrival: Arrival) -> str:
    """With `__Host-` browsers hold to Secure, the path / and this host only (RFC 6265bis, 4.1.3.2)."""
    return "__Host-signoff" if arrival.secure else "signoff"


def set_cookie(response: web.StreamResponse, arrival: Arrival, secret: str) -> None:
    """Give a browser its secret; an empty one takes it away. Lax: a link from a chat to a page must work."""
    age = access.IDLE.total_seconds() if secret else 0
    attributes = f"Path=/; Max-Age={age:.0f}; HttpOnly; SameSite=Lax{'; Secure' if arrival.secure else ''}"
    response.headers.add("Set-Cookie", f"{cookie_name(arrival)}={secret}; {attributes}")


async def _hand_out_cookie(request: web.Request, response: web.StreamResponse) -> None:
    """When headers are written, so that a stream and a file bring a rotated secret along, too."""
    browser = request.get(BROWSER)
    if browser is not None:
        response.headers.setdefault("Cache-Control", "no-store")
    if browser is not None and browser.secret is not None:
        set_cookie(response, request[ARRIVAL], browser.secret)


def _shown_the_way(request: web.Request) -> web.Response:
    """To the page that says how to log in; htmx would put the page into the middle of another one."""
    if "HX-Request" in request.headers:
        return web.Response(status=401, headers={"HX-Redirect": LOGIN})
    return web.Response(status=303, headers={"Location": LOGIN})
