"""The load generator sees what a server gets wrong."""

from __future__ import annotations

from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from bench.fleet import Fleet, WrongAnswers
from bench.throughput import asked_once_each


async def test_each_message_reaches_the_model_once_and_its_own_answer_comes_back(tmp_path: Path) -> None:
    """The floor, 50 sessions at once."""
    async with AsyncExitStack() as stack:
        fleet = await Fleet.assemble(stack, tmp_path, quick=True, with_nanobot=False)
        floor = await fleet.floor()
        await fleet.model.set()
        sample = await fleet.send(floor, 100, concurrency=50)
        await asked_once_each(fleet, floor, 100)
        assert len(sample.latencies) == 100
        assert 0 < sample.cpu_ms < 1000
        with pytest.raises(WrongAnswers, match="saw 100"):
            await asked_once_each(fleet, floor, 101)


async def test_an_answer_to_another_message_is_an_error(tmp_path: Path) -> None:
    """A server that swaps answers has no figures."""

    async def same_answer(_: web.Request) -> web.Response:
        return web.json_response({"text": "marker-0 lorem"})

    app = web.Application()
    app.add_routes([web.post("/chat", same_answer)])
    async with AsyncExitStack() as stack:
        fleet = await Fleet.assemble(stack, tmp_path, quick=True, with_nanobot=False)
        server = await stack.enter_async_context(TestServer(app))
        swapping = replace(await fleet.floor(), url=f"http://127.0.0.1:{server.port}")
        with pytest.raises(WrongAnswers, match="was answered with 'marker-0 lorem'"):
            await fleet.send(swapping, 1)
