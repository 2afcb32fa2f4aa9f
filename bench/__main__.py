"""`python -m bench`: what Signoff costs, beside the least that could do the job and, if wanted, beside nanobot.

    python -m bench                 every measure, two to four minutes
    python -m bench G1 G3           these alone
    python -m bench --quick         every measure with less load, under a minute, less exact
    python -m bench --nanobot       nanobot 0.3.5 takes part; it is installed into bench/.venv-nanobot
    python -m bench --json          JSON instead of the table

Everything runs on loopback: a fake model (fake_model.py), the floor (floor.py), Signoff with the direct and with the
litellm transport (servers.py), each as a process of its own with its state in a temporary folder. In one run the
servers take turns in rounds (rounds.py), because only such ratios count: absolute figures move by a third with the
machine's load. The exit code is 1 when an answer was lost, doubled, swapped or an error; a missed goal does not change
it. docs/benchmarks.md says what is measured, how, and what came out.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import signal
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from pathlib import Path

import orjson

from bench import (
    acks,
    commits,
    followers,
    history,
    memory,
    nanobot,
    platforms,
    prompt,
    rendering,
    report,
    start,
    stream,
    throughput,
    tool,
    turn,
)
from bench.fleet import Fleet
from bench.report import Row

Measure = Callable[[Fleet], Awaitable[list[Row]]]

MEASURES: dict[str, Measure] = {
    "G1": turn.measure,
    "G2": turn.measure,
    "G3": throughput.measure,
    "G4": stream.measure,
    "G5": start.measure,
    "G6": platforms.measure,
    "G7": memory.measure,
    "G8": history.measure,
    "G9": tool.measure,
    "G10": acks.measure,
    "G12": prompt.measure,
    "G13": commits.measure,
    "G14": followers.measure,
    "G15": rendering.measure,
}


async def run(measures: Sequence[Measure], rows: list[Row], *, quick: bool, with_nanobot: bool) -> None:
    """Run the measures one after the other, adding their rows, and stop every server, however it ends."""
    task = asyncio.current_task()
    if task:
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    with tempfile.TemporaryDirectory(prefix="signoff-bench-") as folder:
        async with AsyncExitStack() as stack:
            fleet = await Fleet.assemble(stack, Path(folder), quick=quick, with_nanobot=with_nanobot)
            for measure in measures:
                began = time.monotonic()
                rows.extend(await measure(fleet))
                _say(f"{rows[-1].goal} took {time.monotonic() - began:.0f} s")


async def main(options: argparse.Namespace) -> int:
    """Run what was asked for and print it."""
    with_nanobot = options.nanobot
    if with_nanobot and (reason := await nanobot.install()):
        _say(f"{reason} It is left out.")
        with_nanobot = False
    goals = MEASURES if "all" in options.goals else options.goals
    measures = list(dict.fromkeys(MEASURES[goal] for goal in goals))  # G1 and G2 are one
    load = os.getloadavg()[0]
    if load > 1:
        _say(f"The machine is busy (load {load:.1f}); the figures will not mean much.")
    rows: list[Row] = []
    code = 0
    try:
        await run(measures, rows, quick=options.quick, with_nanobot=with_nanobot)
    except RuntimeError as error:
        _say(str(error))
        code = 1
    if options.json:
        print(orjson.dumps(report.as_json(rows), option=orjson.OPT_INDENT_2).decode())
    else:
        report.table(rows, f"{os.cpu_count()} cores, Python {sys.version.split()[0]}, load {load:.1f} before the run")
    return code


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="bench", description="Measure Signoff beside the floor.")
    parser.add_argument(
        "goals", nargs="*", metavar="GOAL", choices=[*MEASURES, "all"], default="all", help="G1 … G15, or all"
    )
    parser.add_argument("--quick", action="store_true", help="less load, under a minute")
    parser.add_argument("--nanobot", action="store_true", help=f"compare with {nanobot.PACKAGE}, too")
    parser.add_argument("--json", action="store_true", help="print JSON")
    return parser.parse_args()


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    try:
        sys.exit(asyncio.run(main(_options())))
    except (KeyboardInterrupt, asyncio.CancelledError):
        sys.exit(130)
