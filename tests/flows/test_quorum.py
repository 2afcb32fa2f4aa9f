"""Two different people must approve, through the rows: votes are kept between presses, and what they are for is not."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from agent.domain import Approval, ApproverRule, ButtonPress, Member, Role
from agent.errors import Conflict
from agent.people import People
from agent.ports.access import NewAudit
from agent.ports.people import Person
from storage.store.people import SqlRoster
from tests.flows.engine import Engine, engine, tool
from tests.servers.llm import Reply
from tests.storage import given

TWO = ApproverRule(groups=(("approver",),), quorum=2)


class Sent:
    """A tool that counts."""

    def __init__(self) -> None:
        self.times = 0

    async def __call__(self) -> str:
        self.times += 1
        return "sent"


async def asked(one: Engine, rule: ApproverRule = TWO) -> int:
    """A task whose card waits under a rule."""
    for name in ("bob", "cid"):
        await people(one, name, "approver")
    one.model.will(Reply(calls=[("send", {})]), "Done.")
    task_id = await one.accept()
    await one.run(task_id)
    await given.sql(one.store, "UPDATE calls SET rule = :rule", rule=json.dumps(asdict(rule)))
    return task_id


async def people(one: Engine, name: str, *roles: Role) -> None:
    """Add somebody, or give them other roles."""
    roster, now = SqlRoster(one.store.database), one.store.clock.now()
    person = Person(name=name, roles=roles, added_at=now, added_by="operator")
    audit = NewAudit(at=now, who="operator", what="person_added", subject=name)
    if not await roster.change_person(person, audit):
        await roster.add_person(person, audit)


async def press(one: Engine, by: str, key: str | None = None) -> Approval:
    member: Member = await People([], SqlRoster(one.store.database)).member(by)
    now = one.store.clock.now()
    return await one.approvals.decide(
        ButtonPress(dedup_key=key or f"{by}'s", presser=member, verdict="approved", pressed_at=now, approval_id=1)
    )


async def test_it_runs_once_when_two_have_approved(tmp_path: Path) -> None:
    """The first vote does not let the task go on; the same person twice is one; the second person does."""
    send = Sent()
    async with engine(tmp_path, tool("send", send)) as one:
        task_id = await asked(one)
        first = await press(one, "bob")
        assert (first.status, first.items[0].votes) == ("open", ("bob",))
        with pytest.raises(Conflict, match="1 of 2: bob") as refusal:
            await press(one, "bob", "again")
        assert refusal.value.code == "voted_already"
        assert ((await one.run(task_id)).task.status, send.times) == ("waiting_approval", 0)
        assert (await press(one, "cid")).status == "approved"
        done = await one.run(task_id)
        assert (done.task.status, done.calls[0].votes, send.times) == ("done", ("bob", "cid"), 1)
        told = [(entry.data["verdict"], entry.data["by"], entry.data.get("vote")) for entry in done.entries
                if entry.kind == "decision"]  # fmt: skip
        assert told == [("approved", "bob", 1), ("refused", "bob", None), ("approved", "cid", None)]


async def test_a_quorum_that_can_no_longer_be_met_is_said(tmp_path: Path) -> None:
    """Somebody was removed after voting: nobody's approval is enough, nothing runs, and it can be made good again.
    Whoever is given the name then is another person, and votes for themselves."""
    send = Sent()
    async with engine(tmp_path, tool("send", send)) as one:
        rule = replace(TWO, groups=(("bob", "cid"),))
        task_id = await asked(one, rule)
        await press(one, "bob")
        await SqlRoster(one.store.database).remove_person(
            "bob", NewAudit(at=one.store.clock.now(), who="operator", what="person_removed", subject="bob")
        )
        with pytest.raises(Conflict, match="it takes 2 of bob or cid, and there is only cid") as refusal:
            await press(one, "cid")
        assert refusal.value.code == "quorum_impossible"
        row = await one.store.received("cid's")
        assert row is not None
        assert (row.outcome, row.task_id) == ("refused:quorum_impossible", task_id)
        assert ((await one.run(task_id)).task.status, send.times) == ("waiting_approval", 0)
        await people(one, "bob", "approver")
        assert (await press(one, "cid", "again")).items[0].votes == ("cid",)
        assert (await press(one, "bob", "anew")).status == "approved"
        assert ((await one.run(task_id)).task.status, send.times) == ("done", 1)
