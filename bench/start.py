"""G5 and G6: what a start costs until the server is ready, its database there already, and how large it is then.

G5 is CPU from the start of the process, then the first message, and a page; G6 is resident memory after that message.
With Slack, a server is ready when it is connected, too.
"""

from __future__ import annotations

import statistics
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from bench.fleet import Fleet, right
from bench.nanobot import start_nanobot
from bench.report import CHATS, DIRECT, FLOOR, NANOBOT, Check, Row
from bench.servers import SignoffServer, start_floor, start_signoff

_MEBIBYTE = 2**20


@dataclass(frozen=True, kw_only=True, slots=True)
class _Start:
    """CPU seconds until ready, milliseconds of the first message, resident memory after it, milliseconds of a page."""

    cpu: float
    first_ms: float
    mebibytes: float
    page_ms: float | None


async def measure(fleet: Fleet) -> list[Row]:
    """Start each server several times in turn."""
    url = fleet.model.url
    signoff = partial(start_signoff, fleet.http, model_url=url, transport="direct")
    starters: dict[str, Callable[[Path], Awaitable[Any]]] = {
        FLOOR: partial(start_floor, fleet.http, model_url=url),
        DIRECT: signoff,
        CHATS: partial(signoff, slack=await fleet.slack()),
    }
    if fleet.with_nanobot:
        starters[NANOBOT] = partial(start_nanobot, fleet.http, model_url=url)
    starts = defaultdict(list)
    for round_number in range(1 + fleet.size(7, 2)):
        for name, starter in starters.items():
            start = await _start(fleet, f"start-{name.lower()}", starter)
            if round_number:  # the first makes databases and byte code
                starts[name].append(start)
    return _rows(starts)


async def _start(fleet: Fleet, folder: str, starter: Callable[[Path], Awaitable[Any]]) -> _Start:
    server = await fleet.start(folder, starter)
    cpu = server.process.cpu_seconds()
    sample = right(server, await fleet.load.send(server, fleet.load.messages(1)))
    memory = server.process.rss_bytes()
    page = await _page_ms(fleet, server) if isinstance(server, SignoffServer) else None
    await server.process.stop()
    return _Start(cpu=cpu, mebibytes=memory / _MEBIBYTE, first_ms=sample.quantile(0.5), page_ms=page)


async def _page_ms(fleet: Fleet, server: SignoffServer) -> float:
    start = time.perf_counter()
    async with fleet.http.get(f"{server.url}/login") as response:
        await response.read()
    return (time.perf_counter() - start) * 1000


def _rows(starts: Mapping[str, list[_Start]]) -> list[Row]:
    seconds = {name: statistics.median(start.cpu for start in each) for name, each in starts.items()}
    first = {name: statistics.median(start.first_ms for start in each) for name, each in starts.items()}
    sizes = {name: statistics.median(start.mebibytes for start in each) for name, each in starts.items()}
    pages = statistics.median(start.page_ms for start in starts[DIRECT] if start.page_ms is not None)
    checks = [
        Check(figure=seconds[DIRECT] / seconds[FLOOR], unit="x floor", goal=3.5),
        Check(figure=seconds[CHATS] / seconds[FLOOR], unit="x floor, Slack", goal=6),
    ]
    first_checks, size_checks = [], []
    if NANOBOT in starts:
        checks.append(Check(figure=seconds[CHATS] / seconds[NANOBOT], unit="x nanobot, Slack", goal=1))
        first_checks.append(Check(figure=first[DIRECT] / first[NANOBOT], unit="x nanobot", goal=0.1))
        size_checks.append(Check(figure=sizes[CHATS] / sizes[NANOBOT], unit="x nanobot, Slack", goal=0.9))
    return [
        Row(goal="G5", measure="CPU s from start to ready, webhook and console", values=seconds, checks=checks),
        Row(goal="G5", measure="ms of the first message", values=first, checks=first_checks),
        Row(goal="G5", measure="ms of the first page, with all that it loads", values={DIRECT: pages}),
        Row(goal="G6", measure="resident MB, idle", values=sizes, checks=size_checks),
    ]
