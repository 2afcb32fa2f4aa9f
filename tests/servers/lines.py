"""A chat platform of plain text over a TCP socket, one JSON object a line: no buttons, no edits, and it acknowledges.

What somebody writes is `{"id", "from", "name", "in", "text", "files", "quoted"}`; a conversation named like the sender
is one that nobody else reads. The channel answers `{"ack": id, "outcome", "task_id"}` once the event is durable or
`{"failed": id, "reason"}`, after which a platform sends it again. What the bot says is `{"in", "kind", "text"}`.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from agent.domain import Address, IncomingFile
from agent.errors import ChannelUnavailable, NotFound, SignoffError
from agent.ports.channels import ChannelMessage, Chat, Feature, Outgoing, Shown

LOOKS_SECONDS = 30


class Lines:
    """The channel `lines`."""

    name = "lines"
    features: frozenset[Feature] = frozenset()

    def __init__(self, chat: Chat) -> None:
        self._chat = chat
        self._server: asyncio.Server | None = None
        self._writers: set[asyncio.StreamWriter] = set()
        self._sent = 0

    @property
    def port(self) -> int:
        """Where it listens."""
        assert self._server is not None
        port: int = self._server.sockets[0].getsockname()[1]
        return port

    async def start(self) -> None:
        """Listen on loopback."""
        self._server = await asyncio.start_server(self._connected, "127.0.0.1", 0)

    async def stop(self) -> None:
        """Hang up."""
        if self._server is not None:
            self._server.close()
        for writer in self._writers:
            writer.close()
        self._server = None

    async def send(self, outgoing: Outgoing) -> str | None:
        """Say it to everybody who is connected."""
        if self._server is None:
            raise ChannelUnavailable("Nobody listens.")
        self._sent += 1
        delivery = outgoing.delivery
        said = {"in": delivery.to.conversation, "kind": delivery.kind, "text": outgoing.text}
        for writer in self._writers:
            await _write(writer, said)
        return str(self._sent)

    async def settle(self, outgoing: Outgoing, sent_as: str) -> None:
        """What was said stays as it is."""

    async def progress(self, to: Address, shown: Shown) -> None:
        """Nothing is shown of it."""

    async def download(self, reference: str) -> bytes:
        """Files come with the message."""
        raise NotFound(f"There is no file {reference}.")

    def routes(self) -> Sequence[Any]:
        """None."""
        return ()

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.add(writer)
        try:
            while line := await reader.readline():
                await _write(writer, await self._answer(json.loads(line)))
        finally:
            self._writers.discard(writer)
            writer.close()

    async def _answer(self, event: dict[str, Any]) -> dict[str, Any]:
        """The event border of this channel."""
        try:
            receipt = await self._chat.receive(self._message(event))
        except SignoffError as error:
            return {"failed": event["id"], "reason": str(error)}
        return {"ack": event["id"], "outcome": receipt.outcome, "task_id": receipt.task_id}

    def _message(self, event: dict[str, Any]) -> ChannelMessage:
        files = tuple(IncomingFile(name=name, content=text.encode()) for name, text in event["files"].items())
        return ChannelMessage(
            dedup_key=f"lines:{event['id']}",
            address=Address(channel=self.name, conversation=event["in"]),
            identity=f"{self.name}:{event['from']}",
            text=event["text"],
            received_at=datetime.now(UTC),
            shown_name=event["name"],
            files=files,
            direct=event["in"] == event["from"],
            quoted=event["quoted"],
        )


@dataclass(kw_only=True)
class Wire:
    """Everybody who writes on the platform."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    heard: list[dict[str, str]] = field(default_factory=list)
    acks: dict[str, dict[str, Any]] = field(default_factory=dict)
    said: int = 0

    async def say(self, who: str, text: str, **more: Any) -> dict[str, Any]:
        """Write something and wait until the channel has it; `id` repeats an event, `room` is where others read."""
        self.said += 1
        event = {
            "id": more.get("id", f"event-{self.said}"), "from": who, "name": more.get("name", who),
            "in": more.get("room", who), "text": text, "files": more.get("files", {}),
            "quoted": more.get("quoted", False),
        }  # fmt: skip
        await _write(self.writer, event)
        await self._until(lambda: event["id"] in self.acks)
        return self.acks.pop(event["id"])

    async def hears(self, part: str, *, room: str | None = None) -> str:
        """What the bot said with these words, which is then done with."""
        await self._until(lambda: self._index(part, room) is not None)
        index = self._index(part, room)
        assert index is not None
        return self.heard.pop(index)["text"]

    def _index(self, part: str, room: str | None) -> int | None:
        found = (n for n, one in enumerate(self.heard) if part in one["text"] and room in {None, one["in"]})
        return next(found, None)

    async def _until(self, reached: Any) -> None:
        while not reached():
            try:
                line = await asyncio.wait_for(self.reader.readline(), LOOKS_SECONDS)
            except TimeoutError:
                raise AssertionError(f"never heard; so far: {self.heard}") from None
            assert line, f"hung up; so far: {self.heard}"
            event = json.loads(line)
            if "text" in event:
                self.heard.append(event)
            else:
                self.acks[event.get("ack") or event["failed"]] = event


@asynccontextmanager
async def wired(lines: Lines) -> AsyncIterator[Wire]:
    """A connection to the platform while the block lasts."""
    reader, writer = await asyncio.open_connection("127.0.0.1", lines.port)
    try:
        yield Wire(reader=reader, writer=writer)
    finally:
        writer.close()


async def _write(writer: asyncio.StreamWriter, value: dict[str, Any]) -> None:
    writer.write(json.dumps(value).encode() + b"\n")
    await writer.drain()
