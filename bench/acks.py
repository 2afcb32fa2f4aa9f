"""G10: how soon an event from Slack is acknowledged while 200 turns are under way, and what CPU it takes.

An acknowledgement means that the event is durable. A mention comes as two events, which are one task: all of them must
be acknowledged, and the database must hold each task once. The turns stream while the time is measured; while CPU is,
they wait for the model, and what the server spends on them meanwhile is taken off.
"""

from __future__ import annotations

import asyncio
import math
import sqlite3
import statistics
from collections.abc import Sequence
from contextlib import closing
from functools import partial
from typing import Any

from bench.fake_slack import FakeSlack
from bench.fleet import Fleet, WrongAnswers
from bench.processes import Process
from bench.report import BOLT, CHATS, Check, Row
from bench.servers import SignoffServer, start_bolt, start_signoff

TURNS = 200
_PER_SECOND = 40
"""Mentions; more than a large company writes to one bot."""
_PIECES, _PAUSE_MS = 1_000, 160
"""An answer of 125 writes, so that a turn streams 50 pieces a second for 20 s."""
_WAIT_MS = 30_000
"""Of the model: longer than the measure takes."""
_STRETCH_SECONDS = 3.0
_BEGINNING_SECONDS = 2.0
"""After the last of the mentions whose turns are under way then."""


async def measure(fleet: Fleet) -> list[Row]:
    """Measure times on one server, CPU on another and on Bolt."""
    return [await _times(fleet), await _cpu(fleet)]


async def _times(fleet: Fleet) -> Row:
    slack, server = await _under_way(fleet, "acks-times", chunks=_PIECES, pause=_PAUSE_MS)
    count = fleet.size(400, 120)
    times = sorted(await _brought(slack, count))
    await _stop(server, TURNS + count)
    values = {"p50": statistics.median(times), "p99": times[math.ceil(0.99 * len(times)) - 1], "longest": times[-1]}
    checks = [Check(figure=values["p99"], unit="ms, p99", goal=300)]
    return Row(
        goal="G10", measure=f"ms from event to acknowledgement, {TURNS} turns streaming", values=values, checks=checks
    )


async def _cpu(fleet: Fleet) -> Row:
    slack, server = await _under_way(fleet, "acks-cpu", latency=_WAIT_MS)
    count = fleet.size(400, 120)
    ours = await _cpu_ms(slack, server.process, count)
    await _stop(server, TURNS + count)
    bolt = await fleet.start("acks-bolt", partial(start_bolt, slack=slack))
    await _brought(slack, 20)
    theirs = await _cpu_ms(slack, bolt.process, count)
    await bolt.process.stop()
    checks = [Check(figure=ours / theirs, unit="x Bolt", goal=5)]
    return Row(goal="G10", measure="CPU ms of an event", values={CHATS: ours, BOLT: theirs}, checks=checks)


async def _under_way(fleet: Fleet, name: str, **model: int) -> tuple[FakeSlack, SignoffServer]:
    """A server at work on as many turns as it can."""
    slack = await fleet.slack()
    starter = partial(start_signoff, fleet.http, model_url=fleet.model.url, transport="direct", slack=slack)
    server = await fleet.start(name, starter)
    await fleet.model.set(**model)
    await _brought(slack, TURNS)
    await asyncio.sleep(_BEGINNING_SECONDS)
    if (begun := (await fleet.model.record())["requests"]) < TURNS:
        raise WrongAnswers(f"Only {begun} of {TURNS} turns had begun after {_BEGINNING_SECONDS} s.")
    return slack, server


async def _stop(server: SignoffServer, tasks: int) -> None:
    """Stop it in the middle of its turns; WrongAnswers unless each mention became one task."""
    with closing(sqlite3.connect(f"file:{server.database}?mode=ro", uri=True)) as database:
        found = database.execute("SELECT count(*), count(DISTINCT message_id) FROM tasks").fetchone()
    if found != (tasks, tasks):
        raise WrongAnswers(f"{tasks} mentions became {found[0]} tasks of {found[1]} messages.")
    await server.process.stop()


async def _cpu_ms(slack: FakeSlack, process: Process, mentions: int) -> float:
    """CPU of one event, beside what a server does anyway."""
    idle = await _spent(process, asyncio.sleep(_STRETCH_SECONDS))
    loop = asyncio.get_running_loop()
    began = loop.time()
    spent = await _spent(process, _brought(slack, mentions))
    return (spent - idle * (loop.time() - began) / _STRETCH_SECONDS) * 1000 / (2 * mentions)


async def _spent(process: Process, work: Any) -> float:
    before = process.cpu_seconds()
    await work
    return process.cpu_seconds() - before


async def _brought(slack: FakeSlack, mentions: int) -> Sequence[float]:
    """Bring mentions at an even pace; how long each event took."""
    bringing = []
    for number in range(mentions):
        bringing += [asyncio.create_task(slack.bring(event)) for event in slack.mention(f"hello marker-{number}")]
        await asyncio.sleep(1 / _PER_SECOND)
    try:
        return await asyncio.gather(*bringing)
    except TimeoutError:
        raise WrongAnswers("An event was not acknowledged.") from None
