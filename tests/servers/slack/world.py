"""What is in a workspace: people, channels, messages, files, modals; and how Slack describes them."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count
from typing import Any, Literal

from tests.servers.slack.block_kit import elements, pings, strings
from tests.servers.slack.limits import maximum

Json = dict[str, Any]
Kind = Literal["channel", "group", "im", "mpim"]


class Refused(Exception):
    """Slack's `ok: false`; `fields` stand beside the error."""

    def __init__(self, error: str, **fields: Any) -> None:
        super().__init__(error)
        self.error = error
        self.fields = fields


@dataclass(kw_only=True)
class User:
    user_id: str
    name: str
    team: str
    is_guest: bool = False
    is_bot: bool = False
    tz: str = "Europe/Berlin"


@dataclass(kw_only=True)
class File:
    """`content` is empty until it is uploaded; a stub is what Slack Connect shows instead of a foreign file."""

    file_id: str
    name: str
    owner: str
    content: bytes = b""
    title: str = ""
    media_type: str = "application/octet-stream"
    shared_in: set[str] = field(default_factory=set)
    length: int = 0
    is_stub: bool = False
    is_public: bool = False


@dataclass(kw_only=True)
class Stream:
    """An answer that is being written. `tasks` are the cards by id, as last updated."""

    started: float
    is_open: bool = True
    recipient: str | None = None
    display_mode: str = "timeline"
    plan: str = ""
    tasks: dict[str, Json] = field(default_factory=dict)
    written: str = ""
    status_after: str | None = None


@dataclass(kw_only=True)
class Message:
    """A message as it stands; `before` are the texts it had, `reactions` who gave which."""

    channel: str
    ts: str
    user: str
    text: str = ""
    blocks: list[Json] = field(default_factory=list)
    thread: str | None = None
    is_bot: bool = False
    subtype: str | None = None
    metadata: Json | None = None
    files: list[File] = field(default_factory=list)
    before: list[str] = field(default_factory=list)
    reactions: dict[str, list[str]] = field(default_factory=dict)
    stream: Stream | None = None
    only_for: str | None = None
    is_broadcast: bool = False
    edited_by: str | None = None

    @property
    def shown(self) -> str:
        """What a person reads: the blocks where there are some, else the text."""
        words = [text for block in self.blocks if block["type"] != "actions" for text in strings(block)]
        written = [self.stream.written] if self.stream and self.stream.written else []
        return "\n".join([*written, *words]) or self.text

    @property
    def buttons(self) -> list[str]:
        return [str(found["text"]["text"]) for _, found in self.elements() if found["type"] == "button"]

    def elements(self) -> list[tuple[Json, Json]]:
        """Everything that can be pressed, with its block."""
        return [(block, found) for block in self.blocks for found in elements(block) if "action_id" in found]


@dataclass(kw_only=True)
class Channel:
    channel_id: str
    name: str
    kind: Kind
    members: set[str] = field(default_factory=set)
    is_archived: bool = False
    is_shared: bool = False
    messages: dict[str, Message] = field(default_factory=dict)


@dataclass(kw_only=True)
class Modal:
    """A modal in front of a person; `errors` are what the app said of its fields, by block id."""

    view: Json
    user: str
    errors: dict[str, str] = field(default_factory=dict)

    @property
    def view_id(self) -> str:
        return str(self.view["id"])

    @property
    def title(self) -> str:
        return str(self.view["title"]["text"])


@dataclass(kw_only=True)
class Trigger:
    user: str
    made: float
    is_used: bool = False


@dataclass(kw_only=True)
class Assistant:
    """What the app set in an assistant's thread; `session` is "processing" while Slack shows its stop button."""

    status: str = ""
    session: str = ""
    statuses: list[str] = field(default_factory=list)
    title: str = ""
    prompts: list[Json] = field(default_factory=list)


class World:
    """One workspace with one app in it.

    `now` may be replaced by a test's clock; `told` hears of every change; `stirred` is set by every call of the app.
    """

    team = "T0HOME"
    app_id = "A0SIGNOFF"
    bot_user = "U0BOT"
    bot_id = "B0BOT"

    def __init__(self) -> None:
        self.now: Callable[[], float] = time.time
        self.told: Callable[[Json, Channel], None] = lambda _event, _channel: None
        self.url = ""
        self.users = {self.bot_user: User(user_id=self.bot_user, name="signoff", team=self.team, is_bot=True)}
        self.channels: dict[str, Channel] = {}
        self.files: dict[str, File] = {}
        self.modals: dict[str, Modal] = {}
        self.triggers: dict[str, Trigger] = {}
        self.ephemerals: list[Message] = []
        self.assistants: dict[tuple[str, str], Assistant] = {}
        self.pings: list[str] = []
        self.stirred = asyncio.Event()
        self._numbers = count(1)

    def number(self) -> int:
        return next(self._numbers)

    def new_id(self, letter: str) -> str:
        return f"{letter}{self.number():08}"

    def new_ts(self) -> str:
        return f"{int(self.now())}.{self.number():06}"

    def trigger(self, user: str) -> str:
        name = f"{self.number()}.{self.number()}.abcdef0123456789"
        self.triggers[name] = Trigger(user=user, made=self.now())
        return name

    def take_trigger(self, name: Any) -> str:
        """Use it up; the person that it belongs to."""
        trigger = self.triggers.get(str(name))
        if trigger is None:
            raise Refused("invalid_trigger_id")
        if trigger.is_used:
            raise Refused("exchanged_trigger_id")
        if self.now() - trigger.made > maximum("trigger.seconds"):
            raise Refused("expired_trigger_id")
        trigger.is_used = True
        return trigger.user

    # --- looking ------------------------------------------------------------------------------------------------------

    def channel(self, name: Any) -> Channel:
        """By id, or a person's direct messages by their id; what the bot cannot see does not exist for it."""
        found = self.channels.get(str(name))
        if found is None and str(name) in self.users:
            found = self.direct(str(name))
        if found is None or (found.kind != "channel" and self.bot_user not in found.members):
            raise Refused("channel_not_found")
        return found

    def writable(self, name: Any) -> Channel:
        channel = self.channel(name)
        if channel.is_archived:
            raise Refused("is_archived")
        if self.bot_user not in channel.members:
            raise Refused("not_in_channel")
        return channel

    def message(self, channel: Channel, ts: Any, error: str = "message_not_found") -> Message:
        found = channel.messages.get(str(ts))
        if found is None:
            raise Refused(error)
        return found

    def thread_root(self, channel: Channel, ts: Any) -> str:
        """Only the first message of a thread carries it, and not one that Slack wrote itself."""
        root = self.message(channel, ts, "thread_not_found")
        if root.thread not in {None, root.ts}:
            raise Refused("thread_not_found")
        if root.subtype in {"channel_join", "channel_leave", "channel_topic"}:
            raise Refused("cannot_reply_to_message")
        return root.ts

    def assistant(self, channel: Channel, thread: str) -> Assistant:
        """What is set in a thread."""
        return self.assistants.setdefault((channel.channel_id, thread), Assistant())

    def direct(self, user: str) -> Channel:
        """The direct messages of a person and the bot."""
        channel_id = f"D{user[1:]}"
        people = {user, self.bot_user}
        return self.channels.setdefault(
            channel_id, Channel(channel_id=channel_id, name=user, kind="im", members=people)
        )

    # --- changing -----------------------------------------------------------------------------------------------------

    def post(self, channel: Channel, message: Message) -> Message:
        """Put a message there and tell the app."""
        channel.messages[message.ts] = message
        if message.is_bot:
            self.note_pings(message)
        self.told(self.message_event(message), channel)
        return message

    def note_pings(self, message: Message) -> None:
        written = message.stream.written if message.stream else ""
        self.pings += pings(f"{message.text}\n{written}", message.blocks)

    def changed(self, channel: Channel, message: Message, previous: Json) -> None:
        event = {"message": self.describe(message), "previous_message": previous}
        self.told(self._hidden(message, "message_changed", event), channel)

    def remove(self, channel: Channel, message: Message) -> None:
        del channel.messages[message.ts]
        event = {"deleted_ts": message.ts, "previous_message": self.describe(message)}
        self.told(self._hidden(message, "message_deleted", event), channel)

    # --- describing ---------------------------------------------------------------------------------------------------

    def message_event(self, message: Message) -> Json:
        kind = self.channels[message.channel].kind
        return {
            **self.describe(message),
            "channel": message.channel,
            "event_ts": message.ts,
            "channel_type": kind,
        }

    def _hidden(self, message: Message, subtype: str, fields: Json) -> Json:
        return {
            "type": "message",
            "subtype": subtype,
            "hidden": True,
            "channel": message.channel,
            "channel_type": self.channels[message.channel].kind,
            "ts": self.new_ts(),
            "event_ts": message.ts,
            **fields,
        }

    def describe(self, message: Message, *, with_metadata: bool = False) -> Json:
        """A message as the Web API and the events show it."""
        author = self.users[message.user]
        found: Json = {"type": "message", "user": message.user, "text": message.text, "ts": message.ts}
        found |= {"team": author.team, "blocks": message.blocks}
        if message.is_bot:
            found |= {"bot_id": self.bot_id, "app_id": self.app_id, "bot_profile": {"id": self.bot_id}}
        elif author.is_bot:
            found["bot_id"] = f"B{author.user_id[1:]}"
        else:
            found["client_msg_id"] = f"00000000-0000-4000-8000-{message.ts.replace('.', '')[-12:]:0>12}"
        if author.team != self.team:
            found |= {"user_team": author.team, "source_team": author.team}
        if message.thread is not None:
            found |= {"thread_ts": message.thread}
        if message.subtype or message.files:
            found["subtype"] = message.subtype or "file_share"
        if message.files:
            found["files"] = [self.describe_file(file) for file in message.files]
        if message.edited_by:
            found["edited"] = {"user": message.edited_by, "ts": message.ts}
        if message.reactions:
            reactions = message.reactions.items()
            found["reactions"] = [{"name": name, "users": who, "count": len(who)} for name, who in reactions]
        if with_metadata and message.metadata is not None:
            found["metadata"] = message.metadata
        return found

    def describe_file(self, file: File, *, whole: bool = False) -> Json:
        if file.is_stub and not whole:
            return {"id": file.file_id, "mode": "file_access", "file_access": "check_file_info"}
        address = f"{self.url}/files-pri/{self.team}-{file.file_id}"
        return {
            "id": file.file_id,
            "name": file.name,
            "title": file.title or file.name,
            "mimetype": file.media_type,
            "filetype": file.name.rpartition(".")[2],
            "size": len(file.content),
            "user": file.owner,
            "mode": "hosted",
            "is_external": False,
            "url_private": f"{address}/{file.name}",
            "url_private_download": f"{address}/download/{file.name}",
        }

    def describe_channel(self, channel: Channel) -> Json:
        return {
            "id": channel.channel_id,
            "name": channel.name,
            "is_channel": channel.kind == "channel",
            "is_group": channel.kind == "group",
            "is_im": channel.kind == "im",
            "is_mpim": channel.kind == "mpim",
            "is_private": channel.kind != "channel",
            "is_archived": channel.is_archived,
            "is_ext_shared": channel.is_shared,
            "is_member": self.bot_user in channel.members,
            **({"user": next(iter(channel.members - {self.bot_user}))} if channel.kind == "im" else {}),
        }

    def describe_user(self, user: User) -> Json:
        return {
            "id": user.user_id,
            "team_id": user.team,
            "name": user.name,
            "real_name": user.name.title(),
            "tz": user.tz,
            "is_bot": user.is_bot,
            "is_restricted": user.is_guest,
            "is_ultra_restricted": False,
            "is_stranger": user.team != self.team,
            "deleted": False,
            "profile": {"real_name": user.name.title(), "display_name": user.name},
        }
