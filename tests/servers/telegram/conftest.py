"""A fake Telegram for each test, and calls to it as a client without a library makes them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from io import BytesIO
from typing import Any

import aiohttp
import pytest

from tests.servers.telegram.server import FakeTelegram


@dataclass
class Seconds:
    """A clock for limits of time; tests turn it."""

    now: float = 1000.0

    def __call__(self) -> float:
        return self.now


@dataclass
class Client:
    """Calls methods with JSON, or as a form when there are files."""

    tg: FakeTelegram
    http: aiohttp.ClientSession

    async def call(self, method: str, **values: Any) -> Any:
        """The result; a refusal is an AssertionError."""
        status, body = await self.raw(method, **values)
        assert status == 200, body
        return body["result"]

    async def refused(self, method: str, **values: Any) -> str:
        """Status and description of a refusal."""
        status, body = await self.raw(method, **values)
        assert not body["ok"], body
        assert body["error_code"] == status
        return f"{status} {body['description']}"

    async def raw(self, method: str, **values: Any) -> tuple[int, Any]:
        """Status and body."""
        async with self.http.post(f"{self.tg.base_url}{self.tg.token}/{method}", json=values) as answer:
            return answer.status, await answer.json()

    async def upload(self, method: str, **values: Any) -> tuple[int, Any]:
        """Status and body of a form; (name, bytes) is a file."""
        form = aiohttp.FormData()
        for name, value in values.items():
            if isinstance(value, tuple):
                form.add_field(name, BytesIO(value[1]), filename=value[0], content_type="application/octet-stream")
            else:
                form.add_field(name, str(value))
        async with self.http.post(f"{self.tg.base_url}{self.tg.token}/{method}", data=form) as answer:
            is_json = answer.content_type == "application/json"
            return answer.status, await (answer.json() if is_json else answer.text())


@pytest.fixture
def seconds() -> Seconds:
    return Seconds()


@pytest.fixture
async def tg(seconds: Seconds) -> AsyncIterator[FakeTelegram]:
    fake = FakeTelegram(now=seconds)
    await fake.start()
    yield fake
    await fake.close()


@pytest.fixture
async def client(tg: FakeTelegram) -> AsyncIterator[Client]:
    async with aiohttp.ClientSession() as http:
        yield Client(tg, http)
