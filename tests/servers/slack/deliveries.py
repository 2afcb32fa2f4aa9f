"""How Slack brings something to the app: over Socket Mode, or as signed HTTP requests; again when nobody says yes.

docs.slack.dev/apis/events-api/using-socket-mode, docs.slack.dev/authentication/verifying-requests-from-slack
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
import uuid
from dataclasses import dataclass, field
from typing import Any, Literal
from urllib.parse import urlencode

import aiohttp
from aiohttp import web

from tests.servers.slack.limits import maximum
from tests.servers.slack.world import Json, Refused, World

Kind = Literal["events_api", "interactive", "slash_commands"]


@dataclass(kw_only=True)
class Delivery:
    """Something brought to the app: how often, and what it answered; `answer` is None until it is taken."""

    kind: Kind
    payload: Json
    attempts: int = 0
    answer: Json | None = None
    statuses: list[int] = field(default_factory=list)

    @property
    def is_taken(self) -> bool:
        return self.answer is not None

    @property
    def tries(self) -> int:
        """Interactions are brought once: the person sees that nothing happened."""
        return 1 + maximum("retries") if self.kind == "events_api" else 1


@dataclass(kw_only=True, eq=False)
class Connection:
    """One websocket and what it has not acknowledged, by envelope id."""

    socket: web.WebSocketResponse
    transport: asyncio.Transport
    waiting: dict[str, asyncio.Future[Json | None]] = field(default_factory=dict)
    is_leaving: bool = False


class Sockets:
    """Socket Mode. Each delivery goes to one connection, in turn; `redelivery_seconds` is how long Slack waits."""

    def __init__(self, app_id: str) -> None:
        self.redelivery_seconds = float(maximum("ack.seconds"))
        self.connections: list[Connection] = []
        self.opened = 0
        self.strange_acks: list[str] = []
        self._app_id = app_id
        self._tickets: set[str] = set()
        self._turn = 0
        self._arrived = asyncio.Condition()

    def ticket(self, url: str) -> Json:
        """The answer of apps.connections.open: an address that works once."""
        if len(self.connections) >= maximum("connections"):
            raise Refused("too_many_websockets")
        ticket = uuid.uuid4().hex
        self._tickets.add(ticket)
        return {"url": f"{url.replace('http', 'ws', 1)}/link/?ticket={ticket}&app_id={self._app_id}"}

    async def link(self, request: web.Request) -> web.StreamResponse:
        """A connection, until either side ends it."""
        ticket = request.query.get("ticket", "")
        if ticket not in self._tickets:
            return web.Response(status=403)
        self._tickets.remove(ticket)
        socket = web.WebSocketResponse()
        await socket.prepare(request)
        assert isinstance(request.transport, asyncio.Transport)
        connection = Connection(socket=socket, transport=request.transport)
        self.connections.append(connection)
        self.opened += 1
        try:
            await socket.send_json(self._hello())
            async with self._arrived:
                self._arrived.notify_all()
            async for message in socket:
                self._acknowledge(connection, message.data)
        finally:
            self.connections.remove(connection)
            for future in connection.waiting.values():
                if not future.done():
                    future.set_result(None)
        return socket

    async def connected(self, number: int = 1) -> None:
        """Until so many connections stand."""
        async with self._arrived:
            await self._arrived.wait_for(lambda: len(self._ready()) >= number)

    async def refresh(self, reason: str = "refresh_requested", grace_seconds: float = 0.05) -> None:
        """Ask the oldest connection to go; it is closed after the grace, as Slack does every few hours."""
        connection = self._ready()[0]
        connection.is_leaving = True
        await connection.socket.send_json({"type": "disconnect", "reason": reason, "debug_info": {"host": "applink-1"}})
        await asyncio.sleep(grace_seconds)
        await connection.socket.close()

    def drop(self) -> None:
        """Cut every connection without a word."""
        for connection in list(self.connections):
            connection.is_leaving = True
            connection.transport.abort()

    async def bring(self, delivery: Delivery) -> None:
        """Until it is acknowledged or Slack gives up."""
        while not delivery.is_taken and delivery.attempts < delivery.tries:
            await self.connected()
            delivery.answer = await self._try(delivery)

    async def _try(self, delivery: Delivery) -> Json | None:
        ready = self._ready()
        self._turn += 1
        connection = ready[self._turn % len(ready)]
        envelope_id = str(uuid.uuid4())
        future: asyncio.Future[Json | None] = asyncio.get_running_loop().create_future()
        connection.waiting[envelope_id] = future
        envelope: Json = {"envelope_id": envelope_id, "type": delivery.kind, "payload": delivery.payload}
        envelope["accepts_response_payload"] = delivery.kind != "events_api"
        if delivery.kind == "events_api":
            envelope |= {"retry_attempt": delivery.attempts, "retry_reason": "timeout" if delivery.attempts else ""}
        delivery.attempts += 1
        try:
            await connection.socket.send_json(envelope)
            return await asyncio.wait_for(future, self.redelivery_seconds)
        except (TimeoutError, ConnectionError, RuntimeError):
            return None
        finally:
            connection.waiting.pop(envelope_id, None)

    def _ready(self) -> list[Connection]:
        return [found for found in self.connections if not found.is_leaving and not found.socket.closed]

    def _hello(self) -> Json:
        return {
            "type": "hello",
            "num_connections": len(self.connections),
            "debug_info": {"host": "applink-1", "approximate_connection_time": 18_060},
            "connection_info": {"app_id": self._app_id},
        }

    def _acknowledge(self, connection: Connection, data: Any) -> None:
        said = json.loads(data)
        future = connection.waiting.get(str(said.get("envelope_id")))
        if future is None or said.keys() - {"envelope_id", "payload"}:
            self.strange_acks.append(str(data))
        elif not future.done():
            future.set_result(said.get("payload") or {})


class HttpCaller:
    """Signed requests to the app's address. `retry_seconds` is how long Slack waits before each repetition."""

    def __init__(self, secret: str, world: World) -> None:
        self.request_url = ""
        self.retry_seconds = (0.0, 60.0, 300.0)
        self.secret = secret
        self._world = world

    async def bring(self, delivery: Delivery) -> None:
        """Until it is answered with 200 or Slack gives up."""
        body, content_type = encoded(delivery)
        while not delivery.is_taken and delivery.attempts < delivery.tries:
            headers = {"Content-Type": content_type}
            if delivery.attempts:
                await asyncio.sleep(self.retry_seconds[delivery.attempts - 1])
                headers |= {"X-Slack-Retry-Num": str(delivery.attempts), "X-Slack-Retry-Reason": "http_timeout"}
            delivery.attempts += 1
            status, text = await self.post(body, headers | self.signature(body))
            delivery.statuses.append(status)
            delivery.answer = _json(text) if status == 200 else None

    def signature(self, body: bytes, *, age_seconds: float = 0) -> dict[str, str]:
        """The headers by which the app knows that Slack sent the body."""
        moment = str(int(self._world.now() - age_seconds))
        digest = hmac.new(self.secret.encode(), b"v0:" + moment.encode() + b":" + body, hashlib.sha256).hexdigest()
        return {"X-Slack-Request-Timestamp": moment, "X-Slack-Signature": f"v0={digest}"}

    async def post(self, body: bytes, headers: dict[str, str]) -> tuple[int, str]:
        """One request as it is, also a forged one; status 0 when no answer came in time."""
        timeout = aiohttp.ClientTimeout(total=maximum("ack.seconds"))
        async with aiohttp.ClientSession(timeout=timeout) as session:
            try:
                async with session.post(self.request_url, data=body, headers=headers) as response:
                    return response.status, await response.text()
            except (TimeoutError, aiohttp.ClientError):
                return 0, ""


def encoded(delivery: Delivery) -> tuple[bytes, str]:
    """The body and its type: JSON for events, forms for the rest."""
    if delivery.kind == "events_api":
        return json.dumps(delivery.payload).encode(), "application/json"
    form = delivery.payload if delivery.kind == "slash_commands" else {"payload": json.dumps(delivery.payload)}
    return urlencode(form).encode(), "application/x-www-form-urlencoded"


def _json(text: str) -> Json:
    try:
        found = json.loads(text)
    except ValueError:
        return {"text": text} if text else {}
    return found if isinstance(found, dict) else {}
