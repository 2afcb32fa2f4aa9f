"""A delivery on its way: which of its parts arrived, and the next one.

Each part is named in the metadata of its message and, before the next is sent, in the delivery's row: an attempt that
ended in the middle goes on there, and one whose end is unknown is looked for in Slack before anything is repeated.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, timedelta
from typing import Protocol

import structlog

from agent.ports.channels import Outgoing
from channels.slack.calls import Calls, Json, SlackRefused
from channels.slack.messages import Message, Sent, metadata, sent, tagged

log = structlog.get_logger()

CLOCKS_APART = timedelta(minutes=1)
"""Ours and Slack's, at the most."""
PAGES, PAGE = 10, 200
"""Messages that are looked through for one of ours: what was written since the task was made."""

THREAD_GONE = frozenset({"cannot_reply_to_message", "invalid_thread_ts", "thread_not_found"})
_NO_BLOCKS = frozenset({"invalid_blocks", "invalid_blocks_format", "msg_blocks_too_long", "msg_blocks_too_many"})


class Parts(Protocol):
    """Where it is written down how far a delivery is."""

    async def part_sent(self, delivery_id: int, sent_as: str) -> None:
        """Note that a part of a delivery arrived."""
        ...


class Attempt:
    """`channel` is the conversation's own id. `arrived` are parts by name and where they lie; `files` are ids and names
    of files that were found there."""

    def __init__(self, calls: Calls, parts: Parts, outgoing: Outgoing, channel: str) -> None:
        self._calls = calls
        self._parts = parts
        self._outgoing = outgoing
        self._unnoted: list[str] = []
        self.delivery_id = outgoing.delivery.delivery_id
        self.channel = channel
        self.thread = outgoing.delivery.to.thread
        noted = (part.partition(" ") for part in outgoing.delivery.parts)
        self.arrived = {name: where for name, _, where in noted}
        self.files: set[str] = set()

    async def look(self) -> None:
        """See in Slack what arrived. Where the bot may not look, the delivery is sent: at least once."""
        try:
            await self._look(self.thread)
        except SlackRefused as error:
            log.info("delivery_not_looked_for", code=error.code)

    async def post(self, name: str, message: Message) -> Sent:
        """Send a part, if it did not arrive; without blocks when Slack refuses them."""
        if name in self.arrived:
            return sent(self.arrived[name])
        try:
            return await self._post(name, {"text": message.text, "blocks": list(message.blocks)})
        except SlackRefused as error:
            if error.code not in _NO_BLOCKS or not message.plain:
                raise
            log.warning("blocks_refused", delivery=self.delivery_id, code=error.code)
            return await self.post_plain(name, message)

    async def post_plain(self, name: str, message: Message) -> Sent:
        """Send a part as plain text, all of it; the last piece has its name."""
        for number, text in enumerate(message.plain[:-1]):
            if f"{name}.{number}" not in self.arrived:
                await self._post(f"{name}.{number}", {"text": text})
        return await self._post(name, {"text": message.plain[-1]})

    def came(self, name: str, where: str) -> None:
        """A part arrived; written down before anything else is sent."""
        self.arrived[name] = where
        self._unnoted.append(name)

    async def note(self) -> None:
        """Write down what arrived."""
        while self._unnoted:
            name = self._unnoted[0]
            await self._parts.part_sent(self.delivery_id, f"{name} {self.arrived[name]}")
            del self._unnoted[0]

    async def _post(self, name: str, content: Json) -> Sent:
        await self.note()
        # What a link shows of itself would be fetched, from wherever the model says.
        content |= {"metadata": metadata(self.delivery_id, name), "unfurl_links": False, "unfurl_media": False}
        try:
            answer = await self._calls.call("chat.postMessage", channel=self.channel, **self.place, **content)
        except SlackRefused as error:
            if self.thread is None or error.code not in THREAD_GONE:
                raise
            self.thread = None
            answer = await self._calls.call("chat.postMessage", channel=self.channel, **content)
        place = Sent(channel=str(answer["channel"]), ts=str(answer["ts"]))
        self.channel = place.channel
        self.came(name, str(place))
        return place

    @property
    def place(self) -> Json:
        """The thread, as most methods want it."""
        return {"thread_ts": self.thread} if self.thread else {}

    async def _look(self, thread: str | None) -> None:
        try:
            async for found in self._pages(thread):
                self.arrived |= {
                    part: str(Sent(channel=self.channel, ts=ts)) for part, ts in tagged(found, self.delivery_id)
                }
                files = [file for message in found for file in message.get("files") or []]
                self.files |= {str(file.get(key)) for file in files for key in ("id", "name")}
        except SlackRefused as error:
            if thread is None or error.code not in THREAD_GONE:
                raise
            await self._look(None)

    async def _pages(self, thread: str | None) -> AsyncIterator[list[Json]]:
        method = "conversations.replies" if thread else "conversations.history"
        where = {"channel": self.channel, **({"ts": thread} if thread else {})}
        task = self._outgoing.task
        if task is not None:
            where["oldest"] = f"{(task.created_at - CLOCKS_APART).astimezone(UTC).timestamp():.6f}"
        cursor = ""
        for _ in range(PAGES):
            more = {"cursor": cursor} if cursor else {}
            answer = await self._calls.call(method, include_all_metadata=True, limit=PAGE, **where, **more)
            yield answer.get("messages") or []
            cursor = str((answer.get("response_metadata") or {}).get("next_cursor") or "")
            if not cursor:
                return
