"""What leaves for Slack: answers, cards and their verdicts, and what a task is doing."""

from __future__ import annotations

from agent.domain import Address
from agent.ports.channels import Outgoing, Shown
from channels.slack.calls import Calls
from channels.slack.directory import Directory


class Sender:
    """Sends over the Web API; every error is one of `Calls.call`."""

    def __init__(self, calls: Calls, directory: Directory) -> None:
        self._calls = calls
        self._directory = directory

    async def send(self, outgoing: Outgoing) -> str | None:
        """Send and return the message's ts."""
        to = outgoing.delivery.to
        place = {"channel": await self._directory.channel(to.conversation)}
        place |= {"thread_ts": to.thread} if to.thread else {}
        return str((await self._calls.call("chat.postMessage", text=outgoing.text, **place))["ts"])

    async def settle(self, outgoing: Outgoing, sent_as: str) -> None:
        """Redraw a card."""

    async def progress(self, to: Address, shown: Shown) -> None:
        """Show what a task is doing."""
