"""G9: what the round trip of one file tool adds to a turn: a second request, and the reading of a small file."""

from __future__ import annotations

import statistics

from bench.fleet import Fleet, WrongAnswers
from bench.load import Target
from bench.report import DIRECT, NANOBOT, Check, Row
from bench.servers import DOCUMENT


async def measure(fleet: Fleet) -> list[Row]:
    """Measure turns with and without the tool in turn."""
    extra = {DIRECT: await _extra_ms(fleet, await fleet.signoff(), DOCUMENT, fleet.size(100, 40))}
    checks = []
    if nanobot := await fleet.nanobot():
        extra[NANOBOT] = await _extra_ms(fleet, nanobot, nanobot.document, fleet.size(20, 10))
        checks.append(Check(figure=extra[DIRECT] / extra[NANOBOT], unit="x nanobot", goal=0.3))
    return [Row(goal="G9", measure="extra CPU ms of reading a file by a tool", values=extra, checks=checks)]


async def _extra_ms(fleet: Fleet, target: Target, path: str, count: int) -> float:
    differences = []
    for _ in range(fleet.size(5, 3)):
        plain = await fleet.send(target, count)
        await fleet.model.set()
        reading = await fleet.send(target, count, text=f"TOOL:read_file:{path}")
        record = await fleet.model.record()
        if (record["tool_calls"], record["requests"]) != (count, 2 * count):
            raise WrongAnswers(
                f"{target.name}: {count} files were to be read, the model saw {record['requests']} turns."
            )
        differences.append(reading.cpu_ms - plain.cpu_ms)
    return statistics.median(differences)
