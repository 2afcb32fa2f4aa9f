"""`init`: from an empty folder to a chat platform, as somebody at a terminal does it."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import yaml

from tests.servers.slack.server import FakeSlack
from tests.servers.slack.server import running as slack_running
from tests.servers.telegram.server import FakeTelegram

ROOT = Path(__file__).parents[3]
SHIPPED = """\
# mine
channels:
  console: {enabled: true}        # the pages
  {platform}:
    base_url: {url}
workspaces:
  demo: {path: ., channels: ["*"]}
"""


@dataclass
class Terminal:
    """The command at work, and what it has printed."""

    process: asyncio.subprocess.Process
    printed: str = ""
    heard: asyncio.Event = field(default_factory=asyncio.Event)

    async def listen(self) -> None:
        assert self.process.stdout is not None
        while piece := await self.process.stdout.read(4096):
            self.printed += piece.decode()
            self.heard.set()
        self.heard.set()

    async def sees(self, text: str) -> None:
        """Wait until it has printed this."""
        async with asyncio.timeout(30):
            while text not in self.printed:
                assert self.process.returncode is None, self.printed
                self.heard.clear()
                await self.heard.wait()

    def types(self, line: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(f"{line}\n".encode())


@asynccontextmanager
async def init(folder: Path, *arguments: str, **variables: str) -> AsyncIterator[Terminal]:
    """`signoff init` in a folder."""
    command = (sys.executable, "-m", "bot", "init", *arguments, "--config", str(folder / "config.yaml"))
    pipe = asyncio.subprocess.PIPE
    environment = {**os.environ, "PYTHONUNBUFFERED": "1", **variables}
    process = await asyncio.create_subprocess_exec(
        *command, cwd=ROOT, env=environment, stdin=pipe, stdout=pipe, stderr=asyncio.subprocess.STDOUT
    )
    terminal = Terminal(process)
    listening = asyncio.create_task(terminal.listen())
    try:
        yield terminal
        assert process.stdin is not None
        process.stdin.close()
        await asyncio.wait_for(process.wait(), 60)
        await listening
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
        await listening


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


def written(folder: Path, platform: str, url: str) -> None:
    """A configuration with comments, and the platform's server named in it."""
    text = SHIPPED.replace("{platform}", platform).replace("{url}", url)
    (folder / "config.yaml").write_text(text)


async def test_a_new_folder(tmp_path: Path) -> None:
    """A few questions make a configuration that starts; the key goes into .env, for its owner alone."""
    async with init(tmp_path, LLM_API_KEY="k-secret") as terminal:
        terminal.types("papers")
        terminal.types("deepseek/deepseek-chat")
    assert terminal.process.returncode == 0, terminal.printed
    made = yaml.safe_load((tmp_path / "config.yaml").read_text())
    assert made["agent"]["models"]["default"] == {"model": "deepseek/deepseek-chat", "api_key": "${LLM_API_KEY}"}
    assert (tmp_path / "papers").is_dir()
    assert (tmp_path / ".env").read_text() == "LLM_API_KEY=k-secret\n"
    assert (tmp_path / ".env").stat().st_mode & 0o777 == 0o600


async def test_slack_from_the_link_to_the_hello(tmp_path: Path, slack: FakeSlack) -> None:
    """The link, the tokens tried, a hello, the person linked, the files written with their comments kept."""
    written(tmp_path, "slack", slack.api_url)
    ann = slack.person("ann")
    tokens = {"SLACK_BOT_TOKEN": slack.bot_token, "SLACK_APP_TOKEN": slack.app_token}
    async with init(tmp_path, "slack", **tokens) as terminal:
        terminal.types(ann)
        terminal.types("Ann")
    assert terminal.process.returncode == 0, terminal.printed
    assert "https://api.slack.com/apps?new_app=1&manifest_json=%7B" in terminal.printed
    assert f"Ann is known as slack:{ann}." in terminal.printed
    text = (tmp_path / "config.yaml").read_text()
    assert "# mine" in text
    assert slack.bot_token not in text + terminal.printed
    assert yaml.safe_load(text)["channels"]["slack"] == {
        "enabled": True, "bot_token": "${SLACK_BOT_TOKEN}", "app_token": "${SLACK_APP_TOKEN}", "mode": "socket",
        "base_url": slack.api_url,
    }  # fmt: skip
    assert (tmp_path / ".env").stat().st_mode & 0o777 == 0o600
    assert any("Hello, I am Signoff" in message.text for message in slack.messages(slack.direct(ann)))


@pytest.mark.parametrize(
    ("wrong", "scopes", "told"),
    [
        ({"SLACK_BOT_TOKEN": "xoxp-1"}, set(), "this is no bot token, which begins with xoxb-"),
        ({"SLACK_BOT_TOKEN": "xoxb-1"}, set(), "Slack refuses it (invalid_auth)"),
        ({"SLACK_APP_TOKEN": "xoxb-1"}, set(), "this is no app token, which begins with xapp-"),
        ({"SLACK_APP_TOKEN": "xapp-1"}, set(), "slack app token: Slack refuses the app token (invalid_auth)"),
        ({}, {"reactions:write"}, "lacks reactions:write (to mark a request as seen and done)"),
    ],
)
async def test_slack_what_is_wrong_is_named(
    tmp_path: Path, slack: FakeSlack, wrong: dict[str, str], scopes: set[str], told: str
) -> None:
    """With what to click; nothing is written."""
    written(tmp_path, "slack", slack.api_url)
    before = (tmp_path / "config.yaml").read_text()
    slack.api.scopes -= scopes
    tokens = {"SLACK_BOT_TOKEN": slack.bot_token, "SLACK_APP_TOKEN": slack.app_token, **wrong}
    async with init(tmp_path, "slack", **tokens) as terminal:
        pass
    assert terminal.process.returncode == 2
    assert told in terminal.printed
    assert (tmp_path / "config.yaml").read_text() == before
    assert not (tmp_path / ".env").exists()


async def test_telegram_finds_person_and_group_by_itself(tmp_path: Path, tg: FakeTelegram) -> None:
    """Whoever presses Start, a group that speaks, a button; what waits for the bot is not taken away."""
    written(tmp_path, "telegram", f"{tg.base_url}\n    base_file_url: {tg.base_file_url}")
    ann = tg.user("Ann")
    chat, team = tg.private(ann), tg.group("Team", ann)
    async with init(tmp_path, "telegram", TELEGRAM_BOT_TOKEN=tg.token) as terminal:
        await terminal.sees("press Start")
        tg.says(ann, chat, "/start")
        await terminal.sees("There you are: Ann")
        terminal.types("y")
        await terminal.sees("Add @")
        tg.adds_bot(ann, team)
        await terminal.sees("Press the button")
        await tg.press(ann, tg.from_bot(chat)[-1], "It works")
        await terminal.sees("Both ways work.")
        terminal.types("Ann")
    assert terminal.process.returncode == 0, terminal.printed
    assert f"Ann is known as telegram:{ann.user_id}." in terminal.printed
    made = yaml.safe_load((tmp_path / "config.yaml").read_text())["channels"]["telegram"]
    assert (made["enabled"], made["token"], made["allow"]) == (True, "${TELEGRAM_BOT_TOKEN}", [team.chat_id])
    waiting = [update["message"]["text"] for update in tg.account.updates.pending if "message" in update]
    assert waiting[0] == "/start"


async def test_telegram_a_wrong_token(tmp_path: Path, tg: FakeTelegram) -> None:
    """Is said in one line, and nothing is written."""
    written(tmp_path, "telegram", tg.base_url)
    async with init(tmp_path, "telegram", TELEGRAM_BOT_TOKEN="1:wrong") as terminal:
        pass
    assert terminal.process.returncode == 2
    assert "Telegram refuses the token; ask @BotFather" in terminal.printed
    assert not (tmp_path / ".env").exists()
