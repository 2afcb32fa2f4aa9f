"""The limit of an upload, kept while it arrives."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import pytest

from tests.bot.api.site import Site, running

LIMIT = 100_000
RAW = {"Content-Type": "application/octet-stream"}


@pytest.fixture
async def small(tmp_path: Path) -> AsyncIterator[Site]:
    async with running(tmp_path, max_upload=LIMIT, max_body=10_000) as site:
        yield site


async def chunks(size: int) -> AsyncIterator[bytes]:
    for _ in range(size // 10_000):
        yield b"x" * 10_000


async def test_the_largest_file_is_taken(small: Site) -> None:
    """Up to the last byte, and above `max_body`, which is for other requests."""
    url = "/v1/files/annes?name=a"
    assert (await small.ask("ann", "POST", url, data=b"x" * LIMIT, headers=dict(RAW))).status == 201
    assert (small.home / "annes" / "a").stat().st_size == LIMIT


@pytest.mark.parametrize("way", ["declared", "streamed", "form"])
async def test_one_more_byte_is_refused(small: Site, way: str) -> None:
    """Whether the sender says how much it is or not; nothing is left behind."""
    url, headers = "/v1/files/annes?name=a", dict(RAW)
    if way == "declared":
        answer = await small.ask("ann", "POST", url, data=b"x" * (LIMIT + 1), headers=headers)
    elif way == "streamed":
        answer = await small.ask("ann", "POST", url, data=chunks(LIMIT + 10_000), headers=headers)
    else:
        form = aiohttp.FormData()
        form.add_field("file", b"x" * (LIMIT + 1), filename="a")
        answer = await small.ask("ann", "POST", url, data=form)
    assert (answer.status, answer.error["code"]) == (413, "too_large")
    assert list((small.home / "annes").iterdir()) == []


async def test_a_request_over_max_body_is_refused(small: Site) -> None:
    """Everything else has the smaller limit."""
    answer = await small.post("ann", "/v1/tasks", {"text": "x" * 20_000})
    assert (answer.status, answer.error["code"]) == (413, "too_large")
