"""Short ways to say what is in the store."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from itertools import count
from typing import Any

from sqlalchemy import Connection, event, text

from agent.domain import Address, Call, Entry, IncomingMessage, Received
from agent.ports.store import Accepted, NewApproval, NewDelivery, RunKey, Step, TaskState
from storage.doorbell import LocalDoorbell
from storage.store.sql import SqlStore
from tests.clock import START

CHAT = Address(channel="slack", conversation="C1", thread="1.0")
OTHER_CHAT = Address(channel="slack", conversation="C1", thread="2.0")
START_PLUS_MINUTE = START + timedelta(minutes=1)
EXPIRY = START + timedelta(hours=24)
numbers = count(1)


def message(**changes: Any) -> IncomingMessage:
    """A message with a key of its own, in CHAT."""
    fields: dict[str, Any] = {
        "dedup_key": f"key-{next(numbers)}",
        "address": CHAT,
        "sender": "ann",
        "text": "hello",
        "origin": "message",
        "received_at": START,
    }
    return IncomingMessage(**fields | changes)


def received(**changes: Any) -> Received:
    """A press with a key of its own."""
    fields: dict[str, Any] = {
        "dedup_key": f"key-{next(numbers)}",
        "kind": "press",
        "outcome": "decided",
        "who": "bob",
        "received_at": START,
    }
    return Received(**fields | changes)


async def accept(store: SqlStore, **changes: Any) -> Accepted:
    return await store.accept(message(**changes), workspace="demo", files=())


async def accept_many(store: SqlStore, number: int) -> list[int]:
    """So many tasks, each in a session of its own."""
    return [
        (await accept(store, address=Address(channel="slack", conversation=f"C{place}"))).task_id
        for place in range(number)
    ]


async def claimed(store: SqlStore, owner: str = "worker", **changes: Any) -> TaskState:
    """A fresh task that `owner` runs."""
    task_id = (await accept(store, **changes)).task_id
    states = await store.claim(owner, 100)
    return next(state for state in states if state.task.task_id == task_id)


def key(state: TaskState) -> RunKey:
    owner = state.task.lease_owner
    assert owner is not None
    return RunKey(task_id=state.task.task_id, owner=owner, epoch=state.task.epoch)


def said(*texts: str) -> tuple[Entry, ...]:
    return tuple(Entry(kind="assistant", data={"text": one, "calls": []}) for one in texts)


def call(call_id: str = "c1", **changes: Any) -> Call:
    fields: dict[str, Any] = {
        "call_id": call_id,
        "task_id": 0,
        "turn": 1,
        "position": 1,
        "tool": "write_file",
        "capability": "file:write",
        "arguments": '{"path":"a.md"}',
        "sha256": "0" * 64,
        "status": "waiting",
    }
    return Call(**fields | changes)


def card(*call_ids: str, **changes: Any) -> NewApproval:
    fields: dict[str, Any] = {
        "token": f"token-{next(numbers)}",
        "kind": "change",
        "expires_at": EXPIRY,
        "call_ids": call_ids,
    }
    return NewApproval(**fields | changes)


def delivery(text_: str = "done", **changes: Any) -> NewDelivery:
    fields: dict[str, Any] = {
        "kind": "reply",
        "to": CHAT,
        "dedup_key": f"delivery-{next(numbers)}",
        "expires_at": EXPIRY,
        "text": text_,
    }
    return NewDelivery(**fields | changes)


async def parked(store: SqlStore, **changes: Any) -> TaskState:
    """A task that waits for a person's word on one call."""
    state = await claimed(store, **changes)
    step = Step(entries=said("May I?"), new_calls=(call(),), approval=card("c1"), status="waiting_approval")
    await store.advance(key(state), step)
    return await store.load(state.task.task_id)


async def finish(store: SqlStore, state: TaskState, **changes: Any) -> None:
    await store.advance(key(state), Step(entries=said("bye"), **{"status": "done", "answer": "bye"} | changes))


async def sql(store: SqlStore, statement: str, **values: Any) -> Any:
    """Run a statement of one's own; the first column of the first row, if it returns any."""

    def run(connection: Connection) -> Any:
        result = connection.execute(text(statement), values)
        return result.scalar() if result.returns_rows else None

    return await store.database.write(run)


async def rings(doorbell: LocalDoorbell, topic: str) -> None:
    """Wait for a ring; that none comes is a failure, where `wait` itself would just return."""
    async with asyncio.timeout(10):
        await doorbell.wait(topic, 60)


def failing(error: Exception) -> Callable[[Connection], None]:
    def fail(_: Connection) -> None:
        raise error

    return fail


@contextmanager
def explaining(connection: Connection, explain: str) -> Iterator[None]:
    """Whatever runs inside is explained instead."""

    def prefix(*arguments: Any) -> tuple[str, Any]:
        _, _, statement, parameters, *_ = arguments
        return f"{explain} {statement}", parameters

    event.listen(connection, "before_cursor_execute", prefix, retval=True)
    try:
        yield
    finally:
        event.remove(connection, "before_cursor_execute", prefix)
