"""A fast stand-in for Slack: Socket Mode and a Web API that says yes to everything, and how long acknowledgements take.

It runs in the measuring process; the app under test connects over loopback.
"""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import orjson
from aiohttp import WSMsgType, web

TEAM, APP, BOT = "T0BENCH", "A0BENCH", "U0BOT"
BOT_TOKEN, APP_TOKEN = "xoxb-1-bench", "xapp-1-bench"
ACK_SECONDS = 30
"""Until an event counts as lost."""
_PEOPLE, _ROOMS = 20, 10
_KINDS = ("message", "app_mention")
_ANSWERS: dict[str, dict[str, Any]] = {
    "auth.test": {"user_id": BOT, "user": "signoff", "bot_id": "B0BOT", "team_id": TEAM, "team": "bench"},
    "users.info": {"user": {"id": "U0", "name": "ann", "profile": {"display_name": "Ann"}}},
    "bots.info": {"bot": {"id": "B0BOT", "app_id": APP, "user_id": BOT}},
}


class FakeSlack:
    """`url` is the base of the Web API, which has counted `calls`."""

    def __init__(self) -> None:
        self.url = ""
        self.calls = 0
        self._numbers = itertools.count(1)
        self._waiting: dict[str, asyncio.Future[None]] = {}
        self._sockets: list[web.WebSocketResponse] = []
        self._arrived = asyncio.Condition()

    async def connected(self) -> None:
        """Until an app is."""
        async with self._arrived:
            await self._arrived.wait_for(lambda: bool(self._sockets))

    async def bring(self, event: dict[str, Any]) -> float:
        """Milliseconds until an event is acknowledged; TimeoutError when it is not."""
        socket, envelope_id = self._sockets[-1], f"e{next(self._numbers)}"
        acknowledged = self._waiting[envelope_id] = asyncio.get_running_loop().create_future()
        payload: dict[str, Any] = {
            "type": "event_callback",
            "team_id": TEAM,
            "api_app_id": APP,
            "event_id": f"Ev{envelope_id}",
        }
        payload |= {"authorizations": [{"team_id": TEAM, "user_id": BOT, "is_bot": True}], "event": event}
        envelope = {"envelope_id": envelope_id, "type": "events_api", "payload": payload, "retry_attempt": 0}
        begun = time.perf_counter()
        await socket.send_str(orjson.dumps({**envelope, "accepts_response_payload": False}).decode())
        async with asyncio.timeout(ACK_SECONDS):
            await acknowledged
        return (time.perf_counter() - begun) * 1000

    def mention(self, text: str) -> list[dict[str, Any]]:
        """Both events of a mention, in one of some channels by one of some people."""
        number = next(self._numbers)
        place = {"channel": f"C{number % _ROOMS:08}", "ts": f"1700000000.{number:06}"}
        said = {"user": f"U{number % _PEOPLE:08}", "text": f"<@{BOT}> {text}", "team": TEAM, **place}
        return [{"type": kind, "channel_type": "channel", "event_ts": said["ts"], **said} for kind in _KINDS]

    def app(self) -> web.Application:
        """The server."""
        app = web.Application()
        app.router.add_route("*", "/api/{method}", self._answer)
        app.router.add_get("/link", self._link)
        return app

    async def _answer(self, request: web.Request) -> web.Response:
        self.calls += 1
        method = request.match_info["method"]
        await request.read()
        answer = {"ok": True, "channel": "C1", "ts": f"1700000001.{next(self._numbers):06}"}
        if method == "apps.connections.open":
            answer["url"] = self.url.replace("http", "ws", 1).replace("/api/", "/link")
        answer |= _ANSWERS.get(method, {})
        return web.Response(body=orjson.dumps(answer), content_type="application/json")

    async def _link(self, request: web.Request) -> web.StreamResponse:
        socket = web.WebSocketResponse()
        await socket.prepare(request)
        await socket.send_str('{"type":"hello","num_connections":1,"connection_info":{"app_id":"A0BENCH"}}')
        self._sockets.append(socket)
        try:
            async with self._arrived:
                self._arrived.notify_all()
            async for message in socket:
                if message.type is WSMsgType.TEXT:
                    self._acknowledged(orjson.loads(message.data)["envelope_id"])
        finally:
            self._sockets.remove(socket)
        return socket

    def _acknowledged(self, envelope_id: str) -> None:
        future = self._waiting.pop(envelope_id, None)
        if future is not None and not future.done():
            future.set_result(None)


@asynccontextmanager
async def running() -> AsyncIterator[FakeSlack]:
    """A Slack while the block lasts, for one app."""
    slack = FakeSlack()
    runner = web.AppRunner(slack.app(), access_log=None, shutdown_timeout=0)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        slack.url = f"http://127.0.0.1:{runner.addresses[0][1]}/api/"
        yield slack
    finally:
        await runner.cleanup()
