"""One task at work, at one place: what is to be shown of it and what is."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Literal

from agent.domain import Address, Task
from agent.ports.channels import Shown
from channels.slack.drawing import OVER, Drawn, holds_answer
from channels.slack.messages import Sent

Kind = Literal["stream", "edited"]
Key = tuple[int, Address]


@dataclass(kw_only=True)
class Show:
    """`channel` is the conversation's own id, empty at first. `message` is there from the first step or word on.

    `left` are messages that something was shown in before, with what; None: nobody knows what arrived.
    """

    key: Key
    newest: Shown
    channel: str = ""
    kind: Kind = "stream"
    message: Sent | None = None
    drawn: Drawn = field(default_factory=Drawn)
    looked: Shown | None = None
    left: list[tuple[Sent, Drawn | None]] = field(default_factory=list)
    first_at: float = 0.0
    began_at: float = 0.0
    status_at: float = 0.0
    is_noted: bool = False
    is_closing: asyncio.Event = field(default_factory=asyncio.Event)
    worker: asyncio.Task[None] | None = None

    @property
    def task(self) -> Task:
        """The task, as it was when it was last heard of."""
        return self.newest.task

    @property
    def to(self) -> Address:
        """The place."""
        return self.key[1]

    @property
    def is_empty(self) -> bool:
        """Whether there is no step and no word yet."""
        return not (self.newest.steps or self.newest.text)

    def leave(self, *, is_known: bool = True) -> None:
        """Go on in another message, with what is not over."""
        if self.message is not None:
            self.left.append((self.message, self.drawn if is_known else None))
        over = {call_id for call_id, step in self.drawn.steps.items() if step.state in OVER}
        self.message, self.drawn = None, Drawn(hidden=self.drawn.hidden | over)

    def outdated(self, answer: str) -> list[Sent]:
        """Left messages in which the beginning of the answer stands, or may stand."""
        return [message for message, drawn in self.left if drawn is None or holds_answer(drawn, answer)]
