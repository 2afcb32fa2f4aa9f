"""Routes that are loaded at the first request for one of them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass, field

import pytest
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer

from bot.entrance.later import Later


async def said(request: web.Request) -> web.Response:
    resource = request.match_info.route.resource
    assert resource is not None
    return web.Response(text=f"{resource.canonical} {dict(request.match_info)}")


@dataclass
class Loading:
    """Counts."""

    times: int = 0
    app: web.Application = field(init=False)
    client: TestClient[web.Request, web.Application] = field(init=False)

    def load(self) -> web.UrlDispatcher:
        self.times += 1
        router = web.UrlDispatcher()
        router.add_routes([web.get("/pages/{page}", said), web.put("/hooks/{name}", said)])
        return router

    async def text(self, method: str, path: str) -> str:
        async with self.client.request(method, path) as response:
            allowed = response.headers.get("Allow", "")
            return await response.text() if response.status == 200 else f"{response.status} {allowed}".strip()


@pytest.fixture
async def loading() -> AsyncIterator[Loading]:
    loading, app = Loading(), web.Application()
    app.router.add_routes([web.post("/hooks/{name}", said)])
    app.router.register_resource(Later(loading.load))
    loading.app = app
    async with TestClient(TestServer(app)) as loading.client:
        yield loading


async def test_they_are_loaded_once_and_not_for_another_route(loading: Loading) -> None:
    """A route that is there is taken without a look at those that are not."""
    assert await loading.text("POST", "/hooks/a") == "/hooks/{name} {'name': 'a'}"
    assert loading.times == 0
    for page in ("a", "b"):
        assert await loading.text("GET", f"/pages/{page}") == f"/pages/{{page}} {{'page': '{page}'}}"
    assert loading.times == 1


async def test_what_neither_has_is_refused_for_both(loading: Loading) -> None:
    """The methods of a path are those of both, and a path that nobody has is none."""
    assert await loading.text("GET", "/hooks/a") == "405 POST,PUT"
    assert await loading.text("PUT", "/hooks/a") == "/hooks/{name} {'name': 'a'}"
    assert await loading.text("POST", "/pages/a") == "405 GET,HEAD"
    assert await loading.text("GET", "/elsewhere") == "404"


async def test_they_are_among_the_routes_of_the_application(loading: Loading) -> None:
    """Whoever lists what is answered sees them, too."""
    listed = {(route.method, route.resource.canonical) for route in loading.app.router.routes() if route.resource}
    assert listed >= {("POST", "/hooks/{name}"), ("GET", "/pages/{page}"), ("PUT", "/hooks/{name}")}
