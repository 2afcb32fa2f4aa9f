"""A fake Slack on real sockets: one workspace, one app, and everything that a person in it sees and does.

    async with running() as slack:
        ann = slack.person("ann")
        ops = slack.room("ops", ann)
        request = slack.says(ann, ops, f"<@{slack.bot_user}> check the invoices")
        await slack.acked()
        ...                      # the app works, over slack.api_url with slack.bot_token and slack.app_token
        await slack.until(lambda: any(message.buttons for message in slack.thread(ops, request.ts)))
        card = slack.thread(ops, request.ts)[-1]
        await slack.press(ann, card, "Approve")

It refuses what Slack refuses (`limits.py` names every limit with its page) and lets go wrong what a test orders:
`slack.api.order("chat.postMessage", Fault(kind="rate_limited", seconds=30))`.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from aiohttp import web

from tests.servers.slack import uploads
from tests.servers.slack.deeds import Deeds
from tests.servers.slack.deliveries import HttpCaller, Sockets
from tests.servers.slack.limits import maximum
from tests.servers.slack.web_api import WebApi
from tests.servers.slack.world import Json, Message, World


class FakeSlack(Deeds):
    """The server. Without `http.request_url` events go over Socket Mode."""

    def __init__(self) -> None:
        world = World()
        sockets = Sockets(world.app_id)
        super().__init__(world, sockets, HttpCaller("8f742231b10e8888abcd99yyyzzz85a5", world))
        self.api = WebApi(world=world)
        self.api.handlers["apps.connections.open"] = lambda world, _given: sockets.ticket(world.url)
        self.redirect_files_to = ""
        self._runner: web.AppRunner | None = None

    @property
    def api_url(self) -> str:
        return f"{self.world.url}/api/"

    @property
    def bot_token(self) -> str:
        return self.api.bot_token

    @property
    def app_token(self) -> str:
        return self.api.app_token

    @property
    def signing_secret(self) -> str:
        return self.http.secret

    async def start(self) -> None:
        """Listen on a free port of the loopback."""
        app = web.Application(client_max_size=64 * 1024 * 1024)
        app.router.add_route("*", "/api/{method}", self.api.answer)
        app.router.add_get("/link/", self.sockets.link)
        app.router.add_post("/upload/v1/{file_id}", self._upload)
        app.router.add_get("/files-pri/{team_file}/{rest:.*}", self._download)
        app.router.add_post("/response/{user}/{ticket}", self._respond)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        self.world.url = f"http://127.0.0.1:{self._runner.addresses[0][1]}"

    async def close(self) -> None:
        """Stop listening and bringing."""
        await self.stop_bringing()
        self.sockets.drop()
        if self._runner is not None:
            await self._runner.cleanup()

    async def _upload(self, request: web.Request) -> web.Response:
        content = await request.read()
        if request.content_type == "multipart/form-data":
            raise web.HTTPUnsupportedMediaType
        self.world.stirred.set()
        return uploads.receive(self.world, request.match_info["file_id"], content)

    async def _download(self, request: web.Request) -> web.Response:
        if self.redirect_files_to:
            raise web.HTTPFound(self.redirect_files_to)
        is_ours = request.headers.get("Authorization") == f"Bearer {self.bot_token}" and not self.api.token_error
        file_id = request.match_info["team_file"].partition("-")[2]
        return uploads.download(self.world, file_id, is_allowed=is_ours and "files:read" in self.api.scopes)

    async def _respond(self, request: web.Request) -> web.Response:
        """A response_url: five times within half an hour (docs.slack.dev/interactivity/handling-user-interaction)."""
        made, uses = self.response_urls.get(request.match_info["ticket"], (0.0, maximum("response_url.uses")))
        is_late = self.world.now() - made > maximum("response_url.seconds")
        if is_late or uses >= maximum("response_url.uses"):
            return web.json_response({"ok": False, "error": "expired_url"}, status=404)
        self.response_urls[request.match_info["ticket"]] = (made, uses + 1)
        self._show(request.match_info["user"], await request.json())
        return web.Response(text="ok")

    def _show(self, user: str, said: Json) -> None:
        message = Message(channel="", ts=self.world.new_ts(), user=self.world.bot_user, text=said.get("text", ""))
        message.blocks, message.is_bot, message.only_for = said.get("blocks", []), True, user
        self.world.ephemerals.append(message)


@asynccontextmanager
async def running() -> AsyncIterator[FakeSlack]:
    """A Slack that listens while the block lasts."""
    slack = FakeSlack()
    await slack.start()
    try:
        yield slack
    finally:
        await slack.close()
