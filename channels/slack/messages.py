"""What Slack is sent: blocks, the words beside them, and the tag by which a message is found again. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from channels.slack.inert import escaped
from channels.slack.markdown import markdown_parts
from channels.slack.mrkdwn import mrkdwn_parts

Json = dict[str, Any]

EVENT = "signoff_delivery"
"""The type of our metadata (docs.slack.dev/messaging/message-metadata)."""
PLAIN_LIMIT = 3_900
"""Bytes of a message without blocks: longer ones Slack cuts in two wherever it likes, and chat.update takes no more
than 4,000 (docs.slack.dev/reference/methods/chat.update)."""
PART = 6_000
"""Characters of a message of an answer: half of what Slack takes, and as much as fits below the cards of a stream. The
same on every way, so that an attempt that goes on finds the same parts."""
SUMMARY = 300
"""Characters of the words beside blocks, which a notification shows."""

_PLACE = re.compile(r"\bslack:([CDGUW][A-Z0-9]{2,})\b")


@dataclass(frozen=True, kw_only=True, slots=True)
class Message:
    """One message: `blocks` as Slack draws them and, beside them, `text` for notifications. `plain` is all of it as
    `mrkdwn`, in parts, for when the blocks are refused."""

    text: str
    blocks: tuple[Json, ...]
    plain: tuple[str, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Sent:
    """A message as it lies in Slack, by its conversation's own id; as text `C1:1700000000.000100`."""

    channel: str
    ts: str

    def __str__(self) -> str:
        return f"{self.channel}:{self.ts}"


def sent(text: str) -> Sent:
    """What `Sent` was written down as."""
    channel, _, ts = text.partition(":")
    return Sent(channel=channel, ts=ts)


def written(text: str) -> list[Message]:
    """Markdown as messages that Slack takes, in order; none for a blank text."""
    return [_written(part) for part in markdown_parts(text, PART)]


def notice(text: str) -> list[Message]:
    """What the product itself says; conversations in it are shown as Slack names them."""
    return [
        Message(
            text=_placed(part.text),
            blocks=tuple({**block, "text": _placed(block["text"])} for block in part.blocks),
            plain=tuple(map(_placed, part.plain)),
        )
        for part in written(text)
    ]


def metadata(delivery_id: int, part: str) -> Json:
    """The tag of a part of a delivery."""
    return {"event_type": EVENT, "event_payload": {"id": f"{delivery_id}:{part}"}}


def tagged(messages: Iterable[Mapping[str, Any]], delivery_id: int) -> Iterator[tuple[str, str]]:
    """The parts of a delivery among messages that Slack told with their metadata, and their ts."""
    for message in messages:
        tag = message.get("metadata") or {}
        found, _, part = str((tag.get("event_payload") or {}).get("id", "")).partition(":")
        if tag.get("event_type") == EVENT and found == str(delivery_id):
            yield part, message["ts"]


def summary(text: str) -> str:
    """The first words of a plain text, for a notification."""
    line = " ".join(text.split())
    return escaped(line if len(line) <= SUMMARY else f"{line[: SUMMARY - 1]}…")


def _written(part: str) -> Message:
    text = next(iter(mrkdwn_parts(part, SUMMARY)), "")
    plain = tuple(mrkdwn_parts(part, PLAIN_LIMIT))
    return Message(text=text, blocks=({"type": "markdown", "text": part},), plain=plain)


def _placed(text: str) -> str:
    """`<#C…>` is how Slack shows a conversation's name and leads there; it notifies nobody."""
    return _PLACE.sub(lambda found: f"<#{found[1]}>" if found[1][0] in "CG" else "a direct message", text)
