"""G12: how many bytes the model is sent for one word: the whole request, with the tools, memory being empty."""

from __future__ import annotations

from bench.fleet import Fleet
from bench.load import Target
from bench.report import DIRECT, NANOBOT, Check, Row


async def measure(fleet: Fleet) -> list[Row]:
    """Look at what the model was sent."""
    sizes = {DIRECT: await _kilobytes(fleet, await fleet.signoff())}
    if nanobot := await fleet.nanobot():
        sizes[NANOBOT] = await _kilobytes(fleet, nanobot)
    checks = [Check(figure=sizes[DIRECT], unit="KB", goal=8)]
    return [Row(goal="G12", measure="KB of the request for one word", values=sizes, checks=checks)]


async def _kilobytes(fleet: Fleet, target: Target) -> float:
    await fleet.model.set()
    await fleet.send(target, 1, text="")
    size: int = (await fleet.model.record())["last_bytes"]
    return size / 1000
