"""What Telegram keeps for one bot: its chats, files, queries and updates."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.servers.telegram import limits
from tests.servers.telegram.flood import Flood
from tests.servers.telegram.parameters import Parameters
from tests.servers.telegram.refusal import Refused, bad_request
from tests.servers.telegram.updates import Updates
from tests.servers.telegram.world import Answer, Chat, Message, StoredFile, User

FIRST_SUPERGROUP = -1_000_000_000_000


@dataclass(eq=False, kw_only=True)
class Query:
    """A press that waits for its answer."""

    query_id: str
    pressed_at: float
    answer: asyncio.Future[Answer]


@dataclass(eq=False, kw_only=True)
class Account:
    """`newer`: rich messages and drafts are known. `privacy`: of groups the bot sees only what is meant for it, as
    BotFather sets it at first.

    `local`: the folder of a self-hosted server run with --local, which knows no limit of downloads.
    """

    bot: User
    now: Callable[[], float]
    local: Path | None = None
    newer: bool = True
    privacy: bool = True
    chats: dict[int, Chat] = field(default_factory=dict)
    files: dict[str, StoredFile] = field(default_factory=dict)
    queries: dict[str, Query] = field(default_factory=dict)
    commands: dict[str, list[dict[str, str]]] = field(default_factory=dict)
    updates: Updates = field(default_factory=Updates)
    numbers: itertools.count[int] = field(default_factory=lambda: itertools.count(11))

    def __post_init__(self) -> None:
        self.flood = Flood(self.now)

    @property
    def upload_bytes(self) -> int:
        return limits.UPLOAD_BYTES if self.local is None else limits.LOCAL_UPLOAD_BYTES

    def chat(self, parameters: Parameters) -> Chat:
        """The chat of a call, whether or not the bot may write there."""
        reference = parameters.values.get("chat_id")
        name = parameters.text("chat_id") if isinstance(reference, str) and reference.startswith("@") else ""
        if name:
            found = next((chat for chat in self.chats.values() if chat.username == name[1:]), None)
        else:
            found = self.chats.get(parameters.number("chat_id"))
        if found is None:
            raise bad_request("chat not found")
        if found.migrated_to is not None:
            raise Refused(
                400,
                "Bad Request: group chat was upgraded to a supergroup chat",
                migrate_to_chat_id=found.migrated_to,
            )
        return found

    def open_chat(self, parameters: Parameters) -> Chat:
        """The chat of a call, which the bot may write to (github.com/TelegramBotAPI/errors)."""
        chat = self.chat(parameters)
        person = chat.person
        if person is not None:
            if person.deactivated:
                raise Refused(403, "Forbidden: user is deactivated")
            if person.blocked_bot:
                raise Refused(403, "Forbidden: bot was blocked by the user")
            if not chat.started:
                raise Refused(403, "Forbidden: bot can't initiate conversation with a user")
            return chat
        standing = chat.members.get(self.bot.user_id, "left")
        if standing == "kicked":
            raise Refused(403, f"Forbidden: bot was kicked from the {chat.kind} chat")
        if standing == "left":
            raise Refused(403, f"Forbidden: bot is not a member of the {chat.kind} chat")
        if not chat.may_write and standing == "member":
            raise bad_request("not enough rights to send text messages to the chat")
        return chat

    def thread(self, chat: Chat, parameters: Parameters) -> int | None:
        """The topic a call goes to. General has none: github.com/tdlib/telegram-bot-api/issues/447, 798."""
        thread_id = parameters.integer("message_thread_id")
        if thread_id is None:
            return None
        topic = chat.topics.get(thread_id)
        if topic is None or topic.deleted:
            raise bad_request("message thread not found")
        if topic.closed:
            raise bad_request("TOPIC_CLOSED")
        return thread_id

    def message(self, chat: Chat, message_id: int, purpose: str) -> Message:
        """A message that is still there."""
        found = chat.messages.get(message_id)
        if found is None or found.deleted:
            raise bad_request(f"message to {purpose} not found")
        return found

    def add(self, message: Message) -> Message:
        """It is in the chat now; people reply in threads also where there are no topics."""
        message.message_id = next(self.numbers)
        message.chat.messages[message.message_id] = message
        if message.reply_to is not None and message.thread_id is None and message.chat.kind == "supergroup":
            message.thread_id = message.reply_to.thread_id or message.reply_to.message_id
        return message

    def keep(self, file: StoredFile) -> StoredFile:
        """A file with an id of its own."""
        file.file_id = f"file-{next(self.numbers)}"
        self.files[file.file_id] = file
        return file

    def as_json(self) -> dict[str, Any]:
        """What getMe answers (core.telegram.org/bots/api#getme)."""
        return {
            **self.bot.as_json(),
            "can_join_groups": True,
            "can_read_all_group_messages": not self.privacy,
            "supports_inline_queries": False,
        }
