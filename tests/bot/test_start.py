"""What a start does without: everything that only some need is loaded when it is needed."""

from __future__ import annotations

import subprocess
import sys

from tests.bot.conftest import ROOT, Home

STARTED = """
import asyncio, sys, aiohttp
from pathlib import Path
from bot.cli import main, serve
from bot.app import started
from bot.config import load_config

async def start():
    async with started(load_config(Path(sys.argv[1]), {})) as app, aiohttp.ClientSession(app.url) as client:
        for method, path in (("GET", "/readyz"), ("POST", "/hooks/x"), ("GET", "/v1/tasks")):
            async with client.request(method, path) as response:
                print(response.status, *sorted(set(sys.argv[2:]) & set(sys.modules)))

asyncio.run(start())
"""
LATE = ["bot.api.approvals", "bot.api.routes", "bot.web.pages", "jinja2", "markdown_it"]
NEVER = ["alembic", "litellm", "openpyxl"]


def test_pages_and_api_are_loaded_at_the_first_request_for_them(home: Home) -> None:
    """G5: whoever only uses chats and hooks does not wait for them, nor for a library that nothing asks for."""
    home.configure(bot={"http": {"port": 0}})
    command = [sys.executable, "-c", STARTED, str(home.folder / "config.yaml"), *LATE, *NEVER]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["200", "401", f"401 {' '.join(LATE)}"]


def test_a_server_loads_nothing_for_tables(home: Home) -> None:
    """Libraries that draw tables and colour code belong to other commands; only because they are there they cost a
    twentieth of a start."""
    command = [sys.executable, "-X", "importtime", *home.command("run")[1:-1], str(home.folder / "nowhere.yaml")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    loaded = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert done.returncode == 2
    assert "structlog" in loaded
    assert not loaded & {"rich.console", "rich.pretty", "pygments"}
