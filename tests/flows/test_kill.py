"""Kill -9 at every step of the way: nothing is lost, nothing approved runs twice, nothing is told twice."""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import signal
from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import yaml
from aiohttp import web

from agent import history
from agent.domain import Hook
from agent.ports.store import TaskState
from channels.callback import new_secret
from channels.webhook import token_sha256
from storage.store.sql import open_store
from tests.agent.legal import refusal
from tests.clock import FakeClock
from tests.flows.bot import configured
from tests.flows.mortal import live

pytestmark = pytest.mark.slow

LIVES = multiprocessing.get_context("forkserver")
LIVES.set_forkserver_preload(["tests.flows.mortal"])

SCRIPT = [
    {"calls": [{"name": "read_file", "arguments": {"path": "in.txt"}}]},
    {
        "text": "Two changes.",
        "calls": [
            {"name": "write_file", "arguments": {"path": "a.md", "content": "one\n"}},
            {"name": "memory_write", "arguments": {"content": "- a fact\n", "mode": "append"}},
        ],
    },
    {
        "calls": [
            {"name": "edit_file", "arguments": {"path": "a.md", "old": "one", "new": "two"}},
            {"name": "write_sheet", "arguments": {"path": "b.csv", "sheets": [{"name": "b", "rows": [["x", 1]]}]}},
        ]
    },
    {"text": "All done."},
]
TOLD = 3
"""Messages to the callback: two cards and the answer. A kill may repeat one, under its own id."""
COMMITS, RENAMES = 22, 7
"""How many points of each kind an undisturbed run passes at least; each of them is a place to die."""


@dataclass
class Home:
    """A folder with a configured Signoff, and the server that its answers are sent to."""

    folder: Path
    config: Path
    told: list[str] = field(default_factory=list)

    async def run(self, point: str = "never", number: int = 0) -> int | None:
        """One life of the process: its exit code."""
        process = LIVES.Process(target=live, args=(self.config, point, number))
        process.start()
        await asyncio.to_thread(process.join)
        return process.exitcode

    async def state(self) -> TaskState:
        store = await open_store(self.folder / "data" / "signoff.sqlite3", clock=FakeClock())
        try:
            [task] = await store.tasks()
            return await store.load(task.task_id)
        finally:
            await store.close()


@pytest.fixture
async def home(tmp_path: Path) -> AsyncIterator[Home]:
    script = tmp_path / "script.yaml"
    script.write_text(yaml.safe_dump(SCRIPT))
    home = Home(tmp_path, configured(tmp_path, "http://127.0.0.1:9/v1"))
    settings = json.loads(home.config.read_text())
    settings["agent"]["models"] = {"fake": {"model": f"scripted/{script}"}}
    settings["channels"] = {"webhook": {"allow_private_callbacks": True}}
    home.config.write_text(json.dumps(settings))
    (tmp_path / "office" / "in.txt").write_text("seven")
    (tmp_path / "data").mkdir()
    runner = web.AppRunner(_receiver(home.told))
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    url = f"http://127.0.0.1:{runner.addresses[0][1]}/told"
    store = await open_store(tmp_path / "data" / "signoff.sqlite3", clock=FakeClock())
    hook = Hook(name="flow", token_sha256=token_sha256("t"), deliver=(url,), callback_secret=new_secret())
    await store.save_hook(hook)
    await store.close()
    yield home
    await runner.cleanup()


def _receiver(told: list[str]) -> web.Application:
    async def tell(request: web.Request) -> web.Response:
        told.append(request.headers["webhook-id"])
        return web.Response()

    app = web.Application()
    app.router.add_post("/told", tell)
    return app


async def test_an_undisturbed_run_passes_every_point(home: Home) -> None:
    """The numbers that the kills below are made from are those of a real run."""
    assert await home.run() == 0
    passed = json.loads((home.folder / "passed.json").read_text())
    assert (passed["commit"] >= COMMITS, passed["rename"] >= RENAMES) == (True, True), passed
    _whole(home, await home.state())


@pytest.mark.parametrize("number", range(1, COMMITS + 1))
async def test_killed_before_a_commit(home: Home, number: int) -> None:
    """E2, J5: killed before a commit, killed again soon after the restart, and then left to finish."""
    await _die_twice(home, "commit", number)


@pytest.mark.parametrize("number", range(1, RENAMES + 1))
async def test_killed_before_a_file_is_in_place(home: Home, number: int) -> None:
    """E2: killed after `started` and before the effect, or between an effect and its `done`."""
    await _die_twice(home, "rename", number)


async def _die_twice(home: Home, point: str, number: int) -> None:
    first = await home.run(point, number)
    second = await home.run("commit" if number % 2 else "rename", 1 + number % 5)
    last = await home.run()
    assert (first, last) == (-signal.SIGKILL, 0)
    assert second in {0, -signal.SIGKILL}
    _whole(home, await home.state())


def _whole(home: Home, state: TaskState) -> None:
    """Everything happened once, the history is legal, the answer was told under one id."""
    office = home.folder / "office"
    assert (state.task.status, state.task.answer) == ("done", "All done.")
    assert (office / "a.md").read_text() == "two\n"
    assert (office / "b.csv").read_text().splitlines() == ["x,1"]
    assert (office / "memory" / "MEMORY.md").read_text() == "- a fact\n"
    results = Counter(entry.data["call_id"] for entry in state.entries if entry.kind == "tool")
    assert len(results) == 5
    assert set(results.values()) == {1}
    assert {call.status for call in state.calls} == {"done"}
    assert [entry.seq for entry in state.entries] == list(range(1, len(state.entries) + 1))
    assert refusal(history.messages(state, [], "scripted/script")[:-1]) is None
    assert len(set(home.told)) == TOLD
    assert not list(office.rglob(".signoff-tmp*"))
