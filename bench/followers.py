"""G14: what 200 open event streams add to 50 running tasks, against the same tasks with nobody looking."""

from __future__ import annotations

import asyncio
import statistics
from dataclasses import dataclass
from functools import partial

import aiohttp
import orjson

from bench.fleet import Fleet, WrongAnswers
from bench.report import DIRECT, Row
from bench.servers import SignoffServer, run_command, start_signoff

_TASKS = 50
_PER_TASK = 4
_PIECES, _PAUSE_MS = 200, 100
"""An answer of 25 writes, so that a task streams for 2.5 s."""
_OPENING_SECONDS = 1.5
"""After which every task has begun and every stream is open."""
_STRETCH_SECONDS = 6
"""What a stretch takes in all, the same with streams and without; every task has ended by then."""
_MEBIBYTE = 2**20


@dataclass(frozen=True, kw_only=True, slots=True)
class _Stretch:
    """What 50 tasks took."""

    cpu_ms: float
    mebibytes: float
    events: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class _Client:
    """Asks for tasks and follows them, by the operator's token."""

    http: aiohttp.ClientSession
    server: SignoffServer
    token: str

    async def task(self, text: str) -> int:
        """Ask for a task."""
        body = {"text": text, "workspace": "bench"}
        async with self.http.post(f"{self.server.url}/v1/tasks", json=body, headers=self._headers) as response:
            response.raise_for_status()
            task_id: int = (await response.json())["task_id"]
            return task_id

    async def follow(self, task_id: int) -> list[str]:
        """The kinds of the events of a task, until it is done; WrongAnswers when it ends otherwise."""
        kinds, last = [], b""
        url = f"{self.server.url}/v1/tasks/{task_id}/events"
        async with self.http.get(url, headers=self._headers) as response:
            response.raise_for_status()
            async for line in response.content:
                if line.startswith(b"event: "):
                    kinds.append(line[7:].decode().strip())
                elif line.startswith(b"data: "):
                    last = line[6:]
        if kinds.count("entry") < 2 or orjson.loads(last).get("status") != "done":
            raise WrongAnswers(f"The stream of task {task_id} brought {kinds} and ended with {last[:200]!r}.")
        return kinds

    async def done(self, task_id: int) -> bool:
        """Whether it is."""
        async with self.http.get(f"{self.server.url}/v1/tasks/{task_id}", headers=self._headers) as response:
            return bool((await response.json())["status"] == "done")

    @property
    def _headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.token}"}


async def measure(fleet: Fleet) -> list[Row]:
    """Measure on a fresh server, stretches with streams and without in turn."""
    starter = partial(start_signoff, fleet.http, model_url=fleet.model.url, transport="direct")
    server = await fleet.start("followers", starter)
    made = await run_command("people", "token", "operator", "--json", "--config", str(server.config))
    await fleet.model.set(chunks=_PIECES, pause=_PAUSE_MS)
    client = _Client(http=fleet.http, server=server, token=orjson.loads(made)["token"])
    await _stretch(fleet, client, 0)  # what a server has after its first tasks is not the streams'
    pairs = [
        (await _stretch(fleet, client, 0), await _stretch(fleet, client, _PER_TASK)) for _ in range(fleet.size(5, 1))
    ]
    await fleet.model.set()
    await server.process.stop()
    return _rows(pairs)


def _rows(pairs: list[tuple[_Stretch, _Stretch]]) -> list[Row]:
    alone, followed = f"{DIRECT}, none", f"{_TASKS * _PER_TASK} streams"
    added = statistics.median(much.cpu_ms - bare.cpu_ms for bare, much in pairs)
    cpu = {
        alone: statistics.median(bare.cpu_ms for bare, _ in pairs),
        followed: statistics.median(much.cpu_ms for _, much in pairs),
        "added": added,
        "added, µs an event": added * 1000 / statistics.median(much.events for _, much in pairs),
    }
    # What Python has once taken it keeps, so only the first pair can show what the streams take.
    bare, much = pairs[0]
    memory = {alone: bare.mebibytes, followed: much.mebibytes, "added": much.mebibytes - bare.mebibytes}
    return [
        Row(goal="G14", measure=f"CPU ms of {_TASKS} tasks", values=cpu),
        Row(goal="G14", measure=f"resident MB in {_TASKS} tasks", values=memory),
    ]


async def _stretch(fleet: Fleet, client: _Client, per_task: int) -> _Stretch:
    """Run the tasks with so many streams each."""
    process, clock = client.server.process, asyncio.get_running_loop().time
    cpu, end = process.cpu_seconds(), clock() + _STRETCH_SECONDS
    texts = [message.text for message in fleet.load.messages(_TASKS)]
    tasks = await asyncio.gather(*[client.task(text) for text in texts])
    async with asyncio.TaskGroup() as group:
        streams = [group.create_task(client.follow(task_id)) for task_id in tasks for _ in range(per_task)]
        await asyncio.sleep(_OPENING_SECONDS)
        memory = process.rss_bytes()
        if any(stream.done() for stream in streams):
            raise WrongAnswers("A stream had ended before all were open.")
    await asyncio.sleep(end - clock())
    spent = process.cpu_seconds() - cpu
    if not all(await asyncio.gather(*map(client.done, tasks))):
        raise WrongAnswers(f"Not all of {_TASKS} tasks were done within {_STRETCH_SECONDS} s.")
    events = sum(len(stream.result()) for stream in streams)
    return _Stretch(cpu_ms=spent * 1000, mebibytes=memory / _MEBIBYTE, events=events)
