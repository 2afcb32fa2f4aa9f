"""`check --online`: what each chat platform says of its set-up, and what to do."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.servers.slack.server import FakeSlack
from tests.servers.slack.server import running as slack_running
from tests.servers.telegram.server import FakeTelegram

ROOT = Path(__file__).parents[3]
SLACK = """\
channels:
  slack:
    {enabled: true, bot_token: "${SLACK_BOT_TOKEN}", app_token: "${SLACK_APP_TOKEN}", base_url: URL, allow: [PLACE]}
"""
TELEGRAM = """\
channels:
  telegram: {enabled: true, token: "${TELEGRAM_BOT_TOKEN}", base_url: URL, groups: GROUPS, allow: [PLACE]}
"""


@pytest.fixture
async def slack() -> AsyncIterator[FakeSlack]:
    async with slack_running() as slack:
        yield slack


@pytest.fixture
async def tg() -> AsyncIterator[FakeTelegram]:
    tg = FakeTelegram()
    await tg.start()
    yield tg
    await tg.close()


async def checked(folder: Path, text: str, **variables: str) -> dict[str, dict[str, Any]]:
    """What the command finds, by what it looked at."""
    (folder / "config.yaml").write_text(text)
    command = ("-m", "bot", "check", "--online", "--json", "--config", str(folder / "config.yaml"))
    process = await asyncio.create_subprocess_exec(
        sys.executable, *command, cwd=ROOT, env={**os.environ, **variables}, stdout=asyncio.subprocess.PIPE
    )
    printed, _ = await process.communicate()
    found = {one["name"]: one for one in json.loads(printed)["checks"]}
    assert process.returncode == (0 if all(one["ok"] for one in found.values()) else 1)
    return found


async def slack_checked(folder: Path, slack: FakeSlack, place: str, **wrong: str) -> dict[str, dict[str, Any]]:
    tokens = {"SLACK_BOT_TOKEN": slack.bot_token, "SLACK_APP_TOKEN": slack.app_token, **wrong}
    return await checked(folder, SLACK.replace("URL", slack.api_url).replace("PLACE", place), **tokens)


async def test_slack_works(tmp_path: Path, slack: FakeSlack) -> None:
    """Tokens, all scopes, Socket Mode, and the bot is in the channel that is allowed."""
    ops = slack.room("ops", slack.person("ann"))
    found = await slack_checked(tmp_path, slack, ops)
    names = ("slack bot token", "slack app token", f"slack channel {ops}")
    assert [found[name]["ok"] for name in names] == [True] * 3


async def test_slack_says_what_to_click(tmp_path: Path, slack: FakeSlack) -> None:
    """For a scope that is missing, a token of the wrong kind, a channel it is not in."""
    ann = slack.person("ann")
    ops = slack.room("ops", ann)
    slack.removes_bot(ann, ops)
    found = await slack_checked(tmp_path, slack, ops, SLACK_APP_TOKEN="xoxb-2")
    assert "App-Level Tokens" in found["slack app token"]["message"]
    assert "/invite @Signoff" in found[f"slack channel {ops}"]["message"]
    slack.api.scopes -= {"files:write"}
    found = await slack_checked(tmp_path, slack, ops)
    assert "lacks files:write (to send the files it made)" in found["slack bot token"]["message"]
    assert "OAuth & Permissions" in found["slack bot token"]["message"]


async def test_telegram_works(tmp_path: Path, tg: FakeTelegram) -> None:
    """The token, how updates come, the group it is in."""
    team = tg.group("Team", tg.user("Ann"))
    tg.adds_bot(tg.user("Bob"), team)
    text = TELEGRAM.replace("URL", tg.base_url).replace("GROUPS", "mention").replace("PLACE", str(team.chat_id))
    found = await checked(tmp_path, text, TELEGRAM_BOT_TOKEN=tg.token)
    assert found["telegram token"]["message"] == f"@{tg.account.bot.username}"
    assert found[f"telegram group {team.chat_id}"]["ok"] is True


async def test_telegram_says_what_to_do(tmp_path: Path, tg: FakeTelegram) -> None:
    """For privacy mode where everything is to be heard, a group it is not in, a token that is refused."""
    text = TELEGRAM.replace("URL", tg.base_url).replace("GROUPS", "all").replace("PLACE", "-100123")
    found = await checked(tmp_path, text, TELEGRAM_BOT_TOKEN=tg.token)
    assert "@BotFather → /setprivacy" in found["telegram privacy"]["message"]
    assert "Add the bot to the group" in found["telegram group -100123"]["message"]
    found = await checked(tmp_path, text, TELEGRAM_BOT_TOKEN="1:wrong")
    assert "ask @BotFather for the current one" in found["telegram token"]["message"]
