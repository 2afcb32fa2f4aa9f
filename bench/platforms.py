"""G5 and G6 with a chat platform: CPU from the start until Signoff receives from Telegram, too, and its idle memory."""

from __future__ import annotations

import asyncio
import statistics
from functools import partial
from pathlib import Path

from bench.bot_api import BotApi, bot_api
from bench.fleet import Fleet
from bench.report import DIRECT, FLOOR, Check, Row
from bench.servers import FloorServer, SignoffServer, start_floor, start_signoff

_MEBIBYTE = 2**20
Figures = dict[str, list[float]]


async def measure(fleet: Fleet) -> list[Row]:
    """Start the floor and Signoff several times in turn."""
    seconds: Figures = {FLOOR: [], DIRECT: []}
    megabytes: Figures = {FLOOR: [], DIRECT: []}
    async with bot_api() as api:
        for round_number in range(1 + fleet.size(7, 2)):
            for name in (FLOOR, DIRECT):
                cpu, rss = await _start(fleet, name, api)
                if round_number:  # the first makes databases and byte code
                    seconds[name].append(cpu)
                    megabytes[name].append(rss)
    cpu_s, rss_mb = (_medians(figures) for figures in (seconds, megabytes))
    ratio = cpu_s[DIRECT] / cpu_s[FLOOR]
    return [
        Row(
            goal="G5",
            measure="CPU s from start to ready, Telegram beside webhook and console",
            values=cpu_s,
            checks=[Check(figure=ratio, unit="x floor", goal=6)],
        ),
        Row(goal="G6", measure="idle resident MB, the same", values=rss_mb, checks=[]),
    ]


def _medians(figures: Figures) -> dict[str, float]:
    return {name: statistics.median(each) for name, each in figures.items()}


async def _start(fleet: Fleet, name: str, api: BotApi) -> tuple[float, float]:
    """CPU seconds until it is ready and, being Signoff, polls; resident megabytes then."""
    api.polled.clear()
    url = fleet.model.url
    server: FloorServer | SignoffServer
    if name == FLOOR:
        server = await fleet.start("platforms-floor", partial(start_floor, fleet.http, model_url=url))
    else:
        server = await fleet.start("platforms-signoff", partial(_signoff, fleet, api))
    cpu, rss = server.process.cpu_seconds(), server.process.rss_bytes() / _MEBIBYTE
    await server.process.stop()
    return cpu, rss


async def _signoff(fleet: Fleet, api: BotApi, folder: Path) -> SignoffServer:
    server = await start_signoff(fleet.http, folder, fleet.model.url, "direct", bot_api=api.url)
    await asyncio.wait_for(api.polled.wait(), 30)
    return server
