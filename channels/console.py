"""The console as a channel: whoever has its page open reads the answers from the rows, so nothing is sent."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pydantic import BaseModel, ConfigDict

from agent.domain import Address
from agent.errors import NotFound
from agent.ports.channels import Feature, Outgoing, Shown


class ConsoleSettings(BaseModel):
    """Whether there are pages for people."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    enabled: bool = True


class Console:
    """The channel `console`: a member is a conversation, and each chat of theirs a thread of it."""

    name = "console"
    features: frozenset[Feature] = frozenset({"buttons", "forms", "threads", "uploads", "edits", "streaming"})

    async def start(self) -> None:
        """Requests come in through the pages."""

    async def stop(self) -> None:
        """It holds nothing."""

    async def send(self, outgoing: Outgoing) -> str | None:
        """Nothing: the page shows the task's rows."""
        return None

    async def settle(self, outgoing: Outgoing, sent_as: str) -> None:
        """Nothing: the page draws the card from its row."""

    async def progress(self, to: Address, shown: Shown) -> None:
        """Nothing: an open page follows the task itself."""

    async def download(self, reference: str) -> bytes:
        """Files come with the request."""
        raise NotFound(f"There is no file {reference}.")

    def routes(self) -> Sequence[Any]:
        """None: pages need a login, which is not a channel's business."""
        return ()
