"""What Slack brings, over whichever way: understood, made durable, answered."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Protocol

import structlog

from agent.domain import Address, AwaitedFile
from agent.errors import ChannelError
from agent.ports.channels import ChannelMessage, Chat
from agent.ports.clock import Clock
from agent.ports.listings import Listings, SessionSelection
from agent.ports.store import Store
from channels.slack import events
from channels.slack.assistant import Assistant
from channels.slack.calls import Calls, Json
from channels.slack.directory import LOOKUP_SECONDS, Directory
from channels.slack.events import CHANNEL, Edited, Said, SlackFile, Stopped, record, text
from channels.slack.incoming import mentioned, readable
from channels.slack.presses import Presses
from channels.slack.settings import SlackSettings
from channels.slack.whispers import Whispers
from channels.slack.words import as_word, is_word

log = structlog.get_logger()

NOT_FOLLOWED = "I do not follow edits: a request counts as it was sent. Send it again if it should be different."
MENTION_IN_EDIT = "I do not follow edits, so I did not see that you mean me. Send it as a new message."
_BY_PEOPLE = frozenset({"message", "app_mention", "assistant_thread_started", "agent_session_stopped"})
INVITE_ME = "I am not in this channel. Invite me with `/invite`, or write to me in a direct message."


class Rows(Store, Listings, Protocol):
    """What the channel reads and writes: which threads it takes part in, how far its deliveries are."""


class Intake:
    """Takes everything that Slack brings; what nobody waits for is taken, too, so that it is not brought again."""

    def __init__(
        self, settings: SlackSettings, chat: Chat, rows: Rows, directory: Directory, calls: Calls, clock: Clock
    ) -> None:
        self._settings = settings
        self._chat = chat
        self._rows = rows
        self._directory = directory
        self._calls = calls
        self._clock = clock
        self._whispers = Whispers(calls, directory)
        self._assistant = Assistant(calls)
        self._presses = Presses(chat, rows, directory, calls, self._whispers, clock)
        self._queues: dict[str, asyncio.Lock] = {}

    async def take(self, kind: str, payload: Json) -> Json | None:
        """Make an event durable; what is answered besides the acknowledgement. Any error: it was not taken."""
        match kind:
            case "events_api":
                await self._event(payload)
            case "slash_commands":
                return await self._command(payload)
            case "interactive":
                return await self._presses.take(payload)
        return None

    async def close(self) -> None:
        """Say what is still to be said."""
        await self._whispers.close()

    async def _event(self, payload: Json) -> None:
        kind = text(record(payload, "event"), "type")
        if kind in _BY_PEOPLE and not events.is_ours(payload, await self._directory.me()):
            log.warning("slack_event_of_another_workspace", team=text(payload, "team_id"))
            return
        match kind:
            case "message" | "app_mention":
                async with self._in_turn(text(record(payload, "event"), "channel")):
                    await self._message(payload)
            case "assistant_thread_started":
                if opened := events.opened(payload):
                    self._directory.note_direct(opened.user, opened.channel)
                    self._whispers.later(self._assistant.greet(opened))
            case "agent_session_stopped":
                if stopped := events.stopped(payload):
                    await self._stopped(stopped, events.company(record(payload, "event"), await self._directory.me()))
            case "tokens_revoked" | "app_uninstalled":
                self._whispers.later(self._tried())

    async def _message(self, payload: Json) -> None:
        me = await self._directory.me()
        if said := events.said(payload, me, self._settings.allow):
            await self._said(said, me.user)
        elif changed := events.edited(payload, me):
            await self._edited(changed)

    async def _stopped(self, stopped: Stopped, company: str | None) -> None:
        """Slack's own stop button means the word; Slack goes on saying that the agent works until it is told."""
        await self._chat.receive(
            ChannelMessage(
                dedup_key=stopped.key,
                address=events.address(stopped.user, stopped.channel, stopped.thread),
                identity=f"{CHANNEL}:{stopped.user}",
                text="/stop",
                received_at=self._clock.now(),
                direct=events.is_direct(stopped.channel),
                company=company,
            )
        )
        self._whispers.later(self._idle(stopped))

    async def _idle(self, stopped: Stopped) -> None:
        await self._calls.call(
            "agents.sessions.setStatus", channel_id=stopped.channel, thread_ts=stopped.thread, status="active"
        )

    async def _said(self, said: Said, bot: str) -> None:
        if said.direct:
            self._directory.note_direct(said.user, said.channel)
        if not (said.direct or said.mentions or await self._overheard(said)):
            return
        message = await self._read(said, bot)
        receipt = await self._chat.receive(message)
        if receipt.outcome == "task" and self._assistant.is_unnamed(said):
            self._whispers.later(self._assistant.name(said, message.text))

    async def _overheard(self, said: Said) -> bool:
        """Whether the bot listens to what was not said to it; a stranger who talks to others is let alone."""
        match self._settings.groups:
            case "mention":
                return False
            case "thread" if not said.threaded or not await self._takes_part(said.address):
                return False
        return await self._chat.admits(f"{CHANNEL}:{said.user}", said.address, said.company)

    async def _takes_part(self, address: Address) -> bool:
        which = SessionSelection(channel=CHANNEL, conversation=address.conversation, thread=address.thread or "")
        return bool(await self._rows.sessions(limit=1, which=which))

    async def _read(self, said: Said, bot: str) -> ChannelMessage:
        """The message as it is understood: people by their names, files by theirs."""
        forwarded = [quoted(one) for one in said.forwarded]
        written = "\n\n".join([said.text, *forwarded])
        names, files = await asyncio.gather(
            self._directory.names([said.user, *(user for user in mentioned(written) if user != bot)]),
            self._files(said.files),
        )
        return ChannelMessage(
            dedup_key=said.key,
            address=said.address,
            identity=f"{CHANNEL}:{said.user}",
            text=as_word(readable(written, names=names, bot=bot)),
            received_at=self._clock.now(),
            shown_name=names.get(said.user, ""),
            awaited_files=files,
            message_id=said.ts,
            direct=said.direct,
            company=said.company,
        )

    async def _files(self, files: Sequence[SlackFile]) -> tuple[AwaitedFile, ...]:
        return tuple(await asyncio.gather(*(self._file(file) for file in files if file.file_id)))

    async def _file(self, file: SlackFile) -> AwaitedFile:
        name, size = file.name, file.size_bytes
        if not name:
            try:
                async with asyncio.timeout(LOOKUP_SECONDS):
                    known = (await self._calls.call("files.info", file=file.file_id))["file"]
                name, size = str(known.get("name") or ""), known.get("size")
            except (ChannelError, TimeoutError):
                log.info("slack_file_has_no_name", file=file.file_id)
        return AwaitedFile(channel=CHANNEL, reference=file.file_id, name=name or file.file_id, size_bytes=size)

    async def _edited(self, changed: Edited) -> None:
        row = await self._rows.received(changed.key)
        if row is not None and row.outcome == "task":
            self._whispers.tell(changed.user, changed.address, NOT_FOLLOWED)
        elif row is None and changed.newly_mentions:
            self._whispers.tell(changed.user, changed.address, MENTION_IN_EDIT)

    async def _command(self, payload: Json) -> Json | None:
        """`/signoff …`: a word with or without its slash, or a request. Others do not see what was typed, so a request
        is confirmed."""
        user, channel = text(payload, "user_id"), text(payload, "channel_id")
        me = await self._directory.me()
        if not events.is_direct(channel) and not await self._is_in(channel):
            return {"response_type": "ephemeral", "text": INVITE_ME}
        typed = text(payload, "text").strip() or "help"
        names = await self._directory.names([user, *mentioned(typed)])
        words = readable(typed, names=names, bot=me.user)
        receipt = await self._chat.receive(
            ChannelMessage(
                dedup_key=events.key(payload, channel, f"command:{text(payload, 'trigger_id')}"),
                address=events.address(user, channel, None),
                identity=f"{CHANNEL}:{user}",
                text=f"/{words}" if is_word(words) else words,
                received_at=self._clock.now(),
                shown_name=names.get(user) or text(payload, "user_name"),
                direct=events.is_direct(channel),
                company=events.company(payload, me),
            )
        )
        if receipt.outcome == "task":
            return {"response_type": "ephemeral", "text": f"Noted, as task {receipt.task_id}."}
        return None

    async def _is_in(self, channel: str) -> bool:
        try:
            return bool((await self._calls.call("conversations.info", channel=channel))["channel"].get("is_member"))
        except ChannelError:
            return False

    async def _tried(self) -> None:
        """See whether the token still works; if not, the call reports it."""
        await self._calls.call("auth.test")

    @asynccontextmanager
    async def _in_turn(self, channel: str) -> AsyncIterator[None]:
        """Messages of a conversation one after the other, as they came; the two events of a mention, too."""
        queue = self._queues.setdefault(channel, asyncio.Lock())
        try:
            async with queue:
                yield
        finally:
            if not queue.locked():
                self._queues.pop(channel, None)


def quoted(forwarded: str) -> str:
    """A message that was sent along, told from what its sender writes."""
    return "Forwarded message:\n" + "\n".join(f"> {line}" for line in forwarded.splitlines())
