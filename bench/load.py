"""The load generator: sends messages to a server, checks each answer, and says what it cost."""

from __future__ import annotations

import asyncio
import itertools
import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import aiohttp
import orjson

from bench.processes import Process

_TIMEOUT = aiohttp.ClientTimeout(total=90)
# What a server does right after an answer (Signoff: mark it as sent) is part of the turn's cost.
_AFTERMATH_SECONDS = 0.1


@dataclass(frozen=True, kw_only=True, slots=True)
class Message:
    """One message with its own marker, in a session of its own unless it follows up an earlier answer."""

    marker: str
    text: str
    follows: Answer | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Answer:
    """What came back; `task` is how the server wants the next message of the session to name this one."""

    text: str
    task: Any = None


class Target(Protocol):
    """A server under test and how it is spoken to."""

    @property
    def name(self) -> str:
        """What it is called in messages."""
        ...

    @property
    def process(self) -> Process:
        """Where it runs."""
        ...

    def request(self, message: Message) -> dict[str, Any]:
        """The arguments of aiohttp's `post`."""
        ...

    def answer(self, message: Message, body: Any) -> Answer:
        """Read the JSON of a 200; ValueError when it holds no answer."""
        ...


@dataclass(kw_only=True, slots=True)
class Sample:
    """One stretch of load: `latencies` in ms, sorted; CPU of the server with its children."""

    sent: int
    seconds: float = 0.0
    cpu_seconds: float = 0.0
    latencies: list[float] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    last: Answer | None = None

    @property
    def cpu_ms(self) -> float:
        """CPU per answered message."""
        return self.cpu_seconds * 1000 / max(1, len(self.latencies))

    @property
    def per_second(self) -> float:
        """Answers per second."""
        return len(self.latencies) / self.seconds

    def quantile(self, share: float) -> float:
        """The latency that this share of the messages did not exceed, in ms."""
        index = max(0, math.ceil(share * len(self.latencies)) - 1)
        return self.latencies[index] if self.latencies else math.nan


class Load:
    """Sends messages over one HTTP session; markers are unique in a run."""

    def __init__(self, http: aiohttp.ClientSession) -> None:
        self._http = http
        self._numbers = itertools.count(1)

    def messages(self, count: int, text: str = "hello there") -> list[Message]:
        """Messages that each open a session."""
        return [self.message(text) for _ in range(count)]

    def message(self, text: str = "hello there", follows: Answer | None = None) -> Message:
        """One message; without a text, its marker is its only word."""
        marker = f"marker-{next(self._numbers)}"
        return Message(marker=marker, text=f"{text} {marker}".strip(), follows=follows)

    async def send(self, target: Target, messages: Sequence[Message], concurrency: int = 1) -> Sample:
        """Send the messages, `concurrency` at once."""
        sample = Sample(sent=len(messages))
        queue = iter(messages)
        cpu, start = target.process.cpu_seconds(), time.perf_counter()
        async with asyncio.TaskGroup() as senders:
            for _ in range(min(concurrency, len(messages))):
                senders.create_task(self._send_all(target, queue, sample))
        sample.seconds = time.perf_counter() - start
        await asyncio.sleep(_AFTERMATH_SECONDS)
        sample.cpu_seconds = target.process.cpu_seconds() - cpu
        sample.latencies.sort()
        return sample

    async def converse(self, target: Target, turns: int, follows: Answer | None = None) -> Sample:
        """Send `turns` messages one after the other in one session, a new one unless it `follows` an answer."""
        sample = Sample(sent=turns, last=follows)
        cpu, start = target.process.cpu_seconds(), time.perf_counter()
        for _ in range(turns):
            sample.last = await self._timed(target, self.message(follows=sample.last), sample)
        sample.seconds = time.perf_counter() - start
        await asyncio.sleep(_AFTERMATH_SECONDS)
        sample.cpu_seconds = target.process.cpu_seconds() - cpu
        sample.latencies.sort()
        return sample

    async def _send_all(self, target: Target, queue: Iterator[Message], sample: Sample) -> None:
        for message in queue:
            await self._timed(target, message, sample)

    async def _timed(self, target: Target, message: Message, sample: Sample) -> Answer | None:
        start = time.perf_counter()
        try:
            answer = await self._ask(target, message)
        except (aiohttp.ClientError, TimeoutError, ValueError) as error:
            sample.errors.append(f"{type(error).__name__}: {error}"[:300])
            return None
        sample.latencies.append((time.perf_counter() - start) * 1000)
        return answer

    async def _ask(self, target: Target, message: Message) -> Answer:
        async with self._http.post(**target.request(message), timeout=_TIMEOUT) as response:
            body = await response.read()
            if response.status != 200:
                raise ValueError(f"HTTP {response.status}: {body[:200]!r}")
        answer = target.answer(message, orjson.loads(body))
        if answer.text.split(maxsplit=1)[:1] != [message.marker]:
            raise ValueError(f"{message.marker} was answered with {answer.text[:60]!r}")
        return answer
