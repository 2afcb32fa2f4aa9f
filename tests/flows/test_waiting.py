"""Ten thousand tasks that wait for a person cost a running Signoff nothing: no task object, no slot, hardly a byte."""

from __future__ import annotations

import asyncio
import gc
import tracemalloc
from datetime import timedelta
from pathlib import Path

import pytest

from agent.domain import Address, Call, Entry, IncomingMessage, Target
from agent.endings import DELIVERY_LIFE
from agent.policy import DEFAULT_RULE
from agent.ports.listings import ApprovalSelection
from agent.ports.store import NewApproval, NewDelivery, RunKey, Step
from agent.tool import digest
from bot.clock import SystemClock
from storage.store.sql import SqlStore, open_store
from tests.flows.bot import Bot, running

WAITING = 10_000
BATCH = 250
MEMORY_BYTES = 2_000_000
"""Of Python's own objects; a single kept task of this kind has some 5,000, all of them 50 million."""


@pytest.mark.slow
async def test_ten_thousand_waiting_tasks_cost_nothing(tmp_path: Path) -> None:
    """A start with them has the tasks and the memory of a start without; requests are served; one of them goes on."""
    (tmp_path / "none").mkdir()
    (tmp_path / "many").mkdir()
    bare = await _started(tmp_path / "none")
    (tmp_path / "many" / "data").mkdir()
    store = await open_store(tmp_path / "many" / "data" / "signoff.sqlite3", clock=SystemClock())
    await _fill(store)
    await store.close()
    full = await _started(tmp_path / "many")
    assert full[0] == bare[0]
    assert abs(full[1] - bare[1]) < MEMORY_BYTES, (full, bare)
    async with running(tmp_path / "many") as bot:
        await _works(bot)


async def _started(home: Path) -> tuple[int, int]:
    """The asyncio tasks of a start once it has settled, and the bytes it holds."""
    tracemalloc.start()
    try:
        async with running(home) as bot:
            bot.model.will("Hello.")
            await bot.ask("Hello?")
            await asyncio.sleep(2.5)  # two sweeps for what expired, and two looks for what is due
            gc.collect()
            return len(asyncio.all_tasks()), tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()


async def _works(bot: Bot) -> None:
    bot.model.will("Hello.")
    assert (await bot.ask("Hello?")).task.answer == "Hello."
    cards = await bot.app.services.store.approvals(limit=WAITING + 1, which=ApprovalSelection(status="open"))
    assert len(cards) == WAITING
    bot.model.will("Written.")
    chosen = cards[WAITING // 2]
    done = await bot.approve(chosen.task_id)
    assert (done.task.answer, bot.files()) == ("Written.", [chosen.items[0].targets[0].path])


async def _fill(store: SqlStore) -> None:
    for first in range(0, WAITING, BATCH):
        numbers = range(first, first + BATCH)
        await asyncio.gather(
            *(store.accept(_message(store, number), workspace="office", files=()) for number in numbers)
        )
        claimed = await store.claim("before", BATCH)
        assert len(claimed) == BATCH
        await asyncio.gather(
            *(
                store.advance(
                    RunKey(task_id=state.task.task_id, owner="before", epoch=state.task.epoch),
                    _parked(store, state.task.task_id),
                )
                for state in claimed
            )
        )


def _message(store: SqlStore, number: int) -> IncomingMessage:
    return IncomingMessage(
        dedup_key=f"waiting:{number}",
        address=Address(channel="webhook", conversation="flow", thread=str(number)),
        sender="webhook:flow",
        text="Write",
        origin="webhook",
        received_at=store.clock.now(),
    )


def _parked(store: SqlStore, task_id: int) -> Step:
    """What the gate stores when a write needs a person."""
    path = f"{task_id}.md"
    arguments = f'{{"path": "{path}", "content": "x"}}'
    call = Call(
        call_id="call00001",
        task_id=task_id,
        turn=1,
        position=1,
        tool="write_file",
        capability="file:write",
        arguments=arguments,
        sha256=digest("write_file", arguments),
        status="waiting",
        targets=(Target(path=path, base_sha256=None, intended_sha256=None),),
        title=f"Write new file {path}",
        preview="x",
        rule=DEFAULT_RULE,
    )
    turn = {
        "text": "",
        "calls": [{"id": call.call_id, "name": call.tool, "arguments": arguments}],
        "model": "openai/fake",
    }
    expires_at = store.clock.now() + timedelta(hours=24)
    return Step(
        entries=(
            Entry(kind="user", data={"text": "Write", "files": []}),
            Entry(kind="assistant", data=turn),
            Entry(kind="status", data={"status": "waiting_approval"}),
        ),
        new_calls=(call,),
        approval=NewApproval(
            token=f"token-{task_id}",
            kind="change",
            expires_at=expires_at,
            call_ids=(call.call_id,),
        ),
        deliveries=(
            NewDelivery(
                kind="approval",
                to=Address(channel="webhook", conversation="flow", thread=str(task_id)),
                dedup_key=f"approval:{task_id}",
                expires_at=store.clock.now() + DELIVERY_LIFE,
                collected=True,
            ),
        ),
        status="waiting_approval",
    )
