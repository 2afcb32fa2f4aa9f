"""A receiver of callbacks that checks signatures as its users would: from the specification, not from our code."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
from base64 import b64decode, b64encode
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import orjson
from aiohttp import web

SECRET = "whsec_" + b64encode(b"a key of thirty-two bytes length").decode()


@dataclass(kw_only=True)
class Receiver:
    """Answers `status` and keeps what it got, by message id."""

    url: str = ""
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    got: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    arrived: asyncio.Event = field(default_factory=asyncio.Event)

    async def next(self) -> dict[str, Any]:
        """The next body that arrives."""
        await self.arrived.wait()
        self.arrived.clear()
        return self.got[-1][1]

    async def take(self, request: web.Request) -> web.Response:
        body = await request.read()
        message_id, seconds = request.headers["webhook-id"], request.headers["webhook-timestamp"]
        key = b64decode(SECRET.removeprefix("whsec_"))
        digest = hmac.new(key, f"{message_id}.{seconds}.".encode() + body, hashlib.sha256).digest()
        assert request.headers["webhook-signature"].split() == ["v1," + b64encode(digest).decode()]
        assert request.content_type == "application/json"
        self.got.append((message_id, orjson.loads(body)))
        self.arrived.set()
        return web.Response(status=self.status, headers=self.headers)


@asynccontextmanager
async def receiving() -> AsyncIterator[Receiver]:
    """A receiver on a port of its own, while the block lasts."""
    receiver = Receiver()
    app = web.Application()
    app.router.add_post("/cb", receiver.take)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    receiver.url = f"http://127.0.0.1:{runner.addresses[0][1]}/cb"
    try:
        yield receiver
    finally:
        await runner.cleanup()
