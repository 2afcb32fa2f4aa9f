"""What an update says: somebody wrote, edited, pressed or stopped something, or a group moved. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from telegram import CallbackQuery, Message, MessageEntity, Update

from agent.domain import AwaitedFile
from channels.telegram.files import awaited
from channels.telegram.incoming import Mark, Me, Said, said

KINDS = ("message", "edited_message", "channel_post", "callback_query", "stopped_message_generation")
"""The updates that are asked for; a server that does not know one of them leaves it out."""
_NO_WORDS = {
    "sticker": "a sticker", "poll": "a poll", "venue": "a place", "location": "a place", "contact": "a contact",
    "dice": "a die", "story": "a story", "game": "a game", "checklist": "a checklist", "paid_media": "paid media",
    "rich_message": "a message with tables or headings", "live_photo": "a live photo",
}  # fmt: skip
"""What people send that holds neither words nor a file for us (core.telegram.org/bots/api#message); the last two are
newer than the library."""
CONTEXT = 2_000
"""Characters of a message that somebody answers, which a request repeats."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Sender:
    """Who wrote, by the id that counts.

    An anonymous administrator and whoever writes as a channel have a user id that they share with everybody else who
    does so, therefore the id of the group or channel they write as counts instead: it is nobody's, and let in only
    when `allow` names it or the group. A press always carries the id of the person.
    """

    user_id: int
    name: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Piece:
    """A message: all that somebody sends, or a part of it. `text` is as it was typed, `said` as it is read.

    `quoted_text` and `quoted_files` are of the message that it answers, `quoted_by` is who wrote that; `answers` is
    the id of a message of the bot's that it answers, with its `answered_links`. `unread`: what it is instead of words
    and files, such as "a sticker".
    """

    chat_id: int
    thread_id: int | None
    message_id: int
    sender: Sender
    text: str
    said: Said
    sent_at: datetime
    direct: bool
    files: tuple[AwaitedFile, ...] = ()
    album: str | None = None
    forwarded_from: str | None = None
    unread: str = ""
    quoted_text: str = ""
    quoted_by: str = ""
    quoted_files: tuple[AwaitedFile, ...] = ()
    answers: int | None = None
    answered_links: tuple[str, ...] = field(default=(), repr=False)


@dataclass(frozen=True, kw_only=True, slots=True)
class Changed:
    """A message was edited."""

    piece: Piece


@dataclass(frozen=True, kw_only=True, slots=True)
class Pressed:
    """A button was pressed; `message_id` and `chat_id` are the message it is under, as far as that is known."""

    query_id: str
    user_id: int
    name: str
    value: str
    chat_id: int
    thread_id: int | None
    message_id: int | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Stopped:
    """The stop button of a draft was pressed, which only exists in private chats."""

    chat_id: int
    thread_id: int | None
    draft_id: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Moved:
    """A group became a supergroup with another id."""

    before: int
    now: int


Event = Piece | Changed | Pressed | Stopped | Moved


def read(raw: Mapping[str, Any], me: Me) -> Event | None:
    """What an update says to this bot; None: nothing. A ValueError for what is no update."""
    try:
        return _read(raw, me)
    except (KeyError, TypeError, AttributeError, OverflowError, OSError) as error:
        raise ValueError(f"this is no update of the Bot API: {type(error).__name__}") from None


def _read(raw: Mapping[str, Any], me: Me) -> Event | None:
    update = Update.de_json(dict(raw), None)
    if update.callback_query is not None:
        return _pressed(update.callback_query)
    if (stopped := update.api_kwargs.get("stopped_message_generation")) is not None:
        return _stopped(stopped)
    if (edited := update.edited_message) is not None:
        piece = _piece(edited, me)
        return Changed(piece=piece) if piece else None
    message = update.message or update.channel_post
    if message is None:
        return None
    return _moved(message) or _piece(message, me)


def _moved(message: Message) -> Moved | None:
    """Both chats tell of it: core.telegram.org/bots/api#message, migrate_to_chat_id."""
    if message.migrate_to_chat_id:
        return Moved(before=message.chat.id, now=message.migrate_to_chat_id)
    if message.migrate_from_chat_id:
        return Moved(before=message.migrate_from_chat_id, now=message.chat.id)
    return None


def _piece(message: Message, me: Me) -> Piece | None:
    sender = _sender(message)
    text, files = message.text or message.caption or "", awaited(message)
    unread = "" if text or files else _no_words(message)
    if sender is None or not (text or files or unread):  # nobody's, or a notice of the platform's
        return None
    marks = [_mark(entity) for entity in message.entities or message.caption_entities]
    answered = _answered(message)
    own = answered is not None and answered.from_user is not None and answered.from_user.id == me.user_id
    quoted = None if own else answered
    return Piece(
        chat_id=message.chat.id,
        thread_id=topic(message),
        message_id=message.message_id,
        sender=sender,
        text=text,
        said=said(text, marks, me),
        sent_at=message.date,
        direct=message.chat.type == "private",
        files=files,
        unread=unread,
        album=message.media_group_id,
        forwarded_from=_origin(message),
        quoted_text=_quoted_text(message, quoted),
        quoted_by=_named(quoted) if quoted else "",
        quoted_files=awaited(quoted) if quoted else (),
        answers=answered.message_id if own and answered else None,
        answered_links=_links(answered) if own and answered else (),
    )


def topic(message: Message) -> int | None:
    """The topic a message is in. Also a chain of replies has a thread id, which may not be sent to
    (github.com/tdlib/telegram-bot-api/issues/447); General has none."""
    return message.message_thread_id if message.is_topic_message else None


def _sender(message: Message) -> Sender | None:
    """Nobody for other bots, and for what a channel posts into its discussion group by itself."""
    if message.is_automatic_forward:
        return None
    if (chat := message.sender_chat) is not None:
        return Sender(user_id=chat.id, name=chat.title or "")
    user = message.from_user
    return None if user is None or user.is_bot else Sender(user_id=user.id, name=user.full_name)


def _no_words(message: Message) -> str:
    held = (word for name, word in _NO_WORDS.items() if getattr(message, name, None) or name in message.api_kwargs)
    return next(held, "")


def _answered(message: Message) -> Message | None:
    """In a topic, what answers nothing else answers the message that the topic began with."""
    answered = message.reply_to_message
    if answered is None or answered.forum_topic_created or answered.message_id == topic(message):
        return None
    return answered


def _quoted_text(message: Message, answered: Message | None) -> str:
    """The part of it that was picked by hand, else the whole message, unless the bot wrote it."""
    if message.quote is not None and (message.quote.is_manual or answered):
        return message.quote.text
    text = (answered.text or answered.caption or "") if answered else ""
    return text if len(text) <= CONTEXT else f"{text[:CONTEXT]}…"


def _named(message: Message) -> str:
    return (sender.name if (sender := _sender(message)) else "") or "somebody"


def _links(message: Message) -> tuple[str, ...]:
    entities = message.entities or message.caption_entities
    return tuple(entity.url for entity in entities if entity.type == "text_link" and entity.url)


def _origin(message: Message) -> str | None:
    """Whom a forwarded message is from; None for one that is not forwarded."""
    origin = message.forward_origin
    if origin is None:
        return None
    user, chat = getattr(origin, "sender_user", None), getattr(origin, "sender_chat", None)
    chat = chat or getattr(origin, "chat", None)
    hidden: str = getattr(origin, "sender_user_name", "")
    return (user.full_name if user else chat.title if chat else hidden) or "somebody"


def _pressed(query: CallbackQuery) -> Pressed | None:
    """A message that is too old to be told about has no more than a chat and an id
    (core.telegram.org/bots/api#inaccessiblemessage)."""
    if query.data is None:
        return None
    message = query.message
    return Pressed(
        query_id=query.id,
        user_id=query.from_user.id,
        name=query.from_user.full_name,
        value=query.data,
        chat_id=message.chat.id if message else query.from_user.id,
        thread_id=topic(message) if isinstance(message, Message) else None,
        message_id=message.message_id if message else None,
    )


def _stopped(stopped: Mapping[str, Any]) -> Stopped:
    thread_id = stopped.get("message_thread_id")
    return Stopped(chat_id=int(stopped["chat"]["id"]), thread_id=thread_id, draft_id=int(stopped["draft_id"]))


def _mark(entity: MessageEntity) -> Mark:
    return Mark(
        kind=entity.type,
        offset=entity.offset,
        length=entity.length,
        url=entity.url,
        user_id=entity.user.id if entity.user else None,
        language=entity.language,
    )
