"""A Signoff process that dies where it is told to, with SIGKILL.

The point is `commit` (just before the NUMBERth writing transaction is committed), `rename` (just before the NUMBERth
file is put in place: after `started`, before the effect) or `never`. Its one task is asked for again at each start, as
a sender does that got no answer, and whatever waits for a person is approved. It ends when the task has ended and its
answer is out, at the callback of the hook `flow` too, and leaves how many of each point it passed in `passed.json`.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

import structlog
from sqlalchemy import Engine, event

from agent.domain import OPERATOR, TERMINAL, Address, ButtonPress, IncomingMessage
from agent.errors import Conflict
from agent.ports.listings import ApprovalSelection
from bot.app import App, started
from bot.config import load_config
from channels.webhook import callback_address

passed: Counter[str] = Counter()


def live(config: Path, point: str, number: int) -> None:
    """Run until death or until the task has ended."""
    structlog.configure(logger_factory=structlog.ReturnLoggerFactory())
    doom = (point, number)
    event.listen(Engine, "commit", lambda _: _pass("commit", doom) if _writes() else None)
    sys.addaudithook(lambda name, _: _pass("rename", doom) if name == "os.rename" else None)
    asyncio.run(_live(config))
    (config.parent / "passed.json").write_text(json.dumps(passed))


def _writes() -> bool:
    return threading.current_thread().name == "sqlite-writer"


def _pass(point: str, doom: tuple[str, int]) -> None:
    passed[point] += 1
    if (point, passed[point]) == doom:
        os.kill(os.getpid(), signal.SIGKILL)


async def _live(config: Path) -> None:
    async with started(load_config(config)) as app:
        [hook] = [hook for hook in await app.services.store.hooks() if hook.name == "flow"]
        accepted = await app.services.inbox.accept(_request(app, hook.deliver[0]))
        while not await _over(app, accepted.task_id):
            for approval in await app.services.store.approvals(which=ApprovalSelection(status="open")):
                press: dict[str, Any] = {"presser": OPERATOR, "pressed_at": app.services.clock.now()}
                press["dedup_key"] = f"mortal:{time.monotonic_ns()}"
                try:
                    await app.services.approvals.decide(ButtonPress(verdict="approved", token=approval.token, **press))
                except Conflict:
                    continue
            await asyncio.sleep(0.01)


def _request(app: App, url: str) -> IncomingMessage:
    return IncomingMessage(
        dedup_key="mortal:1",
        address=Address(channel="webhook", conversation="flow", thread="1"),
        sender="hook:flow",
        text="Do the work",
        origin="webhook",
        received_at=app.services.clock.now(),
        reply_to=(callback_address("flow", url),),
        workspace="office",
    )


async def _over(app: App, task_id: int) -> bool:
    state = await app.services.store.load(task_id)
    if state.task.status not in TERMINAL:
        return False
    return not await app.services.store.due(app.services.clock.now(), 10, frozenset())
