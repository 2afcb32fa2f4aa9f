"""G8: what a turn costs in a long conversation, against one in a short conversation."""

from __future__ import annotations

from bench.fleet import Fleet, right
from bench.load import Answer, Sample, Target
from bench.report import DIRECT, NANOBOT, Check, Row
from bench.rounds import Rounds

_SHORT = 10
_MEASURED = 15
"""Turns measured in one stretch: few enough that a conversation of 10 turns is still a short one."""


async def measure(fleet: Fleet) -> list[Row]:
    """Grow a long conversation, then measure it and fresh short ones in turn."""
    await fleet.model.set()
    long = fleet.size(1000, 100)
    rounds = Rounds()
    await _measure(fleet, await fleet.signoff(), rounds, DIRECT, long)
    short_name, long_name = (_name(DIRECT, turns) for turns in (_SHORT, long))
    checks = [Check(figure=rounds.ratio(long_name, short_name, _cpu_ms), unit=f"x {_SHORT} turns", goal=1.5)]
    if nanobot := await fleet.nanobot():
        await _measure(fleet, nanobot, rounds, NANOBOT, long)
        ratio = rounds.ratio(long_name, _name(NANOBOT, long), _cpu_ms)
        checks.append(Check(figure=ratio, unit=f"x nanobot, {long} turns", goal=0.05))
    return [Row(goal="G8", measure="CPU ms of a turn after a history", values=rounds.medians(_cpu_ms), checks=checks)]


async def _measure(fleet: Fleet, target: Target, rounds: Rounds, name: str, long: int) -> None:
    last = right(target, await fleet.load.converse(target, long)).last
    for _ in range(fleet.size(5, 3)):
        _, start = await _converse(fleet, target, _SHORT)
        sample, _ = await _converse(fleet, target, _MEASURED, start)
        rounds.add(_name(name, _SHORT), sample)
        sample, last = await _converse(fleet, target, _MEASURED, last)
        rounds.add(_name(name, long), sample)


async def _converse(
    fleet: Fleet, target: Target, turns: int, follows: Answer | None = None
) -> tuple[Sample, Answer | None]:
    sample = right(target, await fleet.load.converse(target, turns, follows))
    return sample, sample.last


def _name(server: str, turns: int) -> str:
    return f"{server}, {turns} turns"


def _cpu_ms(sample: Sample) -> float:
    return sample.cpu_ms
