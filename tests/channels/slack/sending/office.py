"""What leaves for a fake Slack: a request in it, and deliveries as the outbox hands them over."""

from __future__ import annotations

import asyncio
import hashlib
from collections import defaultdict
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from pydantic import SecretStr

from agent.cards import card, text
from agent.domain import Address, Approval, Artifact, Call, Delivery, DeliveryKind, Member, Task, TaskStatus
from agent.errors import NotFound
from agent.ports.channels import Outgoing, Shown, StepLine, StepState
from channels.slack.calls import Calls
from channels.slack.condition import Condition
from channels.slack.directory import Directory
from channels.slack.sending import Sender
from channels.slack.settings import SlackSettings
from tests.agent.waiting import PEOPLE, waiting
from tests.clock import FakeClock
from tests.servers.slack.server import FakeSlack, running
from tests.servers.slack.world import Message


@dataclass
class Notes:
    """Implements Rows: what is written down about deliveries, in memory; `order` is when."""

    parts: defaultdict[int, list[str]] = field(default_factory=lambda: defaultdict(list))
    shown_as: dict[tuple[int, Address], str] = field(default_factory=dict)
    is_showing: asyncio.Event = field(default_factory=asyncio.Event)

    async def part_sent(self, delivery_id: int, sent_as: str) -> None:
        """Keep it."""
        self.parts[delivery_id].append(sent_as)

    async def live_message(self, task_id: int, to: Address) -> str | None:
        """What was kept."""
        return self.shown_as.get((task_id, to))

    async def save_live_message(self, task_id: int, to: Address, sent_as: str | None) -> None:
        """Keep it, or forget it."""
        if sent_as is None:
            self.shown_as.pop((task_id, to), None)
        else:
            self.shown_as[task_id, to] = sent_as
            self.is_showing.set()


@dataclass
class Bytes:
    """Implements Blobs in memory."""

    kept: dict[str, bytes] = field(default_factory=dict)

    async def put(self, content: bytes) -> str:
        """Keep it."""
        name = hashlib.sha256(content).hexdigest()
        self.kept[name] = content
        return name

    async def get(self, sha256: str) -> bytes:
        """What was kept."""
        if sha256 not in self.kept:
            raise NotFound("It is gone.")
        return self.kept[sha256]

    def path(self, sha256: str) -> str | None:
        """Nowhere."""
        return None


@dataclass
class Members:
    """Looks people up by name."""

    by_name: dict[str, Member]

    async def member(self, name: str) -> Member:
        """One of them."""
        if name not in self.by_name:
            raise NotFound(f"There is nobody named {name}.")
        return self.by_name[name]


@dataclass(kw_only=True)
class Office:
    """A channel with two people and a request of Ann's; its thread is where answers go."""

    slack: FakeSlack
    clock: FakeClock
    calls: Calls
    notes: Notes
    blobs: Bytes
    members: Members
    ann: str
    bob: str
    ops: str
    request: Message
    senders: list[Sender] = field(default_factory=list)

    @property
    def sender(self) -> Sender:
        """Of the process that runs now."""
        return self.senders[-1]

    @property
    def to(self) -> Address:
        """The request's thread."""
        return Address(channel="slack", conversation=self.ops, thread=self.request.ts)

    @property
    def thread(self) -> list[Message]:
        """What stands below the request."""
        return self.slack.thread(self.ops, self.request.ts)

    @property
    def reactions(self) -> set[str]:
        """Of the bot, on the request."""
        return set(self.request.reactions)

    def made(self, method: str) -> list[Any]:
        """The calls of a method."""
        return [call for call in self.slack.api.calls if call.method == method]

    def task(self, status: TaskStatus = "running", **changes: Any) -> Task:
        """The task that the request became."""
        now = self.clock.now()
        task = Task(
            task_id=5, session_id=1, seq=1, origin="message", requester="ann", reply_to=(self.to,), workspace="office",
            prompt="check the invoices", files=(), status=status, created_at=now - timedelta(seconds=1), run_after=now,
            epoch=1, message_id=self.request.ts,
        )  # fmt: skip
        return replace(task, **changes)

    def outgoing(self, kind: DeliveryKind, words: str = "", **changes: Any) -> Outgoing:
        """A delivery of its task, into the thread; `changes` are of the delivery, else of what goes with it."""
        now = self.clock.now()
        delivery = Delivery(
            delivery_id=9, task_id=5, kind=kind, to=self.to, text=words, dedup_key=f"{kind}:5", status="pending",
            attempts=0, next_attempt_at=now, expires_at=now + timedelta(days=1),
        )  # fmt: skip
        own = {name: changes.pop(name) for name in list(changes) if hasattr(delivery, name)}
        delivery = replace(delivery, **own)
        status: TaskStatus = "done" if kind == "reply" else "waiting_approval"
        return Outgoing(**{"delivery": delivery, "text": words, "task": self.task(status), **changes})

    def card(self, *calls: Call, kind: DeliveryKind = "approval", **changes: Any) -> Outgoing:
        """A card with these items; `changes` are of the approval, else of the delivery."""
        state = waiting(*calls)
        own = {name: changes.pop(name) for name in list(changes) if name in Approval.__dataclass_fields__}
        approval = replace(state.approvals[0], **own)
        drawn = card(approval, state.task, PEOPLE)
        words = text(approval, drawn, "chat", again=kind == "settle")
        changes = {"delivery_id": 10 if kind == "approval" else 11, **changes}
        return self.outgoing(kind, words, approval=approval, card=drawn, **changes)

    def again(self, outgoing: Outgoing) -> Outgoing:
        """The next attempt, after one whose end nobody knows."""
        parts = tuple(self.notes.parts[outgoing.delivery.delivery_id])
        return replace(outgoing, delivery=replace(outgoing.delivery, attempts=1, parts=parts), may_have_arrived=True)

    async def artifact(self, name: str, content: bytes, artifact_id: int = 1) -> Artifact:
        """A file that the task made."""
        return Artifact(
            artifact_id=artifact_id, task_id=5, name=name, path=f"out/{name}", media_type="text/csv",
            size_bytes=len(content), sha256=await self.blobs.put(content), version=1, created_at=self.clock.now(),
        )  # fmt: skip

    def restarted(self) -> None:
        """A new process, which remembers nothing."""
        self.senders.append(Sender(self.calls, Directory(self.calls), self.notes, self.blobs, self.members, self.clock))

    def shown(self, *steps: StepLine, words: str = "", **task: Any) -> Shown:
        """The task at work."""
        return Shown(task=self.task(**task), steps=steps, text=words)


def step(number: int, state: StepState = "running", folder: str = "") -> StepLine:
    """A call that reads a file."""
    label = "Read" if state == "done" else "Reading"
    return StepLine(call_id=f"c{number}", label=label, target=f"{folder}{number}.csv", state=state)


@asynccontextmanager
async def opened(people: Sequence[str] = ("ann", "bob")) -> AsyncIterator[Office]:
    """An office while the block lasts; its clock is Slack's, too."""
    async with running() as slack:
        clock = FakeClock(datetime.now(UTC))
        slack.world.now = lambda: clock.now().timestamp()
        ann, bob = map(slack.person, people)
        ops = slack.room("ops", ann, bob)
        known = Member(name="ann", identities=frozenset({f"slack:{ann}", "telegram:7"}))
        settings = SlackSettings(bot_token=SecretStr(slack.bot_token), base_url=slack.api_url)
        calls = Calls(settings, Condition(lambda _: None), clock)
        office = Office(
            slack=slack, clock=clock, calls=calls, notes=Notes(), blobs=Bytes(), members=Members({"ann": known}),
            ann=ann, bob=bob, ops=ops,
            request=slack.says(ann, ops, f"<@{slack.bot_user}> check the invoices"),
        )  # fmt: skip
        office.restarted()
        try:
            yield office
        finally:
            for sender in office.senders:
                await sender.close()
            await calls.close()
