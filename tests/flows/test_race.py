"""Two hundred people press at the same moment, on two processes over one PostgreSQL."""

from __future__ import annotations

import asyncio
import json
import signal
import socket
import subprocess
import sys
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import yaml

from agent.domain import OPERATOR, TaskStatus
from bot.api import access
from bot.api.viewer import terminal
from bot.config import load_config
from bot.services import Services, connected
from tests.servers import postgres
from tests.storage import given

pytestmark = [pytest.mark.slow, pytest.mark.postgres, pytest.mark.xdist_group("postgres")]
ROOT = Path(__file__).parents[2]
PEOPLE = [f"p{number:03}" for number in range(200)]
CALL = {"name": "write_file", "arguments": {"path": "a.md", "content": "A\n"}}
SCRIPT = [{"when": "", "turns": [{"calls": [CALL]}, {"text": "Over."}]}]


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What somebody was told who pressed."""

    name: str
    verdict: str
    status: int
    body: Any


@dataclass(frozen=True, kw_only=True)
class House:
    """Two servers on one database, of which each person uses one, and everybody's token."""

    services: Services
    urls: Sequence[str]
    http: aiohttp.ClientSession
    tokens: Mapping[str, str]

    async def post(self, name: str, path: str, body: Any) -> tuple[int, Any]:
        """A request of somebody."""
        url = self.urls[name in PEOPLE[::2]]
        headers = {"Authorization": f"Bearer {self.tokens[name]}"}
        async with self.http.post(url + path, json=body, headers=headers) as answer:
            return answer.status, await answer.json()

    async def asked(self) -> int:
        """A task that waits for a person; its first card has the same number."""
        status, task = await self.post(OPERATOR.name, "/v1/tasks", {"text": "go", "workspace": "office"})
        assert status == 201, task
        return await self.reached(int(task["task_id"]), "waiting_approval")

    async def reached(self, task_id: int, status: TaskStatus) -> int:
        """Wait until a task has a status."""
        for _ in range(3000):
            if (found := (await self.services.store.task(task_id)).status) == status:
                return task_id
            await asyncio.sleep(0.02)
        raise AssertionError(f"task {task_id} stayed {found}, not {status}")

    async def all_press(self, card: int, verdicts: Sequence[str]) -> list[Answer]:
        """Everybody at once, with these verdicts in turn."""

        async def press(name: str, verdict: str) -> Answer:
            status, body = await self.post(name, f"/v1/approvals/{card}/decision", {"verdict": verdict})
            return Answer(name=name, verdict=verdict, status=status, body=body)

        wanted = (verdicts[place % len(verdicts)] for place in range(len(PEOPLE)))
        return await asyncio.gather(*map(press, PEOPLE, wanted))


@pytest.fixture
def database() -> Iterator[str]:
    if not postgres.available():
        pytest.skip(f"no PostgreSQL 15 in {postgres.BINARIES}")
    running = postgres.start()
    try:
        running.sql("CREATE DATABASE race")
        yield running.url("race")
    finally:
        running.stop()


@pytest.fixture
async def house(request: pytest.FixtureRequest, tmp_path: Path, database: str) -> AsyncIterator[House]:
    """The parameter says how many must approve."""
    (tmp_path / "office").mkdir()
    (tmp_path / "script.yaml").write_text(yaml.safe_dump(SCRIPT))
    configs = [configured(tmp_path, name, database, request.param) for name in ("one", "two")]
    with ExitStack() as servers:
        urls = [servers.enter_context(serving(config)) for config in configs]
        async with (
            connected(load_config(configs[0])) as services,
            aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as http,
        ):
            operator = terminal(services.people, services.workspaces)
            tokens = {
                name: (await access.make_token(services, operator, name, ["tasks:write", "approvals:decide"]))[1]
                for name in (OPERATOR.name, *PEOPLE)
            }
            yield House(services=services, urls=urls, http=http, tokens=tokens)


def configured(home: Path, name: str, database: str, quorum: int) -> Path:
    """Both serve the same folders, each on a port of its own."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    settings = {
        "bot": {"data_dir": str(home / "data"), "grace_seconds": 0, "http": {"port": port}},
        "storage": {"url": database},
        "agent": {
            "model": "script",
            "models": {"script": {"model": "scripted/script.yaml"}},
            "policy": {"file:write": {"ask": ["approver"], "by": quorum}},
        },
        "people": [{"name": person, "roles": ["approver"]} for person in PEOPLE],
        "workspaces": {"office": {"path": str(home / "office"), "channels": ["console:*"]}},
    }
    path = home / f"{name}.yaml"
    path.write_text(yaml.safe_dump(settings))
    return path


@contextmanager
def serving(config: Path) -> Iterator[str]:
    """A server in a process of its own; its address."""
    command = [sys.executable, "-m", "bot", "run", "--config", str(config)]
    with config.with_suffix(".log").open("wb") as log:
        process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=log, text=True)
    assert process.stdout is not None
    url = ""
    for line in process.stdout:
        if line.startswith("console: "):
            url = line.split()[1].partition("/login/")[0]
        if line == "ready\n":
            break
    try:
        yield url
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=30)


@pytest.mark.parametrize("house", [1], indirect=True)
@pytest.mark.parametrize("verdicts", [("approved",), ("approved", "denied")], ids=["all approve", "half deny"])
async def test_one_verdict_and_199_truthful_answers(house: House, tmp_path: Path, verdicts: Sequence[str]) -> None:
    """One press counts, and what it says happens once; everybody else is told who was first, and what that was."""
    card = await house.asked()
    answers = await house.all_press(card, verdicts)
    [winner] = [answer for answer in answers if answer.status == 200]
    assert winner.body["status"] == winner.verdict
    [told] = {str(answer.body) for answer in answers if answer is not winner}
    assert f"Approval {card} was already decided by {winner.name}: {winner.verdict}." in told
    assert {answer.status for answer in answers if answer is not winner} == {409}
    await house.reached(card, "done")
    state = await house.services.store.load(card)
    results = [entry.data["status"] for entry in state.entries if entry.kind == "tool"]
    assert results == ["done" if winner.verdict == "approved" else "denied"]
    assert [path.read_text() for path in (tmp_path / "office").glob("*.md")] == ["A\n"] * (results == ["done"])
    assert [artifact.version for artifact in state.artifacts] == [1] * (results == ["done"])
    decisions = [entry.data for entry in state.entries if entry.kind == "decision"]
    assert {said["by"] for said in decisions} == set(PEOPLE), "every try is in the journal"
    assert Counter(said["verdict"] for said in decisions) == {winner.verdict: 1, "refused": 199}
    assert await outcomes(house) == {"decided": 1, "refused:already_decided": 199}


@pytest.mark.parametrize("house", [3], indirect=True)
async def test_three_votes_are_three_people(house: House, tmp_path: Path) -> None:
    """No vote is lost and none too many is counted, whoever's come first."""
    card = await house.asked()
    answers = await house.all_press(card, ["approved"])
    counted = [answer for answer in answers if answer.status == 200]
    assert len(counted) == 3
    await house.reached(card, "done")
    [call] = (await house.services.store.load(card)).calls
    assert sorted(call.votes) == sorted(answer.name for answer in counted)
    assert call.decided_by == call.votes[-1]
    [told] = {str(answer.body) for answer in answers if answer not in counted}
    assert f"was already decided by {call.decided_by}: approved." in told
    assert (tmp_path / "office/a.md").read_text() == "A\n"
    assert await outcomes(house) == {"decided": 3, "refused:already_decided": 197}


async def outcomes(house: House) -> dict[str, int]:
    """How many presses had which outcome."""
    statement = """SELECT json_object_agg(outcome, presses)::text FROM
        (SELECT outcome, count(*) AS presses FROM received WHERE kind = 'press' GROUP BY outcome) AS counted"""
    return dict(json.loads(await given.sql(house.services.store, statement)))
