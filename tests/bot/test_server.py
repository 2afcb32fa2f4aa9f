"""The HTTP server: health, and what happens when a handler fails."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Any

import aiohttp
import pytest
import structlog
from aiohttp import web

from agent.domain import Address
from agent.errors import StorageError
from agent.ports.channels import Feature, Outgoing, Progress
from bot.server import Health, Server
from storage.store.sql import SqlStore, open_store
from tests.clock import FakeClock


class Broken:
    """A channel whose handlers fail in every way."""

    name = "broken"
    features: frozenset[Feature] = frozenset()

    def routes(self) -> Sequence[web.RouteDef]:
        return [web.get("/broken/{secret}/{how}", self.fail)]

    async def fail(self, request: web.Request) -> web.Response:
        if request.match_info["how"] == "storage":
            raise StorageError("the disk is full in /very/private")
        raise ZeroDivisionError("internal details")

    async def start(self) -> None: ...
    async def stop(self) -> None: ...
    async def send(self, outgoing: Outgoing) -> str | None: ...
    async def settle(self, outgoing: Outgoing, sent_as: str) -> None: ...
    async def progress(self, to: Address, progress: Progress) -> None: ...
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
