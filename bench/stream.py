"""G4: CPU per streamed piece of an answer, in this process: our client against bare aiohttp and the openai SDK."""

from __future__ import annotations

import gc
import statistics
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager

import aiohttp
import openai
import orjson
from pydantic import SecretStr

from agent.llm.direct import DirectTransport
from agent.llm.models import ConfiguredModels
from agent.llm.settings import ModelSettings
from agent.llm.transport import Chunk, Request
from agent.ports.models import TextDelta
from bench.fleet import Fleet, WrongAnswers
from bench.report import Check, Row
from bot.clock import SystemClock

Client = Callable[[int], Awaitable[str]]
"""Asks for an answer of so many pieces and returns it."""

AIOHTTP, TRANSPORT, CLIENT, SDK = "aiohttp + orjson", "our transport", "our client", "openai SDK"
_LONG, _LONG_CALLS = 1000, 3
_SHORT, _SHORT_CALLS = 1, 30


async def measure(fleet: Fleet) -> list[Row]:
    """Measure answers of 1,000 pieces and of one; the difference is what the pieces cost."""
    await fleet.model.set()
    costs: defaultdict[str, list[float]] = defaultdict(list)
    async with _clients(fleet.http, fleet.model.url) as clients:
        for _ in range(1 + fleet.size(9, 3)):
            for name, client in clients.items():
                long = await _cpu_seconds(client, _LONG, _LONG_CALLS)
                short = await _cpu_seconds(client, _SHORT, _SHORT_CALLS)
                costs[name].append((long - short) / (_LONG - _SHORT) * 1e6)
    for each in costs.values():
        del each[0]  # imports and connections
    checks = [
        Check(figure=_ratio(costs, TRANSPORT, AIOHTTP), unit="x aiohttp, transport", goal=4),
        Check(figure=_ratio(costs, CLIENT, AIOHTTP), unit="x aiohttp, client", goal=4),
        Check(figure=_ratio(costs, CLIENT, SDK), unit="x openai SDK, client", goal=1),
    ]
    values = {name: statistics.median(each) for name, each in costs.items()}
    return [Row(goal="G4", measure="CPU µs of a streamed piece", values=values, checks=checks)]


@asynccontextmanager
async def _clients(http: aiohttp.ClientSession, url: str) -> AsyncIterator[dict[str, Client]]:
    settings = {
        str(count): ModelSettings(model=f"openai/fake-c{count}", api_base=url, api_key=SecretStr("none"))
        for count in (_SHORT, _LONG)
    }
    async with AsyncExitStack() as stack:
        transport, client = DirectTransport(), ConfiguredModels(settings, SystemClock())
        stack.push_async_callback(transport.close)
        stack.push_async_callback(client.close)
        sdk = await stack.enter_async_context(openai.AsyncOpenAI(base_url=url, api_key="none", max_retries=0))
        yield {
            AIOHTTP: lambda count: _ask_aiohttp(http, url, count),
            TRANSPORT: lambda count: _ask_transport(transport, settings[str(count)]),
            CLIENT: lambda count: _ask_client(client, str(count)),
            SDK: lambda count: _ask_sdk(sdk, count),
        }


async def _ask_aiohttp(http: aiohttp.ClientSession, url: str, count: int) -> str:
    body = {"model": f"fake-c{count}", "messages": [_message()], "stream": True}
    async with http.post(f"{url}/chat/completions", json=body) as response:
        lines = [line async for line in response.content if line.startswith(b"data: {")]
    return "".join([_content(orjson.loads(line[6:])) for line in lines])


async def _ask_transport(transport: DirectTransport, settings: ModelSettings) -> str:
    request = Request(settings=settings, messages=[_message()], tools=())
    return "".join([_content(chunk) async for chunks in transport.stream(request) for chunk in chunks])


async def _ask_client(client: ConfiguredModels, name: str) -> str:
    events = client.stream(name, [_message()], ())
    return "".join([event.text async for event in events if isinstance(event, TextDelta)])


async def _ask_sdk(sdk: openai.AsyncOpenAI, count: int) -> str:
    stream = await sdk.chat.completions.create(
        model=f"fake-c{count}", messages=[{"role": "user", "content": "hello there"}], stream=True
    )
    return "".join([chunk.choices[0].delta.content or "" async for chunk in stream if chunk.choices])


def _message() -> dict[str, str]:
    return {"role": "user", "content": "hello there"}


def _content(chunk: Chunk) -> str:
    choices = chunk["choices"]
    return (choices and choices[0]["delta"].get("content")) or ""


async def _cpu_seconds(client: Client, pieces: int, calls: int) -> float:
    """CPU of one call; nothing else runs in this process meanwhile."""
    gc.collect()
    start = time.process_time()
    for _ in range(calls):
        answer = await client(pieces)
        if len(answer.split()) != pieces:
            raise WrongAnswers(f"An answer of {pieces} pieces came as {len(answer.split())}.")
    return (time.process_time() - start) / calls


def _ratio(costs: dict[str, list[float]], one: str, other: str) -> float:
    return statistics.median(a / b for a, b in zip(costs[one], costs[other], strict=True))
