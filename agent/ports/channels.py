"""Ways in and out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, Protocol

from agent.domain import (
    Address,
    Approval,
    Artifact,
    AwaitedFile,
    Delivery,
    IncomingFile,
    IncomingMessage,
    Task,
    TaskStatus,
)
from agent.ports.store import Accepted

Feature = Literal["buttons", "forms", "threads", "uploads", "edits", "streaming", "rich_text"]
"""What a channel can do more than take plain text."""


Tone = Literal["good", "bad", "plain"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Button:
    """What can be pressed. `value` (at most 64 bytes) is the card's token, its revision, a verb and perhaps an item;
    never the arguments. `form`: pressing it opens a form, which `Chat.form` describes."""

    label: str
    value: str
    tone: Tone = "plain"
    form: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class CardItem:
    """One call on a card: what it does in a line, its preview with everything hidden made visible, and what was
    decided about it so far (empty: nothing yet). `buttons` are its own; a card with one item has none here."""

    number: int
    title: str
    preview: str
    verdict: str = ""
    buttons: tuple[Button, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Card:
    """An approval as every channel draws it; all texts are plain. `open`: something can still be decided.

    `title` names the approval, the task and which card of the task it is; `request` is what was asked for, in a line;
    `note` says why it is shown (again), `footer` who may decide until when, or what became of it.
    """

    approval_id: int
    revision: int
    open: bool
    title: str
    request: str
    note: str
    items: tuple[CardItem, ...]
    footer: str
    buttons: tuple[Button, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class FormField:
    """Something to be typed, `value` being there already."""

    name: str
    label: str
    value: str = ""
    multiline: bool = False
    required: bool = True


@dataclass(frozen=True, kw_only=True, slots=True)
class Form:
    """What a button with `form` asks for; sent back as a press of the same value with `fields`."""

    value: str
    title: str
    fields: tuple[FormField, ...]
    submit: str


StepState = Literal["running", "waiting", "done", "failed", "denied"]


@dataclass(frozen=True, kw_only=True, slots=True)
class StepLine:
    """A tool call on a line: what is being done (`label`) to what (`target`), how far it is, and how long its tool ran,
    if it did."""

    call_id: str
    label: str
    target: str
    state: StepState
    seconds: float | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Outgoing:
    """A delivery as it is sent: text rendered, artifacts and card loaded. A card's `text` is all of it as plain text,
    with the words that decide it; channels with `buttons` draw `card` instead.

    `steps` are the task's tool calls as they are now. `may_have_arrived`: an earlier attempt may have reached the
    platform, so a channel that can look does look first. What `delivery.parts` names did arrive.
    """

    delivery: Delivery
    text: str
    artifacts: tuple[Artifact, ...] = ()
    task: Task | None = None
    approval: Approval | None = None
    card: Card | None = None
    steps: tuple[StepLine, ...] = ()
    may_have_arrived: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Progress:
    """What is happening now; best effort, never state. `text` is the answer so far, empty when there is no news of it;
    `entries` is how many rows the journal has."""

    task_id: int
    status: TaskStatus
    text: str = ""
    entries: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class Shown:
    """A task at work as a conversation shows it: its calls so far and, behind them, the words of the answer so far."""

    task: Task
    steps: tuple[StepLine, ...]
    text: str


@dataclass(frozen=True, kw_only=True, slots=True)
class ChannelMessage:
    """What somebody wrote on a chat platform, the mention stripped, plain text.

    `identity` (`channel:id`) is the platform's stable id of the sender and decides who they are; `shown_name` is only
    for people to read. `direct`: nobody else reads here. `quoted`: the text is forwarded or quoted, so no chat word in
    it counts. `company`: the platform's id of the sender's company, when it is another one than the bot's; the allow
    list lets in whole companies, and nobody of another one by `*` or by the conversation.
    """

    dedup_key: str
    address: Address
    identity: str
    text: str
    received_at: datetime
    shown_name: str = ""
    files: tuple[IncomingFile, ...] = ()
    awaited_files: tuple[AwaitedFile, ...] = ()
    message_id: str | None = None
    direct: bool = False
    quoted: bool = False
    company: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class ChannelPress:
    """Somebody pressed a button, or sent the form that a button had opened (`fields`). `company` as of a message."""

    dedup_key: str
    address: Address
    identity: str
    value: str
    pressed_at: datetime
    fields: Mapping[str, str] = field(default_factory=dict)
    company: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Receipt:
    """What became of an event: the task it made or belongs to, and what its sender is told at once (empty: nothing).

    `private`: only the sender should read it. What others should read, too, is in the outbox already.
    """

    outcome: str
    task_id: int | None = None
    said: str = ""
    private: bool = False


class Chat(Protocol):
    """Where a chat platform hands in what it received. Each event is durable when a call returns; only then may it be
    acknowledged. A repeat of an event does nothing more and gets the first answer."""

    async def admits(self, identity: str, address: Address, company: str | None = None) -> bool:
        """Whether this sender is let in here, by the people or by the channel's allow list; a stranger's files need not
        be fetched."""
        ...

    async def receive(self, message: ChannelMessage) -> Receipt:
        """A request, a chat word, an answer to an open card, or a stranger's knock. Draining, StorageError."""
        ...

    async def press(self, press: ChannelPress) -> Receipt:
        """A verdict, an edit, a wish for changes. A press that may not be, or comes too late, is told so in `said`."""
        ...

    async def form(self, identity: str, value: str) -> Form:
        """What a button that opens a form asks for; a BadInput says why it cannot be opened."""
        ...


class Inbox(Protocol):
    """Where a channel hands in a request whose sender it knows."""

    async def accept(self, message: IncomingMessage) -> Accepted:
        """Make the task durable; only then may the event be acknowledged."""
        ...


class Channel(Protocol):
    """A way in and out. Whatever a platform can do more is a declared feature with a fallback elsewhere."""

    @property
    def name(self) -> str:
        """The first part of its addresses."""
        ...

    @property
    def features(self) -> frozenset[Feature]:
        """What it can do."""
        ...

    async def start(self) -> None:
        """Begin to receive."""
        ...

    async def stop(self) -> None:
        """Stop receiving and release what it holds."""
        ...

    async def send(self, outgoing: Outgoing) -> str | None:
        """Send and return the platform's id of the message; raises a ChannelError."""
        ...

    async def settle(self, outgoing: Outgoing, sent_as: str) -> None:
        """Edit a card to its verdict."""
        ...

    async def progress(self, to: Address, shown: Shown) -> None:
        """Show what a running task is doing, newest state only, one call at a time for each task and place; a
        ChannelUnavailable postpones the next. It may still be under way when the task's answer or card is sent, which
        then counts."""
        ...

    async def download(self, reference: str) -> bytes:
        """The bytes of a file somebody sent; ChannelUnavailable to try again, DeliveryRefused says why it cannot be
        had."""
        ...

    def routes(self) -> Sequence[Any]:
        """Its HTTP routes (aiohttp RouteDefs), mounted by the server."""
        ...
