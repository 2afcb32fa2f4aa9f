"""A whole running Signoff with two members who share nothing, and a program of each that holds a token."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp

from agent.domain import OPERATOR, TaskStatus
from bot.api import access
from bot.api.viewer import SCOPES, Scope, Viewer, terminal, viewer
from bot.app import App, started
from bot.config import load_config
from tests.servers.llm import FakeLLM

HOMES = {"ann": "annes", "bob": "bobs"}


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What came back."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def error(self) -> dict[str, str]:
        """The error, after a look at its shape."""
        error = self.json["error"]
        assert self.json == {"error": error}
        assert {"code", "message"} <= set(error) <= {"code", "message", "field"}
        return dict(error)


@dataclass(kw_only=True)
class Site:
    """The server as programs see it. `who` of a request is a member's name, whose token may do what their roles allow;
    None sends no token."""

    app: App
    http: aiohttp.ClientSession
    model: FakeLLM
    home: Path
    tokens: dict[str, str] = field(default_factory=dict)

    async def ask(self, who: str | None, method: str, path: str, **sent: Any) -> Answer:
        headers = sent.pop("headers", {})
        if who is not None:
            headers = {"Authorization": f"Bearer {await self.token(who)}"} | headers
        async with self.http.request(method, self.app.url + path, headers=headers, **sent) as answer:
            return Answer(status=answer.status, headers=answer.headers, body=await answer.read())

    async def get(self, who: str | None, path: str, **sent: Any) -> Answer:
        return await self.ask(who, "GET", path, **sent)

    async def post(self, who: str | None, path: str, body: Any = None, **sent: Any) -> Answer:
        return await self.ask(who, "POST", path, json=body, **sent)

    async def token(self, who: str, scopes: Iterable[Scope] | None = None) -> str:
        """A token with all that a member's roles allow, or with these scopes."""
        if scopes is None and who in self.tokens:
            return self.tokens[who]
        services = self.app.services
        operator = terminal(services.people, services.workspaces)
        wanted = (await self.viewer(who)).scopes if scopes is None else scopes
        _, text = await access.make_token(services, operator, who, wanted)
        if scopes is None:
            self.tokens[who] = text
        return text

    async def viewer(self, who: str) -> Viewer:
        services = self.app.services
        return viewer(await services.people.member(who), services.workspaces, way="api", scopes=SCOPES)

    async def task(self, who: str, text: str = "go", **body: Any) -> int:
        """Ask for something; the task's id."""
        answer = await self.post(who, "/v1/tasks", {"text": text, **body})
        assert answer.status == 201, answer.body
        return int(answer.json["task_id"])

    async def reached(self, task_id: int, status: TaskStatus) -> None:
        """Wait until a task has a status."""
        for _ in range(1500):
            if (found := (await self.app.services.store.task(task_id)).status) == status:
                return
            await asyncio.sleep(0.01)
        raise AssertionError(f"task {task_id} stayed {found}, not {status}")


@asynccontextmanager
async def running(
    home: Path, model: FakeLLM | None = None, *, model_id: str = "fake", **http: Any
) -> AsyncIterator[Site]:
    """Start Signoff in a folder; `http` goes into that section of its configuration."""
    fake = model or FakeLLM()
    if not fake.base_url:
        await fake.start()
    path = configured(home, fake.base_url, model_id=model_id, **http)
    try:
        async with started(load_config(path)) as app, aiohttp.ClientSession() as client:
            yield Site(app=app, http=client, model=fake, home=home)
    finally:
        if model is None:
            await fake.close()


def configured(home: Path, base_url: str, *, model_id: str = "fake", **http: Any) -> Path:
    """Write a configuration in which Ann and Bob each have a workspace; its path."""
    for folder in HOMES.values():
        (home / folder).mkdir(exist_ok=True)
    settings = {
        "bot": {"data_dir": str(home / "data"), "grace_seconds": 0, "http": {"port": 0, **http}},
        "agent": {"model": "fake", "models": {"fake": {"model": f"openai/{model_id}", "api_base": base_url}}},
        "people": [{"name": name, "roles": ["approver"]} for name in HOMES],
        "workspaces": {
            folder: {"path": str(home / folder), "channels": [f"console:{name}"]} for name, folder in HOMES.items()
        },
    }
    path = home / "config.yaml"
    path.write_text(json.dumps(settings))
    return path


ADMIN = OPERATOR.name
