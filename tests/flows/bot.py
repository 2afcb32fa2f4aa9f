"""A whole running Signoff with a strict model server behind it, as the people around it see it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import aiohttp

from agent.domain import OPERATOR, Approval, ButtonPress, Edit, Hook, Member, TaskStatus, Verdict
from agent.ports.clock import Clock
from agent.ports.store import TaskState
from bot.app import App, started
from bot.config import load_config
from channels.webhook import token_sha256
from tests.servers.llm import FakeLLM

TOKEN = "the-token-of-flows"
LOOKS = 1500
"""Looks at a task, 10 ms apart, before a test gives up on a state."""


@dataclass(kw_only=True)
class Bot:
    """The conversation of a test with a running Signoff."""

    app: App
    model: FakeLLM
    folder: Path
    http: aiohttp.ClientSession
    keys: Iterator[int] = field(default_factory=count)

    async def say(self, text: str, **body: Any) -> int:
        """Send a request to the hook and return its task's id."""
        headers = {"Authorization": f"Bearer {TOKEN}"}
        async with self.http.post(f"{self.app.url}/hooks/flow", json={"text": text, **body}, headers=headers) as answer:
            assert answer.status == 202, await answer.text()
            return int((await answer.json())["task_id"])

    async def ask(self, text: str, **body: Any) -> TaskState:
        """Send a request and wait until it has ended or waits for a person."""
        return await self.settled(await self.say(text, **body))

    async def status(self, task_id: int) -> dict[str, Any]:
        """What the hook tells about a task."""
        url = f"{self.app.url}/hooks/flow/tasks/{task_id}"
        async with self.http.get(url, headers={"Authorization": f"Bearer {TOKEN}"}) as answer:
            return dict(await answer.json())

    async def settled(self, task_id: int) -> TaskState:
        """The task once it has ended or waits for a person."""
        return await self.until(task_id, lambda state: state.task.status not in {"queued", "running"})

    async def reached(self, task_id: int, status: TaskStatus) -> TaskState:
        """The task once it has a status."""
        return await self.until(task_id, lambda state: state.task.status == status)

    async def until(self, task_id: int, reached: Callable[[TaskState], bool]) -> TaskState:
        """The task once a condition holds for its rows."""
        for _ in range(LOOKS):
            state = await self.app.services.store.load(task_id)
            if reached(state):
                return state
            await asyncio.sleep(0.01)
        raise AssertionError(f"task {task_id} stayed {state.task.status} ({state.task.error_text})")

    async def press(
        self, approval: Approval, verdict: Verdict = "approved", *, by: Member = OPERATOR, **fields: Any
    ) -> Approval:
        """Decide on a card; `fields` are those of a press: items, reason, outcome, revision."""
        services = self.app.services
        press = ButtonPress(
            dedup_key=f"press:{next(self.keys)}",
            presser=by,
            verdict=verdict,
            pressed_at=services.clock.now(),
            token=approval.token,
            **fields,
        )
        return await services.approvals.decide(press)

    async def edit(self, approval: Approval, *, item: int = 1, by: Member = OPERATOR, **arguments: Any) -> Approval:
        """Put other arguments into an item of a card."""
        return await self.app.services.approvals.edit(self.edit_of(approval, arguments, item=item, by=by))

    def edit_of(
        self, approval: Approval, arguments: dict[str, Any] | str, *, item: int = 1, by: Member = OPERATOR
    ) -> Edit:
        """Arguments beside those that an item has, or a text in place of them."""
        if isinstance(arguments, dict):
            now = json.loads(next(call.arguments for call in approval.items if call.item == item))
            arguments = json.dumps(now | arguments)
        return Edit(
            dedup_key=f"edit:{next(self.keys)}",
            editor=by,
            edited_at=self.app.services.clock.now(),
            approval_id=approval.approval_id,
            item=item,
            arguments=arguments,
            revision=approval.revision,
        )

    async def approve(self, task_id: int, **fields: Any) -> TaskState:
        """Approve whatever waits in a task, and wait until it has ended or waits again."""
        await self.press(await self.card(task_id), "approved", **fields)
        return await self.settled(task_id)

    async def deny(self, task_id: int, **fields: Any) -> TaskState:
        """Deny it."""
        await self.press(await self.card(task_id), "denied", **fields)
        return await self.settled(task_id)

    async def card(self, task_id: int) -> Approval:
        """The open card of a task."""
        state = await self.reached(task_id, "waiting_approval")
        return next(approval for approval in state.approvals if approval.status == "open")

    def file(self, path: str, content: str | bytes | None = None) -> str:
        """Put a file into the workspace, or read one."""
        place = self.folder / path
        if content is not None:
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(content.encode() if isinstance(content, str) else content)
        return place.read_text()

    def files(self) -> list[str]:
        """The files of the workspace, without the system's own."""
        found = (path.relative_to(self.folder) for path in self.folder.rglob("*") if path.is_file())
        return sorted(str(path) for path in found if path.parts[0] != ".signoff")

    async def person(self, name: str) -> Member:
        """Somebody of the configuration."""
        return await self.app.services.people.member(name)

    def decisions(self, state: TaskState) -> list[dict[str, Any]]:
        """What people did with the task's cards, in the order of the journal."""
        return [entry.data for entry in state.entries if entry.kind == "decision"]

    def results(self, state: TaskState) -> list[tuple[str, str]]:
        """Status and text of every tool result, in the order of the journal."""
        return [(entry.data["status"], entry.data["text"]) for entry in state.entries if entry.kind == "tool"]


@asynccontextmanager
async def running(
    home: Path,
    *,
    model: FakeLLM | None = None,
    clock: Clock | None = None,
    people: Sequence[dict[str, Any]] = (),
    **agent: Any,
) -> AsyncIterator[Bot]:
    """Start Signoff in a folder with these people; `agent` goes into that section of its configuration."""
    fake = model or FakeLLM()
    if not fake.base_url:
        await fake.start()
    try:
        config = configured(home, fake.base_url, people=people, **agent)
        async with started(load_config(config), clock) as app, aiohttp.ClientSession() as http:
            hook = Hook(name="flow", token_sha256=token_sha256(TOKEN), workspace="office")
            await app.services.store.save_hook(hook)
            yield Bot(app=app, model=fake, folder=home / "office", http=http)
    finally:
        if model is None:
            await fake.close()
    assert fake.refusals == [], "a strict provider refused a request"


def configured(
    home: Path, base_url: str, *, url: str | None = None, people: Sequence[dict[str, Any]] = (), **agent: Any
) -> Path:
    """Write a configuration for a workspace `office` and a model server; its path."""
    (home / "office").mkdir(exist_ok=True)
    models = {"fake": {"model": "openai/fake", "api_base": base_url}}
    settings: dict[str, Any] = {
        "bot": {"data_dir": str(home / "data"), "grace_seconds": 1, "http": {"port": 0}},
        "storage": {"url": url},
        "agent": {"model": "fake", "models": models, **agent},
        "people": list(people),
        "workspaces": {"office": {"path": str(home / "office"), "channels": ["cli:*", "webhook:flow"]}},
    }
    path = home / "config.yaml"
    path.write_text(json.dumps(settings))
    return path


def tool_texts(request: dict[str, Any]) -> Sequence[str]:
    """The tool results in a request that the model server got."""
    return [message["content"] for message in request["messages"] if message["role"] == "tool"]
