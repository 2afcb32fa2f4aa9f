"""The whole product in this process: from a request to its callback, and what a stop leaves behind."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import pytest

from agent.domain import OPERATOR, ButtonPress, Hook
from bot.app import App, started
from bot.config import load_config
from channels.webhook import token_sha256
from tests.bot.conftest import Home
from tests.servers.receiver import SECRET, receiving

TOKEN = "t"


@pytest.fixture
async def app(home: Home) -> AsyncIterator[App]:
    home.configure(
        bot={"http": {"port": 0}, "grace_seconds": 0}, channels={"webhook": {"allow_private_callbacks": True}}
    )
    async with started(load_config(home.folder / "config.yaml", {})) as app:
        yield app


async def post(app: App, text: str, query: str = "") -> tuple[int, dict[str, Any]]:
    headers = {"Authorization": f"Bearer {TOKEN}"}
    async with (
        aiohttp.ClientSession(headers=headers) as client,
        client.post(f"{app.url}/hooks/x{query}", json={"text": text}) as answer,
    ):
        return answer.status, await answer.json()


async def test_a_callback_tells_the_approval_and_the_end(app: App) -> None:
    """The receiver gets the state when a person is needed and when the task has ended, each once."""
    async with receiving() as receiver:
        hook = Hook(name="x", token_sha256=token_sha256(TOKEN), deliver=(receiver.url,), callback_secret=SECRET)
        await app.services.store.save_hook(hook)
        await post(app, "write")
        waiting = await receiver.next()
        assert waiting["status"] == "waiting_approval"
        (approval,) = waiting["approvals"]
        press = ButtonPress(
            dedup_key="press",
            presser=OPERATOR,
            verdict="approved",
            pressed_at=app.services.clock.now(),
            approval_id=approval["approval_id"],
        )
        await app.services.approvals.decide(press)
        done = await receiver.next()
        assert (done["status"], done["text"]) == ("done", "Both were handled.")
        assert [artifact["name"] for artifact in done["artifacts"]] == ["a.md", "b.md"]
        assert len({message_id for message_id, _ in receiver.got}) == len(receiver.got) == 2


async def test_a_receiver_in_trouble_gets_the_result_later(app: App) -> None:
    """Under the same id."""
    async with receiving() as receiver:
        hook = Hook(name="x", token_sha256=token_sha256(TOKEN), deliver=(receiver.url,), callback_secret=SECRET)
        await app.services.store.save_hook(hook)
        receiver.status, receiver.headers = 503, {"Retry-After": "0"}
        await post(app, "hi")
        await receiver.next()
        receiver.status = 200
        await receiver.next()
        await app.outbox.flush()
        assert len({message_id for message_id, _ in receiver.got}) == 1


async def test_who_waits_while_it_stops_gets_an_answer(home: Home) -> None:
    """202 with the state, when the task could not end in the grace time; the task is there for the next start."""
    home.configure(bot={"http": {"port": 0}, "grace_seconds": 0})
    config = load_config(home.folder / "config.yaml", {})
    async with started(config) as app:
        await app.services.store.save_hook(Hook(name="x", token_sha256=token_sha256(TOKEN)))
        waiting = asyncio.create_task(post(app, "slow", "?wait=60"))
        while not [task for task in await app.services.store.tasks() if task.status == "running"]:
            await app.services.store.doorbell.wait("nothing", 0.01)
    status, body = await waiting
    assert (status, body["status"]) == (202, "queued")
