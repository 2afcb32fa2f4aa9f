"""A Signoff process that dies where it is told to, with SIGKILL: `python -m tests.flows.mortal CONFIG POINT NUMBER`.

POINT is `commit` (just before the NUMBERth transaction is committed), `rename` (just before the NUMBERth file is put in
place: after `started`, before the effect) or `never`. Its one task is asked for again at each start, as a sender does
that got no answer, and whatever waits for a person is approved. It prints how many of each point it passed and ends
when the task has ended and its answer is out, at the callback of the hook `flow` too.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from sqlalchemy import Engine, event

from agent.domain import OPERATOR, TERMINAL, Address, ButtonPress, IncomingMessage
from agent.errors import Conflict
from bot.app import App, started
from bot.config import load_config
from channels.webhook import callback_address

passed: Counter[str] = Counter()


def main(config: str, point: str, number: str) -> None:
    """Run until death or until the task has ended."""
    doom = (point, int(number))
    event.listen(Engine, "commit", lambda _: _pass("commit", doom))
    sys.addaudithook(lambda name, _: _pass("rename", doom) if name == "os.rename" else None)
    asyncio.run(_live(Path(config)))
    sys.stdout.write(f"{passed['commit']} {passed['rename']}\n")


def _pass(point: str, doom: tuple[str, int]) -> None:
    passed[point] += 1
    if (point, passed[point]) == doom:
        os.kill(os.getpid(), signal.SIGKILL)


async def _live(config: Path) -> None:
    async with started(load_config(config)) as app:
        [hook] = [hook for hook in await app.services.store.hooks() if hook.name == "flow"]
        accepted = await app.services.inbox.accept(_request(app, hook.deliver[0]))
        while not await _over(app, accepted.task_id):
            for approval in await app.services.store.open_approvals():
                press: dict[str, Any] = {"presser": OPERATOR, "pressed_at": app.services.clock.now()}
                try:
                    await app.services.approvals.decide(ButtonPress(verdict="approved", token=approval.token, **press))
                except Conflict:
                    continue
            await asyncio.sleep(0.01)


def _request(app: App, url: str) -> IncomingMessage:
    return IncomingMessage(
        dedup_key="mortal:1",
        address=Address(channel="cli", conversation="operator"),
        sender="operator",
        text="Do the work",
        origin="cli",
        received_at=app.services.clock.now(),
        reply_to=(Address(channel="cli", conversation="operator"), callback_address("flow", url)),
        workspace="office",
    )


async def _over(app: App, task_id: int) -> bool:
    state = await app.services.store.load(task_id)
    if state.task.status not in TERMINAL:
        return False
    return not await app.services.store.due(app.services.clock.now(), 10, frozenset())


if __name__ == "__main__":
    main(*sys.argv[1:])
