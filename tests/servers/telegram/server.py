"""A Bot API server on a real socket that refuses what Telegram refuses, and the people who use its chats.

    tg = FakeTelegram()
    await tg.start()                     # Bot(tg.token, base_url=tg.base_url, base_file_url=tg.base_file_url)
    ann = tg.user("Ann")
    chat = tg.private(ann)
    tg.says(ann, chat, "/start")
    await tg.until(lambda: tg.from_bot(chat))
    answer = await tg.press(ann, tg.from_bot(chat)[-1], "Approve")
    tg.will("sendMessage", Fault(status=429, retry_after=3), Fault(cut="after"))
    tg.refusals                          # what it refused, and why
    await tg.close()

What people see is in the chats: messages with their formats, keys, files and reactions, drafts, answers to presses.
"""

from __future__ import annotations

import asyncio
import inspect
import time
from collections import defaultdict, deque
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from aiohttp import web

from tests.servers.telegram import limits
from tests.servers.telegram.account import Account
from tests.servers.telegram.methods import BY_LOWER_CASE, METHODS
from tests.servers.telegram.parameters import Parameters, read
from tests.servers.telegram.people import People
from tests.servers.telegram.refusal import Refused
from tests.servers.telegram.schema import schema
from tests.servers.telegram.world import User


@dataclass(frozen=True, kw_only=True)
class Fault:
    """What goes wrong with one call. `cut`: the connection ends before or after the call took effect; `hang`: it
    never answers; else it is refused with `status`."""

    status: int = 500
    description: str = "Internal Server Error"
    retry_after: int | None = None
    cut: Literal["before", "after"] | None = None
    hang: bool = False


@dataclass(frozen=True, kw_only=True)
class Call:
    """A call as it came in, refused or not."""

    method: str
    values: dict[str, Any]
    at: float


class FakeTelegram(People):
    """`newer` False: a self-hosted server from before rich messages and drafts, which answers 404 to them.
    `local`: the folder of a server run with --local, without limits of downloads. `now`: seconds, for limits of time.
    """

    def __init__(
        self,
        *,
        username: str = "signoff_bot",
        newer: bool = True,
        local: Path | None = None,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        bot = User(user_id=7_000_001, first_name="Signoff", username=username, is_bot=True)
        super().__init__(Account(bot=bot, now=now, local=local, newer=newer))
        self.token = f"{bot.user_id}:AAH-a-token-for-tests-only-0123456789"
        self.base_url = ""
        self.base_file_url = ""
        self.calls: list[Call] = []
        self.refusals: list[str] = []
        self._faults: dict[str, deque[Fault]] = defaultdict(deque)
        self._changed = asyncio.Event()
        self._closing = asyncio.Event()
        self._runner: web.AppRunner | None = None

    def will(self, method: str, *faults: Fault) -> None:
        """The next calls of a method go wrong, one fault each."""
        self._faults[method].extend(faults)

    def called(self, method: str) -> list[dict[str, Any]]:
        """The parameters of all calls of a method."""
        return [call.values for call in self.calls if call.method == method]

    async def until(self, condition: Callable[[], Any], *, seconds: float = 10) -> None:
        """Wait until the condition holds; it is looked at when a call comes in and when it is answered."""
        async with asyncio.timeout(seconds):
            while not condition():
                self._changed.clear()
                await self._changed.wait()

    async def start(self, port: int = 0) -> None:
        """Listen on the loopback."""
        app = web.Application(client_max_size=limits.LOCAL_UPLOAD_BYTES)
        app.router.add_route("*", "/bot{token}/{method}", self._serve)
        app.router.add_get("/file/bot{token}/{kind}/{file_id}", self._download)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0, handler_cancellation=True)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", port).start()
        port = self._runner.addresses[0][1]
        self.base_url = f"http://127.0.0.1:{port}/bot"
        self.base_file_url = f"http://127.0.0.1:{port}/file/bot"

    async def close(self) -> None:
        """Stop listening and pushing, and drop every connection."""
        self._closing.set()
        await self.account.updates.close()
        if self._runner is not None:
            await self._runner.cleanup()

    async def _serve(self, request: web.Request) -> web.StreamResponse:
        name = BY_LOWER_CASE.get(request.match_info["method"].lower(), "")
        if request.match_info["token"] != self.token:
            return _refusal(Refused(401, "Unauthorized"))
        if not name or (name in limits.NEWER_METHODS and not self.account.newer):
            return _refusal(Refused(404, "Not Found: method not found"))
        if (request.content_length or 0) > self.account.upload_bytes + 1_000_000:
            return web.Response(status=413, text="<html><h1>413 Request Entity Too Large</h1></html>")
        parameters = await read(request)
        self.calls.append(Call(method=name, values=parameters.values, at=self.account.now()))
        self._changed.set()
        fault = self._faults[name].popleft() if self._faults[name] else None
        if fault is not None and fault.cut != "after":
            return await self._go_wrong(request, fault)
        response = await self._answer(name, parameters)
        self._changed.set()
        if fault is not None:
            return await self._go_wrong(request, fault)
        return response

    async def _answer(self, name: str, parameters: Parameters) -> web.Response:
        try:
            if (known := schema()) is not None:
                known.check_call(name, parameters.values, parameters.uploads)
            METHODS[name].check(parameters)
            result = METHODS[name].run(self.account, parameters)
            if inspect.isawaitable(result):
                result = await result
        except Refused as refusal:
            self.refusals.append(f"{name}: {refusal.description}")
            return _refusal(refusal)
        return web.json_response({"ok": True, "result": result})

    async def _go_wrong(self, request: web.Request, fault: Fault) -> web.StreamResponse:
        self._changed.set()
        if fault.hang:
            await self._closing.wait()
        if fault.cut is not None:
            assert request.transport is not None
            request.transport.abort()
            return web.Response()
        if fault.retry_after is not None:
            description = f"Too Many Requests: retry after {fault.retry_after}"
            return _refusal(Refused(429, description, retry_after=fault.retry_after))
        return _refusal(Refused(fault.status, fault.description))

    async def _download(self, request: web.Request) -> web.Response:
        stored = self.account.files.get(request.match_info["file_id"])
        if request.match_info["token"] != self.token or stored is None or self.account.local is not None:
            return _refusal(Refused(404, "Not Found"))
        return web.Response(body=stored.content, content_type="application/octet-stream")


def _refusal(refusal: Refused) -> web.Response:
    return web.json_response(refusal.body(), status=refusal.status)
