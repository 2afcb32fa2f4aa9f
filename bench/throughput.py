"""G3: answers per second with many sessions at once and a model that takes 50 ms; nothing lost, nothing doubled."""

from __future__ import annotations

import sqlite3
from contextlib import closing

from bench.fleet import Fleet, WrongAnswers
from bench.load import Sample, Target
from bench.report import DIRECT, FLOOR, NANOBOT, Check, Row
from bench.rounds import Rounds, Turn
from bench.servers import SignoffServer

_MODEL_MS = 50


async def measure(fleet: Fleet) -> list[Row]:
    """Measure with 50 and with 200 sessions."""
    return [await _measure(fleet, 50), await _measure(fleet, 200)]


async def asked_once_each(fleet: Fleet, target: Target, count: int) -> None:
    """WrongAnswers unless the model saw each of `count` messages once; that each answer is right, the load has seen."""
    asked = (await fleet.model.record())["markers"]
    if len(asked) != count or set(asked.values()) != {1}:
        times = sum(asked.values())
        raise WrongAnswers(f"{target.name}: of {count} messages the model saw {len(asked)}, {times} times in all.")


async def _measure(fleet: Fleet, sessions: int) -> Row:
    signoff = await fleet.signoff()
    turns = {
        FLOOR: Turn(target=await fleet.floor(), count=fleet.size(1200, 600), concurrency=sessions),
        DIRECT: Turn(target=signoff, count=fleet.size(800, 400), concurrency=sessions),
    }
    if nanobot := await fleet.nanobot():
        turns[NANOBOT] = Turn(target=nanobot, count=sessions, concurrency=sessions)
    await fleet.model.set(latency=_MODEL_MS)
    rounds = Rounds()
    for _ in range(fleet.size(3, 2)):
        for name, turn in turns.items():
            await fleet.model.set(latency=_MODEL_MS)
            before = _done(signoff)
            rounds.add(name, await fleet.send(turn.target, turn.count, turn.concurrency))
            await asked_once_each(fleet, turn.target, turn.count)
            if name == DIRECT and (done := _done(signoff) - before) != turn.count:
                raise WrongAnswers(f"{turn.count} messages were sent and {done} tasks are done.")
    await fleet.model.set()
    checks = [Check(figure=rounds.ratio(DIRECT, FLOOR, _rate), unit="x floor", goal=0.3, now=0.15, at_least=True)]
    if nanobot:
        checks.append(
            Check(figure=rounds.ratio(DIRECT, NANOBOT, _rate), unit="x nanobot", goal=12, now=6, at_least=True)
        )
    measure = f"answers per second, {sessions} sessions, model {_MODEL_MS} ms"
    return Row(goal="G3", measure=measure, values=rounds.medians(_rate), checks=checks)


def _rate(sample: Sample) -> float:
    return sample.per_second


def _done(signoff: SignoffServer) -> int:
    with closing(sqlite3.connect(f"file:{signoff.database}?mode=ro", uri=True)) as database:
        count: int = database.execute("SELECT count(*) FROM tasks WHERE status = 'done'").fetchone()[0]
        return count
