"""The demo on Telegram, from the request to the files, with a restart while its card is open."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.flows.on_telegram import House, house
from tests.servers.telegram.world import Chat

DEMO = Path(__file__).parents[2] / "demo-workspace"


@pytest.fixture
async def home(tmp_path: Path) -> AsyncIterator[House]:
    async with house(tmp_path) as made:
        shutil.copytree(DEMO, tmp_path / "office", dirs_exist_ok=True)
        yield made


def written(home: House, chat: Chat) -> list[str]:
    """The names of the files of the answer; a long card has a file of its own."""
    names = [str(one.file.name) for one in home.tg.from_bot(chat) if one.file]
    return sorted(name for name in names if name.startswith("invoice"))


@pytest.mark.parametrize("where", ["alone", "topic"])
async def test_the_demo_from_request_to_files(home: House, where: str) -> None:
    """Invoices are measured, the card outlives the process, two people press it, the files are written once."""
    forum = home.tg.group("Ops", home.ben, home.eve, home.ann, forum=True, bot="administrator")
    topic = None if where == "alone" else home.tg.topic(forum, "Invoices")
    asker = home.ann if where == "alone" else home.ben
    chat = home.tg.private(asker) if where == "alone" else forum
    text = "Summarise the invoices and quotes in this folder"
    async with home.running(demo=True) as signoff:
        home.tg.says(asker, chat, text if where == "alone" else f"@signoff_bot {text}", topic=topic)
        card = await signoff.hears(chat, "please decide")
    assert not (home.folder / "office" / "reports").exists()
    label = next(label for label in card.labels if label.startswith("Approve all"))
    async with home.running(demo=True) as signoff:
        presses = (home.tg.press(presser, card, label) for presser in (home.ann, home.eve))
        said = [answer.text for answer in await asyncio.gather(*presses)]
        await signoff.hears(chat, "What stands out")
        await home.tg.until(lambda: len(written(home, chat)) == 2)
        await home.tg.until(lambda: not card.keyboard)
    assert sorted("already" in text for text in said) == [False, True], said
    assert written(home, chat) == ["invoice-summary.md", "invoice-summary.xlsx"]
    assert {one.thread_id for one in home.tg.from_bot(chat)} == {topic.thread_id if topic else None}
    assert sorted(path.name for path in (home.folder / "office" / "reports").iterdir()) == written(home, chat)
    assert home.tg.refusals == []
