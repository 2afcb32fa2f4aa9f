"""A member's own cap, through a running Signoff."""

from __future__ import annotations

import json
import secrets
from pathlib import Path

import aiohttp

from agent.domain import Address, IncomingMessage
from bot.app import started
from bot.config import load_config
from tests.flows.bot import Bot, configured
from tests.servers.llm import FakeLLM


async def test_a_members_own_cap_holds_for_their_tasks(tmp_path: Path) -> None:
    """Ann may spend less than everybody: her second task of the day ends, Bob's goes on."""
    model = FakeLLM()
    await model.start()
    path = configured(tmp_path, model.base_url)
    settings = json.loads(path.read_text())
    settings["people"] = [{"name": "Ann", "budget_day_usd": 0.1}, {"name": "Bob"}]
    # A call of 120 tokens costs 0.12 USD.
    settings["agent"]["models"]["fake"]["price"] = {"input": 1000, "output": 1000}
    path.write_text(json.dumps(settings))
    async with started(load_config(path)) as app, aiohttp.ClientSession() as http:
        bot = Bot(app=app, model=model, folder=tmp_path / "office", http=http)

        async def ask(name: str) -> tuple[str, str]:
            message = IncomingMessage(
                dedup_key=secrets.token_hex(4),
                address=Address(channel="cli", conversation=name),
                sender=name,
                text="go",
                origin="console",
                received_at=app.services.clock.now(),
            )
            task = (await bot.settled((await app.services.inbox.accept(message)).task_id)).task
            return task.status, task.error_text or ""

        model.will("one", "two", "three")
        assert await ask("Ann") == ("done", "")
        status, reason = await ask("Ann")
        assert status == "failed"
        assert "your `budget_day_usd` in `people` allows 0.10 USD" in reason
        assert [await ask("Bob"), await ask("Bob")] == [("done", ""), ("done", "")]
    await model.close()
