"""A task that waits for people to decide, and what they do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any

from agent.domain import (
    Address,
    Approval,
    ApproverRule,
    ButtonPress,
    Call,
    CallStatus,
    Edit,
    Member,
    Session,
    Task,
)
from agent.ports.store import TaskState
from tests.clock import START

CHAT = Address(channel="chat", conversation="C1")
LIFE = timedelta(seconds=60)
SOON = START + timedelta(seconds=5)
APPROVER = ApproverRule(groups=(("approver",),))
PEOPLE: Mapping[str, Member] = {
    member.name: member
    for member in (
        Member(name="ann", roles=frozenset({"member"})),
        Member(name="bob", roles=frozenset({"member", "approver"})),
        Member(name="cid", roles=frozenset({"member", "approver"})),
        Member(name="dora", roles=frozenset({"member", "admin"})),
    )
}
"""ann asks; bob and cid may approve; dora administers."""


def call(item: int = 1, status: CallStatus = "waiting", **fields: Any) -> Call:
    """An item of a card: a file to be written."""
    arguments = f'{{"path": "{item}.md", "content": "text {item}"}}'
    made = Call(
        call_id=f"c{item}",
        task_id=1,
        turn=1,
        position=item,
        tool="write_file",
        capability="file:write",
        arguments=arguments,
        sha256=f"hash{item}",
        status=status,
        item=item,
        title=f"Write {item}.md",
        preview=f"+text {item}",
        rule=APPROVER,
    )
    return replace(made, **fields)


def waiting(*calls: Call, **card: Any) -> TaskState:
    """A task of ann's that waits for one card with these items, or one that asks what happened."""
    items = calls or (call(),)
    approval = Approval(
        approval_id=7,
        task_id=1,
        token="t",
        kind="outcome" if items[0].status == "unknown" else "change",
        status="open",
        created_at=START,
        expires_at=START + LIFE,
        items=items,
        shown_at=(CHAT,),
    )
    task = Task(
        task_id=1,
        session_id=1,
        seq=1,
        origin="message",
        requester="ann",
        reply_to=(CHAT,),
        workspace="demo",
        prompt="please write\nthe report",
        files=(),
        status="waiting_approval",
        created_at=START,
        run_after=START,
    )
    session = Session(session_id=1, address=CHAT, workspace="demo")
    return TaskState(task=task, session=session, calls=items, approvals=(replace(approval, **card),))


def press(by: str = "bob", **fields: Any) -> ButtonPress:
    """An approval by somebody."""
    given = {"dedup_key": "k", "presser": PEOPLE[by], "verdict": "approved", "pressed_at": SOON}
    return ButtonPress(**{**given, **fields})


def edit(by: str = "bob", **fields: Any) -> Edit:
    """Another text for the first item."""
    given = {
        "dedup_key": "k",
        "editor": PEOPLE[by],
        "edited_at": SOON,
        "approval_id": 7,
        "item": 1,
        "arguments": '{"path": "1.md", "content": "better"}',
    }
    return Edit(**{**given, **fields})
