"""G7: growth of resident memory over 2,000 messages, each in a session of its own, from a fresh start."""

from __future__ import annotations

from functools import partial

from bench.fleet import Fleet
from bench.report import DIRECT, Check, Row
from bench.servers import start_signoff

_MEBIBYTE = 2**20


async def measure(fleet: Fleet) -> list[Row]:
    """Measure at the start, half way and at the end."""
    starter = partial(start_signoff, fleet.http, model_url=fleet.model.url, transport="direct")
    server = await fleet.start("memory", starter)
    await fleet.model.set()
    half = fleet.size(1000, 300)
    sizes = [server.process.rss_bytes() / _MEBIBYTE]
    for _ in range(2):
        await fleet.send(server, half, concurrency=4)
        sizes.append(server.process.rss_bytes() / _MEBIBYTE)
    await server.process.stop()
    checks = [
        Check(figure=sizes[2] - sizes[0], unit="MB in all", goal=8, now=12),
        Check(figure=sizes[2] - sizes[1], unit="MB in the second half", goal=2),
    ]
    labels = (f"{DIRECT}, ready", f"after {half:,}", f"after {2 * half:,}")
    measure = f"resident MB over {2 * half:,} messages"
    return [Row(goal="G7", measure=measure, values=dict(zip(labels, sizes, strict=True)), checks=checks)]
