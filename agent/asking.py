"""Where a card is shown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from agent.domain import Address, ApproverRule
from agent.ports.store import TaskState


@dataclass(frozen=True, kw_only=True, slots=True)
class Places:
    """The addresses that get a card, and what is to be said about them on it."""

    card: tuple[Address, ...]
    note: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Asking:
    """Asks where the answer goes."""

    async def places(self, state: TaskState, rules: Sequence[ApproverRule]) -> Places:
        """Where a card of these rules is shown."""
        return Places(card=state.task.reply_to)
