"""G1 and G2: what one text turn costs. A message opens a session, the model answers at once in 20 pieces."""

from __future__ import annotations

from bench.fleet import Fleet
from bench.load import Sample
from bench.report import DIRECT, FLOOR, LITELLM, NANOBOT, Check, Row
from bench.rounds import Rounds, Turn


async def measure(fleet: Fleet) -> list[Row]:
    """Measure both transports beside the floor."""
    turns = {
        FLOOR: Turn(target=await fleet.floor(), count=fleet.size(300, 100)),
        DIRECT: Turn(target=await fleet.signoff(), count=fleet.size(200, 60)),
        LITELLM: Turn(target=await fleet.signoff("litellm"), count=fleet.size(50, 15)),
    }
    if nanobot := await fleet.nanobot():
        turns[NANOBOT] = Turn(target=nanobot, count=fleet.size(30, 10))
    await fleet.model.set()
    rounds = await Rounds.run(fleet, turns, fleet.size(5, 3))
    return [_cpu(rounds), _p50(rounds), _p99(rounds)]


def _cpu(rounds: Rounds) -> Row:
    checks = [
        Check(figure=rounds.ratio(DIRECT, FLOOR, _cpu_ms), unit="x floor", goal=4, now=8),
        Check(figure=rounds.ratio(LITELLM, FLOOR, _cpu_ms), unit="x floor, litellm", goal=25),
    ]
    if rounds.has(NANOBOT):
        checks += [
            Check(figure=rounds.ratio(DIRECT, NANOBOT, _cpu_ms), unit="x nanobot", goal=0.06),
            Check(figure=rounds.ratio(LITELLM, NANOBOT, _cpu_ms), unit="x nanobot, litellm", goal=0.3),
        ]
    return Row(goal="G1", measure="CPU ms of a text turn", values=rounds.medians(_cpu_ms), checks=checks)


def _p50(rounds: Rounds) -> Row:
    checks = [Check(figure=rounds.ratio(DIRECT, FLOOR, _median_ms), unit="x floor", goal=5, now=8)]
    if rounds.has(NANOBOT):
        checks.append(Check(figure=rounds.ratio(DIRECT, NANOBOT, _median_ms), unit="x nanobot", goal=0.1))
    return Row(goal="G2", measure="p50 ms of that turn", values=rounds.medians(_median_ms), checks=checks)


def _p99(rounds: Rounds) -> Row:
    checks = []
    if rounds.has(NANOBOT):
        checks.append(Check(figure=rounds.ratio(DIRECT, NANOBOT, _p99_ms), unit="x nanobot", goal=0.2))
    return Row(goal="G2", measure="p99 ms of that turn", values=rounds.medians(_p99_ms), checks=checks)


def _cpu_ms(sample: Sample) -> float:
    return sample.cpu_ms


def _median_ms(sample: Sample) -> float:
    return sample.quantile(0.5)


def _p99_ms(sample: Sample) -> float:
    return sample.quantile(0.99)
