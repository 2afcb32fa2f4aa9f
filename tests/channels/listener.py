"""A chat that only listens, for channels that hand in what they receive."""

from __future__ import annotations

from dataclasses import dataclass, field

from agent.domain import Address
from agent.errors import Draining, NotFound
from agent.ports.channels import ChannelMessage, ChannelPress, Form, Receipt


@dataclass
class Listener:
    """Implements Chat: keeps what it is handed, and refuses everything while `draining`."""

    heard: list[ChannelMessage] = field(default_factory=list)
    pressed: list[ChannelPress] = field(default_factory=list)
    draining: bool = False

    async def admits(self, identity: str, address: Address, company: str | None = None) -> bool:
        """Everybody."""
        return True

    async def receive(self, message: ChannelMessage) -> Receipt:
        """Keep it."""
        if self.draining:
            raise Draining("Signoff is stopping.")
        self.heard.append(message)
        return Receipt(outcome="task", task_id=len(self.heard))

    async def press(self, press: ChannelPress) -> Receipt:
        """Keep it."""
        self.pressed.append(press)
        return Receipt(outcome="decided", said="Noted.", private=True)

    async def form(self, identity: str, value: str) -> Form:
        """There are none."""
        raise NotFound(f"There is no form {value}.")
