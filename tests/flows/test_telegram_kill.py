"""Kill -9 at each call to Telegram on the way of a request, a card, an answer in parts and its album."""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import os
import signal
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import structlog
import yaml
from aiohttp import web

from bot.app import started
from bot.config import load_config
from tests.flows.bot import configured
from tests.flows.on_telegram import TOKEN
from tests.servers.telegram.parameters import Parameters
from tests.servers.telegram.server import FakeTelegram
from tests.servers.telegram.world import Chat, Message, User

pytestmark = pytest.mark.slow

LIVES = multiprocessing.get_context("forkserver")
LIVES.set_forkserver_preload(["tests.flows.test_telegram_kill"])
PARAGRAPHS = [f"Paragraph {number:03} {'x' * 88}" for number in range(100)]
FILES = [{"name": "write_file", "arguments": {"path": name, "content": f"# {name}\n"}} for name in ("a.md", "b.md")]
SCRIPT = [{"calls": FILES}, {"text": "\n\n".join(PARAGRAPHS)}]
POINTS = [
    *[("sendMessage", number, when) for number in (1, 2, 3, 4) for when in ("before", "after")],
    *[(method, 1, when) for method in ("sendMediaGroup", "editMessageText") for when in ("before", "after")],
    *[("answerCallbackQuery", 1, "before"), ("getUpdates", 2, "before"), ("getUpdates", 3, "before")],
]


class Deadly(FakeTelegram):
    """Kills who calls a method for the `number`th time, before or after it takes effect."""

    point: tuple[str, int, str] = ("", 0, "")
    victim = 0

    async def _answer(self, name: str, parameters: Parameters) -> web.Response:
        method, number, when = self.point
        is_now = name == method and len(self.called(name)) == number
        if is_now and when == "before":
            os.kill(self.victim, signal.SIGKILL)
            return web.Response(status=500)
        response = await super()._answer(name, parameters)
        if is_now:
            os.kill(self.victim, signal.SIGKILL)
        return response


def live(config: Path, token: str) -> None:
    """A whole Signoff, until it is killed."""
    structlog.configure(logger_factory=structlog.ReturnLoggerFactory())
    asyncio.run(_live(config, token))


async def _live(config: Path, token: str) -> None:
    async with started(load_config(config, {TOKEN: token})):
        await asyncio.Event().wait()


@pytest.mark.parametrize("point", POINTS, ids=lambda point: "-".join(map(str, point)))
async def test_nothing_is_lost_and_nothing_is_done_twice(tmp_path: Path, point: tuple[str, int, str]) -> None:
    """TGU-01, TGU-02: the words arrive in order, each once, but that the one on which it died may come again; the files
    are written once and arrive together."""
    tg = Deadly()
    await tg.start()
    tg.point = point
    ann = tg.user("Ann")
    chat = tg.private(ann)
    config = _configured(tmp_path, tg, ann)
    process = _born(config, tg)
    living = asyncio.create_task(_reborn(process, config, tg))
    try:
        tg.says(ann, chat, "Write both")
        await tg.until(lambda: _card(tg, chat), seconds=20)
        with suppress(TimeoutError):
            await tg.press(ann, _card(tg, chat)[0], "Approve all (2)", seconds=8)
        await tg.until(lambda: len([message for message in tg.from_bot(chat) if message.file]) >= 2, seconds=20)
        await tg.until(lambda: not _card(tg, chat)[-1].keyboard, seconds=20)
        await asyncio.wait_for(living, 10)
    finally:
        process.kill()
        await living
        os.kill(tg.victim, signal.SIGKILL)
        await tg.close()
    shown = Counter(line for message in tg.from_bot(chat) for line in message.text.split("\n") if line in PARAGRAPHS)
    assert list(shown) == PARAGRAPHS
    assert max(shown.values()) == 1 or point[2] == "after"
    files = [message.file.name for message in tg.from_bot(chat) if message.file]
    assert files[:2] == ["a.md", "b.md"]
    assert files[2:] == [] or point == ("sendMediaGroup", 1, "after")
    assert (tmp_path / "office" / "a.md").read_text() == "# a.md\n"


def _configured(folder: Path, tg: FakeTelegram, ann: User) -> Path:
    person = {"name": "Ann", "roles": ["approver"], "telegram": ann.user_id}
    path = configured(folder, "http://127.0.0.1:9/v1", people=[person])
    settings = json.loads(path.read_text())
    script = folder / "script.yaml"
    script.write_text(yaml.safe_dump(SCRIPT))
    settings["agent"]["models"] = {"fake": {"model": f"scripted/{script}"}}
    addresses = {"base_url": tg.base_url, "base_file_url": tg.base_file_url}
    settings["channels"] = {"telegram": {"enabled": True, "token": f"${{{TOKEN}}}", **addresses}}
    settings["workspaces"]["office"]["channels"] += ["telegram:*"]
    path.write_text(json.dumps(settings))
    return path


def _card(tg: FakeTelegram, chat: Chat) -> list[Message]:
    return [message for message in tg.from_bot(chat) if message.text.startswith("Approval")]


def _born(config: Path, tg: Deadly) -> Any:
    process = LIVES.Process(target=live, args=(config, tg.token))
    process.start()
    tg.victim = process.pid or 0
    return process


async def _reborn(process: Any, config: Path, tg: Deadly) -> None:
    """A supervisor: one more start after the death."""
    await asyncio.to_thread(process.join)
    _born(config, tg)
