"""Ways in and out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from agent.domain import Address, Approval, Artifact, Button, Delivery, IncomingMessage, Task, TaskStatus
from agent.ports.store import Accepted

Feature = Literal["buttons", "forms", "threads", "uploads", "edits", "streaming", "rich_text"]
"""What a channel can do more than take plain text."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Outgoing:
    """A delivery as it is sent: text rendered, artifacts and card loaded."""

    delivery: Delivery
    text: str
    buttons: tuple[Button, ...] = ()
    artifacts: tuple[Artifact, ...] = ()
    task: Task | None = None
    approval: Approval | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Progress:
    """What is happening now; best effort, never state. `text` is the answer so far, empty when there is no news of it;
    `entries` is how many rows the journal has."""

    task_id: int
    status: TaskStatus
    text: str = ""
    entries: int = 0


class Inbox(Protocol):
    """Where a channel hands in what it received."""

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

    async def progress(self, to: Address, progress: Progress) -> None:
        """Show what is happening; may be dropped."""
        ...

    async def download(self, reference: str) -> bytes:
        """The bytes of a file somebody sent."""
        ...

    def routes(self) -> Sequence[Any]:
        """Its HTTP routes (aiohttp RouteDefs), mounted by the server."""
        ...
