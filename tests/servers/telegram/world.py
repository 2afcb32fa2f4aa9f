"""The chats as the people in them see them, and the same as the JSON of the Bot API."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from tests.servers.telegram.formats import Entity, cut

ChatKind = Literal["private", "group", "supergroup", "channel"]
Standing = Literal["creator", "administrator", "member", "left", "kicked"]
DATE = 1_780_000_000
ANONYMOUS_ADMIN_ID = 1_087_968_824
"""GroupAnonymousBot, the sender of what an anonymous admin writes (github.com/tdlib/telegram-bot-api/issues/667)."""
CHANNEL_BOT_ID = 136_817_688
"""Channel_Bot, the sender of what somebody writes as a channel."""


@dataclass(eq=False, kw_only=True)
class User:
    """A person, or a bot."""

    user_id: int
    first_name: str
    username: str | None = None
    is_bot: bool = False
    blocked_bot: bool = False
    deactivated: bool = False

    def as_json(self) -> dict[str, Any]:
        named = {"username": self.username} if self.username else {}
        return {"id": self.user_id, "is_bot": self.is_bot, "first_name": self.first_name, **named}


@dataclass(eq=False, kw_only=True)
class Topic:
    """A thread of a forum, or of a private chat whose bot has topics."""

    thread_id: int
    name: str
    root: Message
    closed: bool = False
    deleted: bool = False


@dataclass(eq=False, kw_only=True)
class Chat:
    """A chat; `members` by user id, `topics` by thread id; `migrated_to` once it became a supergroup."""

    chat_id: int
    kind: ChatKind
    title: str
    person: User | None = None
    username: str | None = None
    forum: bool = False
    members: dict[int, Standing] = field(default_factory=dict)
    people: dict[int, User] = field(default_factory=dict)
    topics: dict[int, Topic] = field(default_factory=dict)
    messages: dict[int, Message] = field(default_factory=dict)
    drafts: dict[int, Draft] = field(default_factory=dict)
    actions: list[tuple[str, int | None]] = field(default_factory=list)
    migrated_to: int | None = None
    may_write: bool = True
    started: bool = False

    def as_json(self) -> dict[str, Any]:
        if self.person is not None:
            named = {"first_name": self.person.first_name}
        else:
            named = {"title": self.title, **({"username": self.username} if self.username else {})}
        return {"id": self.chat_id, "type": self.kind, **named, **({"is_forum": True} if self.forum else {})}


@dataclass(eq=False, kw_only=True)
class StoredFile:
    """A file as Telegram keeps it; `size_bytes` may be more than the content, to stand for one too large for a test."""

    file_id: str
    name: str | None
    content: bytes = field(repr=False)
    size_bytes: int
    mime_type: str
    kind: Literal["document", "photo", "voice"]
    width: int = 0
    height: int = 0

    def as_json(self) -> dict[str, Any]:
        both = {"file_id": self.file_id, "file_unique_id": f"u{self.file_id}", "file_size": self.size_bytes}
        if self.kind == "photo":
            return {**both, "width": self.width, "height": self.height}
        if self.kind == "voice":
            return {**both, "duration": 3, "mime_type": self.mime_type}
        return {**both, "mime_type": self.mime_type, **({"file_name": self.name} if self.name is not None else {})}


@dataclass(frozen=True, kw_only=True)
class Key:
    """A button under a message."""

    label: str
    data: str = ""
    url: str = ""


@dataclass(eq=False, kw_only=True)
class Message:
    """A message; `text` is the caption when there is a file, and what is to be read of a rich message."""

    message_id: int
    chat: Chat
    sender: User | None
    text: str = ""
    entities: list[Entity] = field(default_factory=list)
    thread_id: int | None = None
    in_topic: bool = False
    reply_to: Message | None = None
    keyboard: list[list[Key]] = field(default_factory=list)
    force_reply: dict[str, Any] | None = None
    file: StoredFile | None = None
    album: str | None = None
    rich: dict[str, Any] | None = None
    rich_html: str = ""
    reactions: list[str] = field(default_factory=list)
    sender_chat: Chat | None = None
    origin: dict[str, Any] | None = None
    service: dict[str, Any] = field(default_factory=dict)
    edited: int = 0
    deleted: bool = False

    @property
    def labels(self) -> list[str]:
        """What the buttons say."""
        return [key.label for row in self.keyboard for key in row]

    def formatted(self, kind: str) -> list[str]:
        """The words that have a format."""
        return [
            cut(self.text, entity["offset"], entity["length"]) for entity in self.entities if entity["type"] == kind
        ]

    def as_json(self, *, with_reply: bool = True) -> dict[str, Any]:
        """The Message of the Bot API; a reply carries what it answers, which carries nothing further."""
        body: dict[str, Any] = {
            "message_id": self.message_id,
            "date": DATE + self.message_id,
            "chat": self.chat.as_json(),
        }
        body |= {"from": self.sender.as_json()} if self.sender else {}
        body |= {"sender_chat": self.sender_chat.as_json()} if self.sender_chat else {}
        body |= {"message_thread_id": self.thread_id} if self.thread_id is not None else {}
        body |= {"is_topic_message": True} if self.in_topic else {}
        body |= {"forward_origin": self.origin} if self.origin else {}
        body |= {"edit_date": DATE + self.message_id + self.edited} if self.edited else {}
        body |= {"media_group_id": self.album} if self.album else {}
        if self._answered is not None and with_reply:
            body["reply_to_message"] = self._answered.as_json(with_reply=False)
        return body | self._content() | self._markup() | self.service

    @property
    def _answered(self) -> Message | None:
        """In a forum, what answers nothing else answers the message that the topic began with."""
        if self.reply_to is None and self.in_topic and self.chat.forum and self.thread_id is not None:
            return self.chat.topics[self.thread_id].root
        return self.reply_to

    def _content(self) -> dict[str, Any]:
        if self.rich is not None:
            return {"rich_message": self.rich}
        if self.file is None:
            text = {"text": self.text} if self.text else {}
            return text | ({"entities": self.entities} if self.entities else {})
        sent = self.file.as_json()
        body: dict[str, Any] = {self.file.kind: [sent] if self.file.kind == "photo" else sent}
        body |= {"caption": self.text} if self.text else {}
        return body | ({"caption_entities": self.entities} if self.entities else {})

    def _markup(self) -> dict[str, Any]:
        if not self.keyboard:
            return {}
        rows = [
            [{"text": key.label, **({"url": key.url} if key.url else {"callback_data": key.data})} for key in row]
            for row in self.keyboard
        ]
        return {"reply_markup": {"inline_keyboard": rows}}


@dataclass(eq=False, kw_only=True)
class Draft:
    """A message that is being written before a person's eyes; `texts`: all it has shown, the last one last."""

    draft_id: int
    thread_id: int | None
    shown_at: float
    can_stop: bool
    texts: list[str] = field(default_factory=list)
    stopped: bool = False

    @property
    def text(self) -> str:
        return self.texts[-1]


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What a person sees after a press."""

    text: str = ""
    alert: bool = False
