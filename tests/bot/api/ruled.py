"""A running Signoff whose configuration says who may do what."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp

from bot.app import started
from bot.config import load_config
from tests.bot.api.site import Site, configured
from tests.servers.llm import FakeLLM

UNUSED_MODEL = "http://127.0.0.1:9/v1"
RULES: dict[str, Any] = {
    "agent": {
        "policy": {"execute": {"ask": ["ann"], "by": "other", "expires": "1h", "always_ask": True}},
        "stricter": {"webhook:*": {"memory:write": "deny"}},
    },
    "people": [
        {"name": "ann", "roles": ["approver"]},
        {"name": "bob", "roles": ["approver"], "policy": {"file:write": {"ask": ["ann"]}}},
    ],
    "workspaces": {"policy": {"file:write": "allow"}, "approvals": {"to": ["approver"]}},
}
"""`workspaces` is what is said of Ann's."""


@asynccontextmanager
async def ruled(home: Path, rules: dict[str, Any]) -> AsyncIterator[Site]:
    """A site with these rules."""
    path = configured(home, UNUSED_MODEL)
    settings = json.loads(path.read_text())
    settings["agent"] |= rules.get("agent", {})
    settings["people"] = rules.get("people", settings["people"])
    settings["workspaces"]["annes"] |= rules.get("workspaces", {})
    path.write_text(json.dumps(settings))
    async with started(load_config(path)) as app, aiohttp.ClientSession() as client:
        yield Site(app=app, http=client, model=FakeLLM(), home=home)
