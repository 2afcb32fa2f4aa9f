"""`people` and `login-link` as processes, beside a server that runs."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest

ROOT = Path(__file__).parents[2]
CONFIG = {
    "bot": {"data_dir": "./data", "grace_seconds": 0, "http": {"port": 0}},
    "people": [{"name": "Ann", "roles": ["approver"], "timezone": "Asia/Tokyo", "budget_day_usd": 20}, {"name": "Bob"}],
}


@pytest.fixture
def config(tmp_path: Path) -> Path:
    (tmp_path / "config.yaml").write_text(json.dumps(CONFIG))
    return tmp_path / "config.yaml"


def signoff(config: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run one command to its end."""
    command = [sys.executable, "-m", "bot", *arguments]
    environment = {**os.environ, "SIGNOFF_CONFIG": str(config)}
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=60, check=False)


def printed(config: Path, *arguments: str) -> Any:
    done = signoff(config, *arguments, "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture
async def greeting(config: Path) -> AsyncIterator[dict[str, str]]:
    """What a server that runs printed when it started."""
    command = [sys.executable, "-m", "bot", "run", "--config", str(config)]
    process = await asyncio.create_subprocess_exec(*command, cwd=ROOT, stdout=subprocess.PIPE)
    assert process.stdout is not None
    lines = {}
    async for line in process.stdout:
        name, _, value = line.decode().strip().partition(": ")
        lines[name] = value
        if name == "ready":
            break
    yield lines
    process.terminate()
    await process.wait()


@pytest.mark.slow
async def test_the_printed_link_opens_the_console(greeting: dict[str, str]) -> None:
    """`run` prints it first, for the operator, under the port that was really taken."""
    assert list(greeting) == ["console", "webhook", "ready"]
    async with aiohttp.ClientSession(cookie_jar=aiohttp.CookieJar(unsafe=True)) as browser:
        async with browser.get(greeting["console"]) as asked:
            assert "Log in to Signoff as operator?" in await asked.text()
        async with browser.post(greeting["console"], allow_redirects=False) as pressed:
            assert pressed.status == 303
        async with browser.get(greeting["console"].partition("/login/")[0] + "/v1/people/me") as answer:
            assert (await answer.json())["name"] == "operator"


@pytest.mark.slow
async def test_tokens_are_administered_beside_a_server(config: Path, greeting: dict[str, str]) -> None:
    """A new one works at once, a revoked one ends at once; what it is for and when it ends is listed."""
    made = printed(config, "people", "token", "Ann", "--scope", "tasks:read", "--name", "ci", "--expires", "90d")
    assert {made[key] for key in ("member", "name")} == {"Ann", "ci"}
    assert made["scopes"] == ["tasks:read"]
    url, headers = greeting["console"].partition("/login/")[0], {"Authorization": f"Bearer {made['token']}"}
    async with aiohttp.ClientSession(url, headers=headers) as program:
        async with program.get("/v1/tasks") as answer:
            assert answer.status == 200
        ended = await asyncio.to_thread(signoff, config, "people", "revoke", str(made["token_id"]))
        assert ended.stdout == f"Token {made['token_id']} of Ann is revoked.\n"
        async with program.get("/v1/tasks") as answer:
            assert answer.status == 401
    [listed] = printed(config, "people", "tokens", "Ann")["tokens"]
    assert made["token"] not in json.dumps(listed)
    assert {**listed, "revoked_at": None, "token": made["token"]} == made


@pytest.mark.slow
def test_people_are_listed(config: Path) -> None:
    """With what counts for them, and how many tokens they have."""
    assert signoff(config, "people", "token", "Bob").stdout.startswith("token: signoff_1_")
    people = printed(config, "people")["people"]
    assert [(each["name"], each["timezone"], each["budget_day_usd"], each["tokens"]) for each in people] == [
        ("operator", "UTC", None, 0),
        ("Ann", "Asia/Tokyo", 20.0, 0),
        ("Bob", "UTC", None, 1),
    ]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("people", "token", "Eve"), "nobody named 'Eve'"),
        (("people", "token", "Ann", "--scope", "all"), "there is no such scope (there are: approvals:decide"),
        (("people", "token", "Ann", "--scope", "audit:read"), "The roles of Ann do not allow audit:read."),
        (("people", "token", "Ann", "--expires", "soon"), "--expires 'soon' is not a duration"),
        (("people", "revoke", "7"), "There is no token 7"),
        (("login-link", "Eve"), "nobody named 'Eve'"),
    ],
)
def test_bad_input_is_one_line(config: Path, arguments: tuple[str, ...], said: str) -> None:
    """Exit 2, and nothing on stdout that a script would take for a result."""
    done = signoff(config, *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("signoff: ")
    assert done.stderr.count("\n") == 1
    assert said in done.stderr
