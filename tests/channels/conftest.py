"""Hooks on a real server, over a real store; the test plays the worker."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from agent.domain import Entry, Hook, Task, TaskStatus, Usage
from agent.inbox import TaskInbox
from agent.ports.channels import Channel
from agent.ports.store import NewArtifact, RunKey, Step
from bot.server import Health, Server
from channels.outcomes import Outcomes
from channels.webhook import Webhook, token_sha256
from storage.blobs import FileBlobs
from storage.store.sql import SqlStore, open_store
from tests.clock import FakeClock
from tools.workspace.directory import WorkspaceDirectory

TOKEN = "the-token-of-orders"
MAX_BODY = 64 * 1024
DAY = timedelta(days=1)


@dataclass(kw_only=True)
class Site:
    """A server with the hook `orders`, and what the worker would do to its tasks."""

    url: str
    store: SqlStore
    blobs: FileBlobs
    clock: FakeClock
    inbox: TaskInbox
    webhook: Webhook
    outcomes: Outcomes
    health: Health
    client: aiohttp.ClientSession
    folder: Path

    async def post(self, body: object, *, hook: str = "orders", query: str = "", **headers: str) -> Answer:
        """Send JSON with the hook's token, or bytes as they are."""
        sent = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"} | {
            name.replace("_", "-"): value for name, value in headers.items()
        }
        data = body if isinstance(body, bytes) else aiohttp.JsonPayload(body)
        async with self.client.post(f"{self.url}/hooks/{hook}{query}", data=data, headers=sent) as answer:
            return await Answer.of(answer)

    async def get(self, path: str, token: str = TOKEN) -> Answer:
        async with self.client.get(self.url + path, headers={"Authorization": f"Bearer {token}"}) as answer:
            return await Answer.of(answer)

    async def save_hook(self, **changes: object) -> None:
        hook = Hook(name="orders", token_sha256=token_sha256(TOKEN), workspace="office")
        await self.store.save_hook(replace(hook, **changes))  # type: ignore[arg-type]

    async def tasks(self) -> list[Task]:
        return await self.store.tasks()

    async def end(
        self, task_id: int, status: TaskStatus = "done", *, answer: str = "", code: str | None = None
    ) -> None:
        """Claim whatever is runnable and end one task."""
        for state in await self.store.claim("test", 10):
            if state.task.task_id == task_id:
                run = RunKey(task_id=task_id, owner="test", epoch=state.task.epoch)
        await self.store.advance(
            run,
            Step(
                entries=(Entry(kind="status", data={"status": status}),),
                usage=(Usage(model="x/y", input_tokens=1, output_tokens=1, cost_usd=None),),
                artifacts=(await self.artifact(),) if status == "done" else (),
                status=status,
                answer=answer,
                error_code=code,
                error_text=None if code is None else "It went wrong.",
            ),
        )

    async def artifact(self) -> NewArtifact:
        content = b"a,b\n1,2\n"
        return NewArtifact(
            name="Ergebnis Q1.csv",
            path="reports/Ergebnis Q1.csv",
            media_type="text/csv",
            size_bytes=len(content),
            sha256=await self.blobs.put(content),
        )


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What came back; `json` is empty when it was something else."""

    status: int
    headers: dict[str, str]
    body: bytes
    json: dict[str, Any]

    @classmethod
    async def of(cls, answer: aiohttp.ClientResponse) -> Answer:
        body = await answer.read()
        json = await answer.json() if answer.content_type == "application/json" else {}
        return cls(status=answer.status, headers=dict(answer.headers), body=body, json=json)

    @property
    def error(self) -> dict[str, object]:
        """The error, after a look at its shape."""
        error = self.json["error"]
        assert isinstance(error, dict)
        assert {"code", "message"} <= set(error) <= {"code", "message", "field"}
        assert self.json == {"error": error}
        return error

    @property
    def task_id(self) -> int:
        task_id = self.json["task_id"]
        assert isinstance(task_id, int)
        return task_id


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqlStore]:
    store = await open_store(tmp_path / "signoff.sqlite3", clock=FakeClock())
    yield store
    await store.close()


@pytest.fixture
async def site(store: SqlStore, tmp_path: Path) -> AsyncIterator[Site]:
    clock = store.clock
    assert isinstance(clock, FakeClock)
    (tmp_path / "office").mkdir()
    workspaces = WorkspaceDirectory(
        {"office": str(tmp_path / "office")}, {"office": ["webhook:orders"]}, private_folder=str(tmp_path / "private")
    )
    blobs = FileBlobs(tmp_path / "blobs")
    inbox = TaskInbox(store=store, workspaces=workspaces)
    outcomes = Outcomes(store, None)
    webhook = Webhook(inbox, store, outcomes, store.doorbell, blobs, clock)
    channels: list[Channel] = [webhook]
    health = Health(listings=store)
    server = Server(health, channels, max_body=MAX_BODY)
    port = await server.start("127.0.0.1", 0)
    async with aiohttp.ClientSession() as client:
        site = Site(
            url=f"http://127.0.0.1:{port}",
            store=store,
            blobs=blobs,
            clock=clock,
            inbox=inbox,
            webhook=webhook,
            outcomes=outcomes,
            health=health,
            client=client,
            folder=tmp_path,
        )
        await site.save_hook()
        yield site
    await server.close()
