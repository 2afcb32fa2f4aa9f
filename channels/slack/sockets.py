"""Socket Mode: connections that Slack sends events over, each acknowledged once it is durable.

docs.slack.dev/apis/events-api/using-socket-mode. A connection lives for some hours; Slack says before it ends, and the
next one then stands before the old one goes, so that nothing that is under way on it is lost.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

import aiohttp
import orjson
import structlog

from agent.errors import ChannelUnavailable, DeliveryRefused, SignoffError
from agent.ports.clock import Clock
from channels.slack.calls import Calls, Json

log = structlog.get_logger()

Take = Callable[[str, Json], Awaitable[Json | None]]
"""Takes what Slack brings, by its type; once it is durable, what is answered besides the acknowledgement."""

HEARTBEAT_SECONDS = 15.0
"""How often a connection is tried; half of that without an answer ends it."""
STEADY_SECONDS = 30.0
"""A connection that lived so long was no failure."""
LONGEST_PAUSE = 60.0
GRACE_SECONDS = 2.0
"""For events under way when the channel stops: Slack brings again what was not acknowledged."""


@dataclass(kw_only=True, eq=False)
class _Link:
    """One connection. `leaving` is set when it should be replaced; it goes on until Slack closes it. `is_refreshed`:
    Slack asked for that, as it does now and then."""

    socket: aiohttp.ClientWebSocketResponse
    is_refreshed: bool = False
    leaving: asyncio.Event = field(default_factory=asyncio.Event)


class Sockets:
    """Keeps a connection standing while `run` runs."""

    def __init__(self, calls: Calls, app_token: str, take: Take, clock: Clock) -> None:
        self._calls = calls
        self._app_token = app_token
        self._take = take
        self._clock = clock
        self._running: set[asyncio.Task[None]] = set()
        self._links: set[_Link] = set()

    async def run(self) -> None:
        """Connect, and again whenever a connection ends; until cancelled. Every failure waits longer than the last."""
        failures = 0
        while True:
            pause = await self._connected_once()
            failures = 0 if pause is None else failures + 1
            if pause is not None:
                await self._clock.sleep(max(pause, min(2.0 ** min(failures - 2, 6), LONGEST_PAUSE)))

    async def close(self) -> None:
        """Let what is under way end, then hang up."""
        events = [task for task in self._running if task.get_name() == "slack event"]
        if events:
            await asyncio.wait(events, timeout=GRACE_SECONDS)
        for link in list(self._links):
            await link.socket.close()
        for task in list(self._running):
            task.cancel()
        if self._running:
            await asyncio.wait(self._running)

    async def _connected_once(self) -> float | None:
        """One connection, until it should be replaced; the seconds to wait at least if something was wrong with it."""
        try:
            url = await self._calls.connect(self._app_token)
            # As http: the proxies of the environment are named for that scheme.
            socket = await self._calls.session.ws_connect(
                url.replace("ws", "http", 1), heartbeat=HEARTBEAT_SECONDS, timeout=aiohttp.ClientWSTimeout(ws_close=1)
            )
        except (ChannelUnavailable, DeliveryRefused) as error:
            self._calls.condition.fails("connection", str(error))
            return getattr(error, "retry_after", None) or 0.0
        except (aiohttp.ClientError, OSError, TimeoutError) as error:
            self._calls.condition.fails("connection", f"Slack cannot be reached ({type(error).__name__}).")
            return 0.0
        link = _Link(socket=socket)
        self._links.add(link)
        self._begin(self._listen(link), "slack connection")
        began = asyncio.get_running_loop().time()
        await link.leaving.wait()
        lived = asyncio.get_running_loop().time() - began
        return None if link.is_refreshed or lived > STEADY_SECONDS else 0.0

    async def _listen(self, link: _Link) -> None:
        try:
            async for message in link.socket:
                if message.type is aiohttp.WSMsgType.TEXT:
                    self._heard(link, message.data)
        finally:
            self._links.discard(link)
            link.leaving.set()

    def _heard(self, link: _Link, text: str) -> None:
        try:
            said = orjson.loads(text)
        except orjson.JSONDecodeError:
            log.warning("slack_said_no_json")
            return
        match said.get("type"):
            case "hello":
                self._greeted(said)
            case "disconnect":
                self._dismissed(link, str(said.get("reason") or ""))
            case kind if said.get("envelope_id"):
                self._begin(self._taken(link, str(kind), said), "slack event")
            case kind:
                log.debug("slack_said_something_else", kind=kind)

    def _greeted(self, hello: Json) -> None:
        for about in ("connection", "socket mode"):
            self._calls.condition.works(about)
        others = hello.get("num_connections", 1) - len(self._links)
        log.info("slack_connected", connections=hello.get("num_connections"))
        if others > 0:
            # Slack gives each event to one of them; whatever process takes it, the rows are the same.
            log.warning("slack_app_token_used_elsewhere", other_connections=others)

    def _dismissed(self, link: _Link, reason: str) -> None:
        log.info("slack_connection_ends", reason=reason)
        if reason == "link_disabled":
            self._calls.condition.fails("socket mode", "Socket Mode is turned off: turn it on in the app's settings.")
        link.is_refreshed = reason == "refresh_requested"
        if reason != "warning":  # which comes some 10 s before
            link.leaving.set()

    async def _taken(self, link: _Link, kind: str, envelope: Json) -> None:
        """The event border of this channel: what could not be taken is not acknowledged, so Slack brings it again."""
        try:
            answer = await self._take(kind, envelope.get("payload") or {})
        except SignoffError as error:
            log.warning("slack_event_not_taken", kind=kind, reason=str(error))
            return
        except Exception:
            log.exception("slack_event_failed_unexpectedly", kind=kind)
            return
        said: dict[str, Any] = {"envelope_id": envelope["envelope_id"]}
        said |= {"payload": answer} if answer else {}
        try:
            await link.socket.send_str(orjson.dumps(said).decode())
        except (aiohttp.ClientError, ConnectionError, RuntimeError):
            log.info("slack_event_not_acknowledged", kind=kind)  # it comes again and is known then

    def _begin(self, work: Any, name: str) -> None:
        task = asyncio.create_task(work, name=name)
        self._running.add(task)
        task.add_done_callback(self._running.discard)
