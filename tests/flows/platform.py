"""A chat platform in the same process, for the loop: files that can be had or not, and what it was shown."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

from agent.domain import Address, AwaitedFile, IncomingMessage
from agent.errors import ChannelError, ChannelUnavailable, DeliveryRefused
from agent.ports.channels import Feature, Outgoing, Shown
from tests.flows.engine import Engine

HERE = Address(channel="chat", conversation="C1", thread="1")
File = bytes | ChannelError


class Platform:
    """The channel `chat`. `files`: what each try of a reference gives, the last one again and again. Whatever it does
    takes until `open` is set; what it shows then ends with `failure`."""

    name = "chat"

    def __init__(self, *features: Feature, **files: Sequence[File]) -> None:
        self.features: frozenset[Feature] = frozenset(features)
        self.files = {reference: list(tries) for reference, tries in files.items()}
        self.asked: list[str] = []
        self.sent: list[Outgoing] = []
        self.shown: list[Shown] = []
        self.places: list[Address] = []
        self.finished = 0
        self.news = asyncio.Event()
        self.open = asyncio.Event()
        self.open.set()
        self.failure: Exception | None = None

    async def start(self) -> None: ...

    async def stop(self) -> None: ...

    async def send(self, outgoing: Outgoing) -> str | None:
        self.sent.append(outgoing)
        return f"message {len(self.sent)}"

    async def settle(self, outgoing: Outgoing, sent_as: str) -> None: ...

    async def progress(self, to: Address, shown: Shown) -> None:
        self.shown.append(shown)
        self.places.append(to)
        self.news.set()
        await self.open.wait()
        self.finished += 1
        if self.failure is not None:
            raise self.failure

    async def download(self, reference: str) -> bytes:
        self.asked.append(reference)
        self.news.set()
        await self.open.wait()
        tries = self.files[reference]
        file = tries.pop(0) if len(tries) > 1 else tries[0]
        if isinstance(file, ChannelError):
            raise file
        return file

    def routes(self) -> Sequence[Any]:
        return ()

    async def showed(self, count: int) -> Shown:
        """Wait for so many calls; the last of them."""
        await self._until(lambda: len(self.shown) >= count)
        return self.shown[count - 1]

    async def was_asked(self) -> None:
        """Wait until a file is fetched."""
        await self._until(lambda: bool(self.asked))

    async def _until(self, reached: Callable[[], bool]) -> None:
        async with asyncio.timeout(30):
            while not reached():
                self.news.clear()
                await self.news.wait()


def gone(reason: str = "The file was deleted.") -> DeliveryRefused:
    return DeliveryRefused(reason)


def busy(retry_after: float | None = None) -> ChannelUnavailable:
    return ChannelUnavailable("The platform is busy.", retry_after=retry_after)


def awaited(reference: str, name: str = "", channel: str = "chat", size_bytes: int | None = None) -> AwaitedFile:
    return AwaitedFile(channel=channel, reference=reference, name=name or f"{reference}.txt", size_bytes=size_bytes)


async def wrote(
    one: Engine,
    text: str,
    *files: AwaitedFile,
    key: str = "1",
    workspace: str = "office",
    to: Sequence[Address] = (HERE,),
) -> int:
    """Somebody wrote this in the chat, with these files; the task's id."""
    message = IncomingMessage(
        dedup_key=f"chat:{key}",
        address=to[0],
        sender="ann",
        text=text,
        origin="message",
        received_at=one.store.clock.now(),
        awaited_files=files,
        message_id=key,
        reply_to=tuple(to),
        workspace=workspace,
    )
    return (await one.inbox.accept(message)).task_id
