"""What Slack's events mean, without asking anybody: a message to the bot, an edit of one, an opened assistant. Pure.

Whatever is missing or of another type is read as empty: an event is never a reason to stumble.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from agent.domain import Address

Json = dict[str, Any]

CHANNEL = "slack"
_SAID = frozenset({"", "file_share", "thread_broadcast", "me_message"})
"""The subtypes of messages that a person writes (docs.slack.dev/reference/events/message#subtypes)."""
EDIT_SECONDS = 60
"""Somebody who corrects a request does it at once; later edits are not about it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Me:
    """The bot itself, as Slack knows it."""

    user: str
    bot: str
    team: str
    enterprise: str


@dataclass(frozen=True, kw_only=True, slots=True)
class SlackFile:
    """A file of a message. `name` is empty for one of another company, of which an event tells the id alone."""

    file_id: str
    name: str
    size_bytes: int | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Said:
    """A message of somebody else. `text` is in Slack's notation; `channel` is Slack's id of the conversation.

    `mentions`: the bot is named in it. `company`: the sender's, when it is not the bot's. `forwarded` are the texts of
    messages that were sent along.
    """

    key: str
    user: str
    address: Address
    channel: str
    ts: str
    text: str
    direct: bool
    mentions: bool
    company: str | None
    files: tuple[SlackFile, ...]
    forwarded: tuple[str, ...]

    @property
    def threaded(self) -> bool:
        """Whether it is a reply."""
        return self.address.thread not in {None, self.ts}


@dataclass(frozen=True, kw_only=True, slots=True)
class Edited:
    """A message that its author changed shortly after; `key` is that of the message."""

    key: str
    user: str
    address: Address
    channel: str
    newly_mentions: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class Stopped:
    """Somebody pressed the stop button that Slack itself shows while an agent works in a thread."""

    key: str
    user: str
    channel: str
    thread: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Opened:
    """Somebody opened a thread of the agent."""

    user: str
    channel: str
    thread: str


def is_ours(payload: Json, me: Me) -> bool:
    """Whether the bot's own installation saw it: an app may be installed in a second workspace, whose people are others
    even if their ids are the same (docs.slack.dev/apis/events-api#authorizations)."""
    ids = (text(one, name) for one in records(payload, "authorizations") for name in ("team_id", "enterprise_id"))
    seen_by = set(filter(None, ids))
    return not seen_by or not seen_by.isdisjoint({me.team, me.enterprise})


def said(payload: Json, me: Me, bots: Collection[str] = ()) -> Said | None:
    """A message that could be a request; None for everything else, also for what the bot or any other robot says but
    those of `bots`. The two events of a mention are the same message."""
    event = record(payload, "event")
    if text(event, "type") not in {"message", "app_mention"} or text(event, "subtype") not in _SAID:
        return None
    user, channel, ts = _author(event, payload, me, bots), text(event, "channel"), text(event, "ts")
    if not user or not channel or not ts or event.get("hidden") or event.get("edited"):
        return None
    direct = is_direct(channel)
    thread = text(event, "thread_ts") or (None if direct else ts)
    return Said(
        key=key(payload, channel, ts),
        user=user,
        address=address(user, channel, thread),
        channel=channel,
        ts=ts,
        text=text(event, "text"),
        direct=direct,
        mentions=_names(event, me),
        company=company(event, me),
        files=tuple(map(_file, records(event, "files"))),
        forwarded=tuple(
            text(one, "text") or text(one, "fallback") for one in records(event, "attachments") if one.get("is_share")
        ),
    )


def edited(payload: Json, me: Me) -> Edited | None:
    """A message whose words a person changed within a minute; Slack calls a link's preview a change, too."""
    event = record(payload, "event")
    message, before = record(event, "message"), record(event, "previous_message")
    user, channel, ts = text(message, "user"), text(event, "channel"), text(message, "ts")
    is_changed = text(message, "text") != text(before, "text") and message.get("edited")
    if text(event, "subtype") != "message_changed" or not is_changed or _author(message, payload, me) != user:
        return None
    if not user or not ts or seconds(text(record(message, "edited"), "ts")) - seconds(ts) > EDIT_SECONDS:
        return None
    thread = text(message, "thread_ts") or (None if is_direct(channel) else ts)
    return Edited(
        key=key(payload, channel, ts),
        user=user,
        address=address(user, channel, thread),
        channel=channel,
        newly_mentions=_names(message, me) and not _names(before, me),
    )


def opened(payload: Json) -> Opened | None:
    """docs.slack.dev/reference/events/assistant_thread_started"""
    event = record(payload, "event")
    thread = record(event, "assistant_thread")
    found = Opened(user=text(thread, "user_id"), channel=text(thread, "channel_id"), thread=text(thread, "thread_ts"))
    is_one = text(event, "type") == "assistant_thread_started" and found.user and found.channel and found.thread
    return found if is_one else None


def stopped(payload: Json) -> Stopped | None:
    """docs.slack.dev/reference/events/agent_session_stopped"""
    event = record(payload, "event")
    user, channel, thread = (text(event, name) for name in ("user", "channel", "thread_ts"))
    event_key = key(payload, channel, f"stopped:{text(event, 'event_ts')}")
    return Stopped(key=event_key, user=user, channel=channel, thread=thread) if user and channel and thread else None


def key(payload: Json, channel: str, rest: str) -> str:
    """What an event is known by: an app may be in two workspaces, and a mention arrives twice under two event ids."""
    team = text(payload, "team_id") or text(record(payload, "team"), "id")
    return f"{CHANNEL}:{text(payload, 'api_app_id')}:{team}:{channel}:{rest}"


def address(user: str, channel: str, thread: str | None) -> Address:
    """A conversation with the bot alone goes by the person's id, like everything else that is sent to a person."""
    return Address(channel=CHANNEL, conversation=user if is_direct(channel) else channel, thread=thread or None)


def is_direct(channel: str) -> bool:
    """Whether this is a conversation of two."""
    return channel.startswith("D")


def company(who: Json, me: Me) -> str | None:
    """The company of whoever wrote or pressed, when it is not the bot's: in a shared channel there are others, too,
    of one of which the event itself may be (docs.slack.dev/apis/slack-connect)."""
    found = next((team for name in ("user_team", "source_team", "team", "team_id") if (team := text(who, name))), "")
    return found if found and found not in {me.team, me.enterprise} else None


def seconds(ts: str) -> float:
    """When a message was written."""
    whole = ts.partition(".")[0]
    return float(whole) if whole.isdecimal() else 0.0


def text(found: Json, name: str) -> str:
    """A field that is a text."""
    value = found.get(name)
    return value if isinstance(value, str) else ""


def record(found: Json, name: str) -> Json:
    """A field that is an object."""
    value = found.get(name)
    return value if isinstance(value, dict) else {}


def records(found: Json, name: str) -> Sequence[Json]:
    """A field that is a list of objects."""
    value = found.get(name)
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def _author(event: Json, payload: Json, me: Me, bots: Collection[str] = ()) -> str:
    """Who wrote it, by the id under which they are let in; empty for the bot itself and robots nobody let in."""
    user, bot, app = (text(event, name) for name in ("user", "bot_id", "app_id"))
    if user in {me.user, "USLACKBOT"} or (bot and bot == me.bot) or (app and app == text(payload, "api_app_id")):
        return ""
    return next((one for one in (user, bot) if one and one in bots), "") if bot else user


def _names(event: Json, me: Me) -> bool:
    return text(event, "type") == "app_mention" or (bool(me.user) and f"<@{me.user}" in text(event, "text"))


def _file(found: Json) -> SlackFile:
    size = found.get("size")
    return SlackFile(
        file_id=text(found, "id"),
        name=text(found, "name") or text(found, "title"),
        size_bytes=size if isinstance(size, int) and size >= 0 else None,
    )
