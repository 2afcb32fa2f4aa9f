"""As much of a Bot API server as a bot without people needs: it signs in, offers its words and waits for updates."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from aiohttp import web

TOKEN = "7000001:AAH-a-token-for-the-bench-only"
ME = {"id": 7_000_001, "is_bot": True, "first_name": "Bench", "username": "bench_bot"}


@dataclass(kw_only=True)
class BotApi:
    """`url` is for `channels.telegram.base_url`; `polled` is set by each request for updates, which it never has."""

    url: str = ""
    polled: asyncio.Event = field(default_factory=asyncio.Event)

    async def answer(self, request: web.Request) -> web.Response:
        """What a call is answered with."""
        method = request.match_info["method"]
        if method == "getUpdates":
            self.polled.set()
            await asyncio.Event().wait()
        results = {
            "getMe": ME,
            "getWebhookInfo": {"url": "", "pending_update_count": 0, "has_custom_certificate": False},
        }
        return web.json_response({"ok": True, "result": results.get(method, True)})


@asynccontextmanager
async def bot_api() -> AsyncIterator[BotApi]:
    """One on the loopback while the block lasts."""
    api = BotApi()
    app = web.Application()
    app.router.add_post("/bot{token}/{method}", api.answer)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0, handler_cancellation=True)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    api.url = f"http://127.0.0.1:{runner.addresses[0][1]}/bot"
    try:
        yield api
    finally:
        await runner.cleanup()
