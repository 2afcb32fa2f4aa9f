"""The HTTP server: health, and what happens when a handler fails."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import Any

import aiohttp
import pytest
import structlog
from aiohttp import web

from agent.domain import Address
from agent.errors import DiskFull, StorageError
from agent.ports.channels import Feature, Outgoing, Shown
from bot.server import Health, Server
from storage.store.sql import SqlStore, open_store
from tests.clock import FakeClock


class Broken:
    """A channel whose handlers fail in every way."""

    name = "broken"
    features: frozenset[Feature] = frozenset()

    def routes(self) -> Sequence[web.RouteDef]:
        return [web.get("/broken/{secret}/{how}", self.fail), web.post("/length", self.length)]

    async def length(self, request: web.Request) -> web.Response:
        return web.Response(text=str(len(await request.read())))

    async def fail(self, request: web.Request) -> web.Response:
        if request.match_info["how"] == "storage":
            raise StorageError("the disk is full in /very/private")
        if request.match_info["how"] == "full":
            raise DiskFull("the disk of /very/private is full")
        raise ZeroDivisionError("internal details")

    async def start(self) -> None: ...
    async def stop(self) -> None: ...
    async def send(self, outgoing: Outgoing) -> str | None: ...
    async def settle(self, outgoing: Outgoing, sent_as: str) -> None: ...
    async def progress(self, to: Address, shown: Shown) -> None: ...
    async def download(self, reference: str) -> bytes:
        return b""


@pytest.fixture
async def store(tmp_path: Any) -> AsyncIterator[SqlStore]:
    store = await open_store(tmp_path / "x.sqlite3", clock=FakeClock())
    yield store
    await store.close()


@pytest.fixture
def health(store: SqlStore) -> Health:
    return Health(listings=store)


@pytest.fixture
async def client(health: Health) -> AsyncIterator[aiohttp.ClientSession]:
    server = Server(health, [Broken()], max_body=1000)
    port = await server.start("127.0.0.1", 0)
    async with aiohttp.ClientSession(f"http://127.0.0.1:{port}") as client:
        yield client
    await server.close()


async def answered(client: aiohttp.ClientSession, path: str) -> tuple[int, Any]:
    async with client.get(path) as answer:
        return answer.status, await answer.json()


async def test_a_healthy_process_says_so(client: aiohttp.ClientSession) -> None:
    """Both routes answer 200."""
    assert await answered(client, "/healthz") == (200, {"status": "ok"})
    assert await answered(client, "/readyz") == (200, {"status": "ok"})


@pytest.mark.parametrize("path", ["/healthz", "/nothing", "/broken/s/other"])
async def test_no_answer_tells_versions(client: aiohttp.ClientSession, path: str) -> None:
    """Whoever looks for holes does not learn which Python and which library this is."""
    async with client.get(path) as answer:
        assert answer.headers["Server"] == "signoff"


async def test_a_draining_process_wants_no_work(client: aiohttp.ClientSession, health: Health) -> None:
    """Both routes answer 503, so that nothing is sent here any more."""
    health.draining = True
    assert await answered(client, "/healthz") == (503, {"status": "draining"})
    assert await answered(client, "/readyz") == (503, {"status": "draining"})


async def test_without_a_database_a_process_is_alive_but_not_ready(
    client: aiohttp.ClientSession, store: SqlStore
) -> None:
    """A restart would not bring the database back."""
    await store.close()
    assert await answered(client, "/healthz") == (200, {"status": "ok"})
    assert await answered(client, "/readyz") == (503, {"status": "the database does not answer"})


async def test_a_channel_that_is_down_is_named(client: aiohttp.ClientSession, health: Health) -> None:
    """The status stays 200: the other channels work."""
    health.down["slack"] = "invalid_auth"
    assert await answered(client, "/readyz") == (200, {"status": "ok", "down": {"slack": "invalid_auth"}})


async def test_a_mistake_of_ours_is_500_without_details(client: aiohttp.ClientSession) -> None:
    """The log has them, under the route's pattern and not under an URL that may hold a secret."""
    with structlog.testing.capture_logs() as logs:
        status, body = await answered(client, "/broken/t0ken/surprise")
    assert (status, body["error"]["code"]) == (500, "internal")
    assert "internal details" not in str(body)
    assert [(entry["event"], entry["route"]) for entry in logs] == [
        ("request_failed_unexpectedly", "/broken/{secret}/{how}")
    ]


async def test_a_database_in_trouble_is_503_without_details(client: aiohttp.ClientSession) -> None:
    """The sender may try again."""
    async with client.get("/broken/x/storage") as answer:
        assert (answer.status, answer.headers["Retry-After"]) == (503, "5")
        assert (await answer.json())["error"] == {
            "code": "unavailable",
            "message": "The database does not answer; try again.",
        }


async def test_an_unknown_path_is_404_in_json(client: aiohttp.ClientSession) -> None:
    """Like every error."""
    status, body = await answered(client, "/nowhere")
    assert (status, body["error"]) == (404, {"code": "not_found", "message": "There is nothing at this address."})


async def test_a_method_that_a_path_does_not_take_is_405_with_those_it_takes(client: aiohttp.ClientSession) -> None:
    """In a sentence and in `Allow`."""
    async with client.delete("/healthz") as answer:
        assert (answer.status, answer.headers["Allow"]) == (405, "GET,HEAD")
        assert (await answer.json())["error"] == {
            "code": "method_not_allowed",
            "message": "DELETE is not possible here; possible: GET, HEAD.",
        }


@pytest.mark.parametrize("head", ["Content-Length: 9", "Transfer-Encoding: chunked"])
async def test_a_body_that_stops_is_answered_and_hung_up(health: Health, head: str) -> None:
    """Half a body and then nothing: 408 as JSON, and the connection is closed."""
    server = Server(health, [Broken()], max_body=1000, body_seconds=0.1)
    port = await server.start("127.0.0.1", 0)
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(f"POST /length HTTP/1.1\r\nHost: x\r\n{head}\r\n\r\n1".encode())
    answer = await reader.read()
    writer.close()
    await server.close()
    assert answer.startswith(b"HTTP/1.1 408 ")
    assert b"Connection: close" in answer
    assert b'{"error":{"code":"request_timeout","message":"The body stopped: ' in answer


async def test_a_slow_body_is_read_to_its_end(health: Health) -> None:
    """However long it takes in all, as long as it goes on; and the same connection takes the next request."""
    server = Server(health, [Broken()], max_body=1000, body_seconds=0.1)
    port = await server.start("127.0.0.1", 0)

    async def slowly() -> AsyncIterator[bytes]:
        for _ in range(10):
            await asyncio.sleep(0.03)
            yield b"x"

    async with aiohttp.ClientSession(f"http://127.0.0.1:{port}") as client:
        for _ in range(2):
            async with client.post("/length", data=slowly()) as answer:
                assert await answer.text() == "10"
    await server.close()


async def test_a_full_disk_is_named(client: aiohttp.ClientSession) -> None:
    """Whoever sees the 503 knows what to mend, and no paths."""
    error = {"code": "disk_full", "message": "The disk is full: nothing was stored."}
    assert await answered(client, "/broken/x/full") == (503, {"error": error})
