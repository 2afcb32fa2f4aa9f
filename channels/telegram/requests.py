"""What pieces of conversation ask for, and whether they are meant for the bot. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from agent.commands import WORDS
from agent.domain import Address
from agent.ports.channels import ChannelMessage
from channels.telegram.incoming import album_text, joined
from channels.telegram.menu import START
from channels.telegram.settings import Groups
from channels.telegram.updates import Piece


def addressed(pieces: Sequence[Piece], groups: Groups) -> bool:
    """Whether the bot is meant. A word without a name is for every bot of a group, so only our own count."""
    first = pieces[0]
    if first.said.for_another:
        return False
    if first.direct or groups == "all" or any(piece.said.mentioned for piece in pieces):
        return True
    if is_word(first):
        return True
    return groups == "reply" and first.answers is not None


def is_word(piece: Piece) -> bool:
    """Whether it is a chat word, whatever it answers."""
    return piece.said.command in WORDS and not (piece.forwarded_from or piece.said.for_another)


def asked(
    pieces: Sequence[Piece], *, key: str, address: Address, identity: str, name: str, at: datetime
) -> ChannelMessage:
    """The request that the pieces are together. A word is nothing but itself; anything else brings along what it
    answers: that text, quoted, and its files."""
    first = pieces[0]
    word = first.said.command is not None and first.forwarded_from is None and len(pieces) == 1
    files = [file for piece in pieces for file in piece.files]
    text = _text(pieces)
    if word:
        text = "/help" if first.said.command == START else text
    else:
        files += first.quoted_files
        text = _with_quote(first, text)
    return ChannelMessage(
        dedup_key=key,
        address=address,
        identity=identity,
        text=text,
        received_at=at,
        shown_name=first.sender.name,
        awaited_files=tuple(files),
        message_id=name,
        direct=first.direct,
        quoted=first.forwarded_from is not None,
    )


def _text(pieces: Sequence[Piece]) -> str:
    if pieces[0].album is not None:
        return album_text([piece.said.text for piece in pieces])
    return joined([piece.said for piece in pieces])


def _with_quote(first: Piece, text: str) -> str:
    if first.forwarded_from is not None:
        return f"Forwarded from {first.forwarded_from}:\n\n{text}".rstrip()
    if not first.quoted_text:
        return text
    by = first.quoted_by or "you"
    quote = "\n".join(f"> {line}" for line in first.quoted_text.splitlines())
    return f"In answer to what {by} wrote:\n{quote}\n\n{text}".rstrip()
