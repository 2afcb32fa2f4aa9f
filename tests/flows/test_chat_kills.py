"""Killed between any two steps of an event from a chat, which then comes again: all of it happened, and none twice."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, text

from agent.approvals import Approvals
from agent.chat import PlatformChat
from agent.domain import IncomingFile
from agent.inbox import TEXT_LIMIT, TaskInbox
from agent.pairing import Pairing
from agent.people import People
from agent.ports.channels import Receipt
from agent.reception import Reception
from bot.services import Services
from storage.database import Database
from storage.store.access import SqlAccess
from storage.store.people import SqlRoster
from tests.flows.arrivals import Event, prepared, pressed, said
from tests.flows.talk import platform_chat

CODE = re.compile(r"[A-Z]{4}-[A-Z]{4}")
TABLES = {
    "received": "dedup_key, kind, outcome, who, task_id, session_id, said",
    "tasks": "task_id, session_id, status, requester, prompt, files, workspace",
    "sessions": "session_id, conversation, workspace, archived, model",
    "deliveries": "task_id, kind, conversation, text, dedup_key",
    "journal": "task_id, seq, kind, data",
    "calls": "call_id, status, decided_by, votes, arguments",
    "approvals": "approval_id, status, revision, decided_by",
    "persons": "name, roles",
    "links": "identity, member",
    "pairings": "identity, shown_name",
}
"""What must be as if nothing had happened. (An audit row may be missing: the journal has it.)"""


class Killed(BaseException):
    """The process is gone; nothing of it catches this."""


@dataclass
class Life:
    """A process's way to the database: it counts what is written, and ends before it writes the `last`."""

    database: Database
    last: int | None = None
    written: int = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self.database, name)

    async def write(self, work: Callable[[Connection], Any]) -> Any:
        """One transaction."""
        self.written += 1
        if self.written == self.last:
            raise Killed
        return await self.database.write(work)


def process(services: Services, last: int | None = None) -> tuple[PlatformChat, Life]:
    """A process that receives, over the database of `services`."""
    life = Life(services.store.database, last)
    database: Any = life
    store = replace(services.store, database=database)
    roster, access = SqlRoster(database), SqlAccess(database)
    people = People(services.config.people, roster)
    inbox = TaskInbox(store=store, workspaces=services.workspaces)
    drafts = services.approvals.drafts
    approvals = Approvals(store=store, inbox=inbox, people=people, drafts=drafts, clock=services.clock)
    mortal = platform_chat(
        replace(
            services,
            store=store,
            roster=roster,
            access=access,
            people=people,
            inbox=inbox,
            approvals=approvals,
            reception=Reception(store=store, inbox=inbox, approvals=approvals, people=people),
            pairing=Pairing(people=people, roster=roster, access=access, clock=services.clock),
        )
    )
    return mortal, life


EVENTS = {
    "a request": ("task", said("B1", "Hello", room="elsewhere")),
    "a request with a file": ("task", said("B1", "", room="hall", files=(IncomingFile(name="a.txt", content=b"x"),))),
    "a request that waits": ("task", said("C1", "Hello")),
    "an answer to the card": ("changes", said("B1", "by region")),
    "a request too long": ("refused:invalid", said("B1", "x" * (TEXT_LIMIT + 1))),
    "an approval": ("decided", said("A1", "/approve 1")),
    "an approval by nobody who may": ("refused:not_an_approver", said("B1", "/approve 1")),
    "an approval of nothing": ("refused:not_found", said("A1", "/approve 9")),
    "a denial": ("decided", said("A1", "/deny 1 no")),
    "changes": ("changes", said("A1", "/changes 1 by region")),
    "a stop": ("stop", said("C1", "/stop")),
    "a new conversation": ("command", said("B1", "/new")),
    "another model": ("command", said("B1", "/model other", room=None)),
    "another workspace": ("command", said("B1", "/workspace office", room=None)),
    "a question": ("command", said("B1", "/status")),
    "a wrong word": ("refused:invalid", said("B1", "/approve")),
    "an admission": ("command", said("A1", "/pair ABCD-EFGH Nell")),
    "a stranger": ("stranger", said("S1", "Hello", room=None)),
    "a stranger in company": ("stranger", said("S2", "Hello", room="hall")),
    "a press": ("decided", pressed("A1", "token:1:approve")),
    "a press by nobody who may": ("refused:not_an_approver", pressed("B1", "token:1:approve")),
    "a press by a stranger": ("refused:stranger", pressed("S1", "token:1:approve")),
    "a press on what it showed before": ("refused:card_changed", pressed("A1", "token:9:approve")),
    "a press on nothing": ("refused:not_found", pressed("A1", "other:1:approve")),
    "a press that is none": ("refused:invalid", pressed("A1", "yes")),
    "a form": ("decided", pressed("A1", "token:1:deny", reason="no")),
    "an edit": ("edited", pressed("A1", "token:1:edit:1", content="better")),
    "an edit that does not fit": ("refused:bad_arguments", pressed("A1", "token:1:edit:1", path="../a.md")),
    "a question too late": ("refused:invalid", pressed("A1", "token:1:ask")),
}


async def snapshot(services: Services) -> dict[str, list[Any]]:
    """The rows that count, codes blotted out: they differ each time."""

    def rows(connection: Connection) -> dict[str, list[Any]]:
        found = {name: connection.execute(text(f"SELECT {columns} FROM {name}")) for name, columns in TABLES.items()}
        return {name: sorted(CODE.sub("CODE", repr(tuple(row))) for row in chosen) for name, chosen in found.items()}

    return await services.store.database.read(rows)


@pytest.mark.parametrize(("outcome", "event"), EVENTS.values(), ids=EVENTS.keys())
async def test_killed_anywhere_and_sent_again(tmp_path: Path, outcome: str, event: Event) -> None:
    """Whatever a process had done of an event, the next one does the rest; a repeat changes nothing more and is
    answered like the first."""
    async with prepared(tmp_path / "whole") as services:
        chat, life = process(services)
        first = await event(chat)
        undisturbed = await snapshot(services)
        assert (first.outcome, life.written > 0) == (outcome, True)
        assert await event(process(services)[0]) == first
        assert await snapshot(services) == undisturbed
    for last in range(1, life.written + 1):
        async with prepared(tmp_path / str(last)) as services:
            with pytest.raises(Killed):
                await event(process(services, last)[0])
            assert _blotted(await event(process(services)[0])) == _blotted(first), last
            assert await snapshot(services) == undisturbed, last


@pytest.mark.parametrize(("outcome", "event"), EVENTS.values(), ids=EVENTS.keys())
async def test_sent_twice_at_once(tmp_path: Path, outcome: str, event: Event) -> None:
    """As a platform does over two connections, to two processes: both are answered alike, and it is done once."""
    async with prepared(tmp_path / "whole") as services:
        first = await event(process(services)[0])
        undisturbed = await snapshot(services)
    async with prepared(tmp_path / "twice") as services:
        receipts = await asyncio.gather(*(event(process(services)[0]) for _ in range(2)))
        assert [_blotted(receipt) for receipt in receipts] == [_blotted(first)] * 2
        assert await snapshot(services) == undisturbed


def _blotted(receipt: Receipt) -> Receipt:
    return replace(receipt, said=CODE.sub("CODE", receipt.said))
