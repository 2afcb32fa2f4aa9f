"""G5: CPU from the start of the process until it is ready, its database there already; the first message; a page."""

from __future__ import annotations

import statistics
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Any

from bench.fleet import Fleet, right
from bench.nanobot import start_nanobot
from bench.report import DIRECT, FLOOR, NANOBOT, Check, Row
from bench.servers import SignoffServer, start_floor, start_signoff


async def measure(fleet: Fleet) -> list[Row]:
    """Start each server several times in turn."""
    url = fleet.model.url
    starters: dict[str, Callable[[Path], Awaitable[Any]]] = {
        FLOOR: partial(start_floor, fleet.http, model_url=url),
        DIRECT: partial(start_signoff, fleet.http, model_url=url, transport="direct"),
    }
    if fleet.with_nanobot:
        starters[NANOBOT] = partial(start_nanobot, fleet.http, model_url=url)
    seconds, first, pages = defaultdict(list), defaultdict(list), list[float]()
    for round_number in range(1 + fleet.size(7, 2)):
        for name, starter in starters.items():
            cpu, ms, page = await _start(fleet, f"start-{name.lower()}", starter)
            if round_number:  # the first makes databases and byte code
                seconds[name].append(cpu)
                first[name].append(ms)
                pages += page
    page_ms = {DIRECT: statistics.median(pages)}
    return [
        *_rows({name: statistics.median(each) for name, each in seconds.items()}, first),
        Row(goal="G5", measure="ms of the first page, with all that it loads", values=page_ms, checks=[]),
    ]


async def _start(
    fleet: Fleet, folder: str, starter: Callable[[Path], Awaitable[Any]]
) -> tuple[float, float, list[float]]:
    """CPU seconds until ready, and milliseconds of the first message and, if there are pages, of the first."""
    server = await fleet.start(folder, starter)
    cpu = server.process.cpu_seconds()
    sample = right(server, await fleet.load.send(server, fleet.load.messages(1)))
    page = [await _page_ms(fleet, server)] if isinstance(server, SignoffServer) else []
    await server.process.stop()
    return cpu, sample.quantile(0.5), page


async def _page_ms(fleet: Fleet, server: SignoffServer) -> float:
    start = time.perf_counter()
    async with fleet.http.get(f"{server.url}/login") as response:
        await response.read()
    return (time.perf_counter() - start) * 1000


def _rows(seconds: dict[str, float], first: dict[str, list[float]]) -> list[Row]:
    ms = {name: statistics.median(each) for name, each in first.items()}
    checks = [Check(figure=seconds[DIRECT] / seconds[FLOOR], unit="x floor", goal=3.5)]
    first_checks = []
    if NANOBOT in seconds:
        checks.append(Check(figure=seconds[DIRECT] / seconds[NANOBOT], unit="x nanobot", goal=1))
        first_checks.append(Check(figure=ms[DIRECT] / ms[NANOBOT], unit="x nanobot", goal=0.1))
    return [
        Row(goal="G5", measure="CPU s from start to ready, webhook and console", values=seconds, checks=checks),
        Row(goal="G5", measure="ms of the first message", values=ms, checks=first_checks),
    ]
