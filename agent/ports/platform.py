"""What the channel of a chat platform works with."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from agent.domain import Member
from agent.ports.channels import Channel, Chat
from agent.ports.clock import Clock
from agent.ports.deliveries import Deliveries, Leases
from agent.ports.files import Blobs


class Members(Protocol):
    """Looks people up."""

    async def member(self, name: str) -> Member:
        """One person, by the exact name; NotFound."""
        ...


@dataclass(frozen=True, kw_only=True, slots=True)
class Platform:
    """Given to a channel when it is made.

    `report(name, problem)` says that the channel does not work and why, and with None that it does (again); people
    read it in `/readyz` and in the log. `public_url` is where others reach our server (`bot.http.public_url`).
    """

    chat: Chat
    people: Members
    deliveries: Deliveries
    leases: Leases
    blobs: Blobs
    clock: Clock
    report: Callable[[str, str | None], None]
    public_url: str | None


Make = Callable[[Platform], Channel]
