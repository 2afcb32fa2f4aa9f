"""What leaves for a fake Telegram: a request in it, and deliveries as the outbox hands them over."""

from __future__ import annotations

import asyncio
import hashlib
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from typing import Any, TypeVar

from pydantic import SecretStr

from agent.cards import card, text
from agent.domain import Address, Approval, Artifact, Call, Delivery, DeliveryKind, Member, Task, TaskStatus
from agent.errors import NotFound
from agent.ports.channels import Outgoing, Shown, StepLine, StepState
from agent.ports.platform import Platform
from channels.telegram.calls import Calls
from channels.telegram.sending import Sending
from channels.telegram.settings import Pace, TelegramSettings
from channels.telegram.state import BotState
from channels.telegram.uploads import UPLOAD_BYTES
from tests.agent.waiting import PEOPLE, waiting
from tests.channels.listener import Listener
from tests.clock import FakeClock
from tests.servers.telegram.server import FakeTelegram
from tests.servers.telegram.world import Chat, Message, Topic, User

T = TypeVar("T")
QUICK = Pace(answer=0.5, connect=0.5, upload=5.0)


@dataclass
class Notes:
    """Implements Deliveries and Leases as far as a channel uses them, in memory."""

    parts: defaultdict[int, list[str]] = field(default_factory=lambda: defaultdict(list))
    shown_as: dict[tuple[int, Address], str] = field(default_factory=dict)

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

    by_name: dict[str, Member] = field(default_factory=dict)

    async def member(self, name: str) -> Member:
        """One of them."""
        if name not in self.by_name:
            raise NotFound(f"There is nobody named {name}.")
        return self.by_name[name]


@dataclass(kw_only=True)
class Office:
    """A channel with Ann's request; where that stands is where answers go. `clock` is Telegram's, too."""

    tg: FakeTelegram
    clock: FakeClock
    folder: Path
    notes: Notes
    blobs: Bytes
    members: Members
    ann: User
    chat: Chat
    request: Message
    topic: Topic | None = None
    processes: list[tuple[Calls, Sending]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.restarted()

    @property
    def sending(self) -> Sending:
        """Of the process that runs now."""
        return self.processes[-1][1]

    @property
    def to(self) -> Address:
        """Where the request stands."""
        thread = None if self.topic is None else str(self.topic.thread_id)
        return Address(channel="telegram", conversation=str(self.chat.chat_id), thread=thread)

    @property
    def answers(self) -> list[Message]:
        """What the bot has written there."""
        return self.tg.from_bot(self.chat)

    @property
    def texts(self) -> list[str]:
        """The same as text."""
        return [message.text for message in self.answers]

    def moves_to(self, chat: Chat, topic: Topic | None = None) -> None:
        """The request stands there instead."""
        self.chat, self.topic = chat, topic
        self.request = self.tg.says(self.ann, chat, "/new check the invoices", topic=topic)

    def task(self, status: TaskStatus = "running", **changes: Any) -> Task:
        """The task that the request became."""
        now = self.clock.now()
        task = Task(
            task_id=5, session_id=1, seq=1, origin="message", requester="ann", reply_to=(self.to,), workspace="office",
            prompt="check the invoices", files=(), status=status, created_at=now, run_after=now, epoch=1,
            message_id=str(self.request.message_id),
        )  # fmt: skip
        return replace(task, **changes)

    def outgoing(self, kind: DeliveryKind, words: str = "", **changes: Any) -> Outgoing:
        """A delivery of its task, to where it was asked; `changes` are of the delivery, else of what goes with it."""
        now = self.clock.now()
        delivery = Delivery(
            delivery_id=9, task_id=5, kind=kind, to=self.to, text=words, dedup_key=f"{kind}:5", status="pending",
            attempts=0, next_attempt_at=now, expires_at=now + timedelta(days=1),
        )  # fmt: skip
        own = {name: changes.pop(name) for name in list(changes) if hasattr(delivery, name)}
        status: TaskStatus = "done" if kind == "reply" else "waiting_approval"
        given = {"delivery": replace(delivery, **own), "text": words, "task": self.task(status)}
        return Outgoing(**{**given, **changes})

    def reply(self, words: str = "Done.", **changes: Any) -> Outgoing:
        """The answer."""
        return self.outgoing("reply", words, **changes)

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
        """The next attempt, with what is written down of the ones before."""
        parts = tuple(self.notes.parts[outgoing.delivery.delivery_id])
        return replace(outgoing, delivery=replace(outgoing.delivery, attempts=1, parts=parts), may_have_arrived=True)

    async def artifact(
        self, name: str, content: bytes, artifact_id: int = 1, media_type: str = "text/csv", size: int | None = None
    ) -> Artifact:
        """A file that the task made; `size` may say more than there is."""
        return Artifact(
            artifact_id=artifact_id, task_id=5, name=name, path=f"out/{name}", media_type=media_type,
            size_bytes=len(content) if size is None else size, sha256=await self.blobs.put(content), version=1,
            created_at=self.clock.now(),
        )  # fmt: skip

    def restarted(self) -> None:
        """A new process, which remembers nothing."""
        platform = Platform(
            chat=Listener(), people=self.members, deliveries=self.notes, leases=self.notes, blobs=self.blobs,  # type: ignore[arg-type]
            clock=self.clock, report=lambda *_: None, public_url=None,
        )  # fmt: skip
        settings = TelegramSettings(
            enabled=True, token=SecretStr(self.tg.token), base_url=self.tg.base_url, base_file_url=self.tg.base_file_url
        )
        calls = Calls(settings, BotState(self.folder), QUICK)
        self.processes.append((calls, Sending(calls, platform, UPLOAD_BYTES)))

    async def close(self) -> None:
        """End every process."""
        for calls, sending in self.processes:
            await sending.close()
            await calls.close()

    def shown(self, *steps: StepLine, words: str = "", **task: Any) -> Shown:
        """The task at work."""
        return Shown(task=self.task(**task), steps=steps, text=words)

    async def shows(self, *steps: StepLine, words: str = "", seconds: float = 1.0, **task: Any) -> None:
        """Show it, and let the time pass that its place rests afterwards."""
        await self.passing(self.sending.progress(self.to, self.shown(*steps, words=words, **task)), seconds)

    async def passing(self, call: Awaitable[T], seconds: float) -> T:
        """Let time pass in small steps while a call is under way, so long at least."""
        task = asyncio.ensure_future(call)
        until = self.clock.now() + timedelta(seconds=seconds)
        while not task.done() or self.clock.now() < until:
            await asyncio.wait([task], timeout=0.01)
            self.clock.advance(0.5)
        return await task


def step(number: int, state: StepState = "running") -> StepLine:
    """A call that reads a file."""
    label = "Read" if state == "done" else "Reading"
    return StepLine(call_id=f"c{number}", label=label, target=f"{number}.csv", state=state)


@asynccontextmanager
async def opened(folder: Path, *, newer: bool = True) -> AsyncIterator[Office]:
    """An office while the block lasts, with the request in a private chat."""
    clock = FakeClock()
    tg = FakeTelegram(now=lambda: clock.now().timestamp(), newer=newer)
    await tg.start()
    ann = tg.user("Ann")
    chat = tg.private(ann)
    known = Member(name="ann", identities=frozenset({f"telegram:{ann.user_id}", "slack:U7"}))
    office = Office(
        tg=tg, clock=clock, folder=folder, notes=Notes(), blobs=Bytes(), members=Members({"ann": known}), ann=ann,
        chat=chat, request=tg.says(ann, chat, "check the invoices"),
    )  # fmt: skip
    try:
        yield office
    finally:
        await office.close()
        await tg.close()
