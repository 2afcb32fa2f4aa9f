"""A server with a door on a real socket, and routes that only say who came in."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from aiohttp import web

from bot.api import access
from bot.api.viewer import DEFAULT_SCOPES, Scope, terminal
from bot.config import load_config
from bot.entrance.door import Door
from bot.entrance.login import Login
from bot.entrance.rules import CSRF_TOKEN, VIEWER, Guarded, Rule
from bot.server import Health, Server
from bot.services import Services, connected
from tests.clock import FakeClock

PEOPLE: list[dict[str, Any]] = [
    {"name": "Ann", "roles": ["approver"]},
    {"name": "Bob"},
    {"name": "Zoe", "roles": ["admin"]},
]


@dataclass(kw_only=True)
class Came:
    """An answer."""

    status: int
    headers: dict[str, str]
    cookies: list[str]
    text: str

    @property
    def json(self) -> dict[str, Any]:
        value = json.loads(self.text)
        assert isinstance(value, dict)
        return value


@dataclass(kw_only=True)
class Visitor:
    """A browser, as far as cookies go: what it was given it sends along."""

    url: str
    http: aiohttp.ClientSession
    jar: dict[str, str] = field(default_factory=dict)
    csrf: str = ""

    async def send(self, method: str, path: str, form: dict[str, str] | None = None, /, **headers: str) -> Came:
        """One request, no redirect followed; an underscore in a header's name stands for a hyphen."""
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        if self.jar:
            sent["Cookie"] = "; ".join(f"{name}={value}" for name, value in self.jar.items())
        url = path if path.startswith("http") else self.url + path
        async with self.http.request(method, url, data=form, headers=sent, allow_redirects=False) as answer:
            cookies = answer.headers.getall("Set-Cookie", [])
            for cookie in cookies:
                name, _, value = cookie.partition(";")[0].partition("=")
                self.jar[name] = value
            return Came(status=answer.status, headers=dict(answer.headers), cookies=cookies, text=await answer.text())

    async def get(self, path: str, **headers: str) -> Came:
        return await self.send("GET", path, **headers)

    async def post(self, path: str, form: dict[str, str] | None = None, /, **headers: str) -> Came:
        return await self.send("POST", path, form, **headers)

    async def sign_in(self, link: str, **headers: str) -> Came:
        """Press the button of a login link, and read the CSRF token of the session."""
        came = await self.post(link, **headers)
        if came.status == 303:
            self.csrf = (await self.get("/v1/probe", **headers)).json["csrf"]
        return came


@dataclass(kw_only=True)
class House:
    """The server, and what its owner can do."""

    url: str
    services: Services
    clock: FakeClock
    http: aiohttp.ClientSession

    def visitor(self) -> Visitor:
        return Visitor(url=self.url, http=self.http)

    async def link(self, name: str = "operator") -> str:
        return await access.login_path(self.services, name)

    async def browser(self, name: str = "operator") -> Visitor:
        """Somebody who is signed in."""
        visitor = self.visitor()
        assert (await visitor.sign_in(await self.link(name))).status == 303
        return visitor

    async def token(self, name: str, *scopes: Scope, seconds: int | None = None) -> str:
        by = terminal(self.services.people, self.services.workspaces)
        _, text = await access.make_token(self.services, by, name, scopes or DEFAULT_SCOPES, seconds=seconds)
        return text

    async def acts(self) -> list[tuple[str, str, str]]:
        """Who did what and from where, the oldest first."""
        return [(row.who, row.what, row.client) for row in reversed(await self.services.access.audits())]


async def probe(request: web.Request) -> web.Response:
    viewer = request[VIEWER]
    seen = (
        None if viewer.workspaces is None else sorted(re.sub(r"-[0-9a-f]{12}$", "", each) for each in viewer.workspaces)
    )
    return web.json_response(
        {
            "name": viewer.member.name,
            "way": viewer.way,
            "client": viewer.client,
            "scopes": sorted(viewer.scopes),
            "workspaces": seen,
            "csrf": request[CSRF_TOKEN],
        }
    )


async def stream(request: web.Request) -> web.StreamResponse:
    response = web.StreamResponse()
    await response.prepare(request)
    await response.write(b"data")
    return response


async def unguarded(_: web.Request) -> web.Response:
    return web.Response(text="open")


GUARDED = [
    Guarded(web.get("/v1/probe", probe), Rule(scope="tasks:read")),
    Guarded(web.post("/v1/probe", probe), Rule(scope="tasks:write")),
    Guarded(web.get("/v1/stream", stream), Rule()),
    Guarded(web.get("/v1/audit", probe), Rule(scope="audit:read")),
    Guarded(web.get("/page", probe), Rule(page=True)),
    Guarded(web.get("/admin", probe), Rule(page=True, role="admin")),
    Guarded(web.get("/open", unguarded), None),
]


OpenHouse = Callable[..., Awaitable[House]]


@pytest.fixture
async def open_house(tmp_path: Path) -> AsyncIterator[OpenHouse]:
    """Opens a house with settings of `bot.http`; a second one on the same data is a restart."""
    clock = FakeClock()
    async with AsyncExitStack() as stack:

        async def opened(people: list[dict[str, Any]] | None = None, **http: Any) -> House:
            return await stack.enter_async_context(_house(tmp_path, clock, PEOPLE if people is None else people, http))

        yield opened


@pytest.fixture
async def house(open_house: OpenHouse) -> House:
    return await open_house()


@asynccontextmanager
async def _house(
    folder: Path, clock: FakeClock, people: list[dict[str, Any]], http: dict[str, Any]
) -> AsyncIterator[House]:
    for name in ("shared", "lab", "secret"):
        (folder / name).mkdir(exist_ok=True)
    settings = {
        "bot": {"data_dir": str(folder / "data"), "http": {"port": 0, **http}},
        "people": people,
        "workspaces": {
            "shared": {"path": str(folder / "shared"), "channels": ["console:*"]},
            "lab": {"path": str(folder / "lab"), "channels": ["console:Ann"]},
            "secret": {"path": str(folder / "secret"), "channels": ["slack:*"]},
        },
    }
    (folder / "config.yaml").write_text(json.dumps(settings))
    async with connected(load_config(folder / "config.yaml", {}), clock) as services:
        door = Door(services, lambda: [*Login(services).routes(), *GUARDED])
        server = Server(Health(listings=services.store), [], max_body=64 * 1024, door=door)
        port = await server.start("127.0.0.1", 0)
        try:
            async with aiohttp.ClientSession() as client:
                yield House(url=f"http://127.0.0.1:{port}", services=services, clock=clock, http=client)
        finally:
            await server.close()
