"""What a text is sent as: a rich message where that shows more, and the same in parts with entities. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from telegram import MessageEntity

from agent.domain import Address, Task
from channels.telegram.markdown import render
from channels.telegram.rich import rich
from channels.telegram.text import Part, split


@dataclass(frozen=True, kw_only=True, slots=True)
class Written:
    """`html` is the whole text as one rich message, None when entities show as much; `parts` are empty when there is
    nothing to be seen."""

    html: str | None
    parts: tuple[Part, ...]


def written(markdown: str) -> Written:
    """Markdown as it is sent; always the same for the same text, so that an attempt which goes on finds its parts."""
    return Written(html=rich(markdown), parts=split(render(markdown)))


def entities(part: Part) -> Sequence[MessageEntity]:
    """The formats of a part as the library takes them."""
    return [MessageEntity(**entity.fields()) for entity in part.entities]


def request(task: Task | None) -> tuple[Address, str] | None:
    """The name of the message that a task came from and where it stands, when it came from a chat of ours."""
    asked = next(iter(task.reply_to), None) if task is not None and task.origin == "message" else None
    if task is None or asked is None or asked.channel != "telegram" or task.message_id is None:
        return None
    return asked, task.message_id
