"""What people do in Telegram, and what they see there."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from tests.servers.telegram import limits
from tests.servers.telegram.account import FIRST_SUPERGROUP, Account, Query
from tests.servers.telegram.asking import member
from tests.servers.telegram.formats import Entity, detected
from tests.servers.telegram.schema import schema
from tests.servers.telegram.world import (
    ANONYMOUS_ADMIN_ID,
    CHANNEL_BOT_ID,
    DATE,
    Answer,
    Chat,
    Draft,
    Message,
    Standing,
    StoredFile,
    Topic,
    User,
)


@dataclass(frozen=True, kw_only=True)
class Sent:
    """A file somebody sends; `size_bytes` may say more than there is, to stand for one too large for a test."""

    content: bytes = field(default=b"content", repr=False)
    name: str | None = "file.bin"
    caption: str = ""
    kind: Literal["document", "photo", "voice"] = "document"
    mime_type: str = "application/octet-stream"
    size_bytes: int | None = None


class People:
    """Everybody but the bot."""

    def __init__(self, account: Account) -> None:
        self.account = account
        self._ids = itertools.count(100)

    # Who and where

    def user(self, first_name: str, username: str | None = None) -> User:
        """A person."""
        return User(user_id=next(self._ids), first_name=first_name, username=username)

    def private(self, user: User, *, started: bool = True) -> Chat:
        """The chat of a person with the bot; before it is started the bot may not write."""
        chat = Chat(chat_id=user.user_id, kind="private", title=user.first_name, person=user, started=started)
        return self.account.chats.setdefault(user.user_id, chat)

    def group(
        self,
        title: str,
        *members: User,
        kind: Literal["group", "supergroup"] = "supergroup",
        forum: bool = False,
        bot: Standing = "member",
    ) -> Chat:
        """A group whose first member owns it; the bot is in it as `bot` and was told nothing yet."""
        number = next(self._ids)
        chat = Chat(
            chat_id=FIRST_SUPERGROUP - number if kind == "supergroup" else -number, kind=kind, title=title, forum=forum
        )
        for user in members:
            chat.people[user.user_id] = user
            chat.members[user.user_id] = "member" if len(chat.members) else "creator"
        chat.members[self.account.bot.user_id] = bot
        self.account.chats[chat.chat_id] = chat
        return chat

    def channel(self, title: str) -> Chat:
        """A channel that the bot administers."""
        chat = Chat(chat_id=FIRST_SUPERGROUP - next(self._ids), kind="channel", title=title)
        chat.members[self.account.bot.user_id] = "administrator"
        self.account.chats[chat.chat_id] = chat
        return chat

    def topic(self, chat: Chat, name: str) -> Topic:
        """A new topic of a forum or of a private chat; it can be closed and deleted."""
        created = {"forum_topic_created": {"name": name, "icon_color": 7_322_096}}
        root = self.account.add(Message(message_id=0, chat=chat, sender=None, service=created))
        topic = Topic(thread_id=root.message_id, name=name, root=root)
        chat.topics[topic.thread_id] = topic
        return topic

    # What they do

    def says(
        self,
        user: User,
        chat: Chat,
        text: str,
        *,
        reply_to: Message | None = None,
        topic: Topic | None = None,
        entities: Sequence[Entity] = (),
    ) -> Message:
        """Write something; commands, mentions and addresses get their entities by themselves."""
        message = self._written(user, chat, text, topic, entities)
        message.reply_to = reply_to
        return self._arrives(message)

    def pastes(self, user: User, chat: Chat, text: str) -> list[Message]:
        """Write more than a message holds: the app cuts it at 4096 UTF-16 units, not inside an emoji."""
        pieces = []
        while text:
            encoded = text.encode("utf-16-le")[: 2 * limits.TEXT_UNITS]
            pieces.append(encoded.decode("utf-16-le", "ignore"))
            text = text[len(pieces[-1]) :]
        return [self.says(user, chat, piece) for piece in pieces]

    def sends(self, user: User, chat: Chat, *files: Sent, topic: Topic | None = None) -> list[Message]:
        """Send a file, or several as an album."""
        album = f"album-{next(self.account.numbers)}" if len(files) > 1 else None
        sent = []
        for file in files:
            message = self._written(user, chat, file.caption, topic, ())
            message.album = album
            message.file = self._uploaded(file)
            sent.append(self._arrives(message))
        return sent

    def forwards(self, user: User, message: Message, chat: Chat) -> Message:
        """Forward a message of somebody else."""
        copy = self._written(user, chat, message.text, None, message.entities)
        copy.file = message.file
        assert message.sender is not None
        copy.origin = {"type": "user", "date": DATE, "sender_user": message.sender.as_json()}
        return self._arrives(copy)

    def edits(self, message: Message, text: str) -> None:
        """Change what was written."""
        message.text, message.entities = text, detected(text)
        message.edited += 1
        if self._is_seen(message):
            self._update("edited_message", message.as_json())

    def deletes(self, message: Message) -> None:
        """Take a message away, also one of the bot's; the bot is not told."""
        message.deleted = True

    async def press(
        self, user: User, message: Message, label: str, *, old: bool = False, seconds: float = 10
    ) -> Answer:
        """Press a button and wait for what the bot says to it; `old`: the bot is not told what the message was."""
        keys = {key.label: key for row in message.keyboard for key in row}
        assert label in keys, f"there is no button {label!r} but {list(keys)}"
        query_id = str(next(self.account.numbers))
        answer: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self.account.queries[query_id] = Query(query_id=query_id, pressed_at=self.account.now(), answer=answer)
        about: dict[str, Any] = message.as_json()
        if old:  # core.telegram.org/bots/api#inaccessiblemessage
            about = {"chat": message.chat.as_json(), "message_id": message.message_id, "date": 0}
        query = {"id": query_id, "from": user.as_json(), "message": about, "data": keys[label].data}
        self._update("callback_query", {**query, "chat_instance": str(message.chat.chat_id)})
        return await asyncio.wait_for(answer, seconds)

    def stops(self, chat: Chat) -> Draft:
        """Press the stop button of the draft that is shown."""
        draft = self.draft(chat)
        assert draft is not None, "no draft is shown"
        assert draft.can_stop, "the draft has no stop button"
        draft.stopped = True
        thread = {"message_thread_id": draft.thread_id} if draft.thread_id is not None else {}
        self._update("stopped_message_generation", {"chat": chat.as_json(), "draft_id": draft.draft_id, **thread})
        return draft

    def adds_bot(self, user: User, chat: Chat, standing: Standing = "member") -> None:
        """Let the bot in, make it an administrator, or throw it out (`left`, `kicked`)."""
        bot, before = self.account.bot, chat.members.get(self.account.bot.user_id, "left")
        chat.members[bot.user_id] = standing
        change = {"old_chat_member": member(bot, before), "new_chat_member": member(bot, standing)}
        self._update("my_chat_member", {"chat": chat.as_json(), "from": user.as_json(), "date": DATE, **change})
        if before in {"left", "kicked"} and standing in {"member", "administrator"}:
            self._service(chat, user, {"new_chat_members": [bot.as_json()]})

    def migrates(self, chat: Chat) -> Chat:
        """A group becomes a supergroup with another id (core.telegram.org/bots/api#message, migrate_to_chat_id)."""
        after = self.group(chat.title, *chat.people.values(), bot=chat.members[self.account.bot.user_id])
        owner = next(iter(chat.people.values()))
        self._service(chat, owner, {"migrate_to_chat_id": after.chat_id})
        self._service(after, owner, {"migrate_from_chat_id": chat.chat_id})
        chat.migrated_to = after.chat_id
        return after

    def blocks(self, user: User) -> None:
        """Block the bot in the private chat."""
        user.blocked_bot = True
        bot = self.account.bot
        change = {"old_chat_member": member(bot, "member"), "new_chat_member": member(bot, "kicked")}
        about = {"chat": self.private(user).as_json(), "from": user.as_json(), "date": DATE}
        self._update("my_chat_member", {**about, **change})

    def says_as_channel(self, channel: Chat, chat: Chat, text: str) -> Message:
        """Somebody writes into a group as a channel."""
        author = User(user_id=CHANNEL_BOT_ID, first_name="Channel", username="Channel_Bot", is_bot=True)
        message = self._written(author, chat, text, None, ())
        message.sender_chat = channel
        return self._arrives(message)

    def says_as_anonymous_admin(self, chat: Chat, text: str) -> Message:
        """An administrator who hides behind the group; their presses carry their own id all the same."""
        author = User(user_id=ANONYMOUS_ADMIN_ID, first_name="Group", username="GroupAnonymousBot", is_bot=True)
        message = self._written(author, chat, text, None, ())
        message.sender_chat = chat
        return self._arrives(message)

    def posts(self, channel: Chat, text: str) -> Message:
        """A post of a channel, which has no sender."""
        message = self._written(None, channel, text, None, ())
        message.sender_chat = channel
        self.account.add(message)
        self._update("channel_post", message.as_json())
        return message

    # What they see

    def messages(self, chat: Chat, topic: Topic | None = None) -> list[Message]:
        """What was written in a chat or topic, oldest first."""
        shown = [message for message in chat.messages.values() if not message.deleted and not message.service]
        return [message for message in shown if topic is None or message.thread_id == topic.thread_id]

    def from_bot(self, chat: Chat, topic: Topic | None = None) -> list[Message]:
        """What the bot has written there."""
        return [message for message in self.messages(chat, topic) if message.sender in (self.account.bot, None)]

    def draft(self, chat: Chat) -> Draft | None:
        """The draft that is shown: the newest, for 30 seconds (core.telegram.org/bots/api#sendmessagedraft)."""
        now = self.account.now()
        shown = [draft for draft in chat.drafts.values() if now - draft.shown_at < limits.DRAFT_SECONDS]
        return next((draft for draft in reversed(shown) if not draft.stopped), None)

    def _written(
        self, user: User | None, chat: Chat, text: str, topic: Topic | None, entities: Sequence[Entity]
    ) -> Message:
        assert chat.migrated_to is None, "nobody writes into a group that became a supergroup"
        return Message(
            message_id=0,
            chat=chat,
            sender=user,
            text=text,
            entities=detected(text, entities),
            thread_id=topic.thread_id if topic else None,
            in_topic=topic is not None,
        )

    def _uploaded(self, file: Sent) -> StoredFile:
        size = len(file.content) if file.size_bytes is None else file.size_bytes
        sides = 640 if file.kind == "photo" else 0
        return self.account.keep(
            StoredFile(
                file_id="",
                name=file.name,
                content=file.content,
                size_bytes=size,
                mime_type=file.mime_type,
                kind=file.kind,
                width=sides,
                height=sides,
            )
        )

    def _arrives(self, message: Message) -> Message:
        message.chat.started = True
        self.account.add(message)
        if self._is_seen(message):
            self._update("message", message.as_json())
        return message

    def _is_seen(self, message: Message) -> bool:
        """What a bot gets of a group: core.telegram.org/bots/features#privacy-mode. Sources disagree about a mention
        alone; here it does not get through, so that nobody relies on it."""
        if message.chat.kind == "private":
            return True
        standing = message.chat.members.get(self.account.bot.user_id, "left")
        if standing in {"left", "kicked"}:
            return False
        if not self.account.privacy or standing == "administrator" or message.service:
            return True
        if message.reply_to is not None and message.reply_to.sender is self.account.bot:
            return True
        commands = (word.partition("@")[2] for word in message.formatted("bot_command"))
        return any(bot.lower() in {"", str(self.account.bot.username).lower()} for bot in commands)

    def _service(self, chat: Chat, user: User, content: dict[str, Any]) -> None:
        self._arrives(Message(message_id=0, chat=chat, sender=user, service=content))

    def _update(self, kind: str, body: dict[str, Any]) -> None:
        if (known := schema()) is not None:
            wrong = known.check("Update", {"update_id": 1, kind: body})
            assert not wrong, f"the fake server made an update that Telegram does not know: {wrong}"
        self.account.updates.add(kind, body)
