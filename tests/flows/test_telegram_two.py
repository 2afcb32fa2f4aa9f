"""Two processes of one bot over one PostgreSQL: one receives, the other stands by and takes over."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from tests.flows.on_telegram import House, house
from tests.servers import postgres
from tests.servers.llm import Reply

pytestmark = [pytest.mark.slow, pytest.mark.postgres, pytest.mark.xdist_group("postgres")]
NOTE = Reply(calls=[("write_file", {"path": "note.md", "content": "# Note\n"})])


@pytest.fixture
def database() -> Iterator[str]:
    if not postgres.available():
        pytest.skip(f"no PostgreSQL 15 in {postgres.BINARIES}")
    running = postgres.start()
    try:
        running.sql("CREATE DATABASE bots")
        yield running.url("bots")
    finally:
        running.stop()


@pytest.fixture
async def home(tmp_path: Path, database: str) -> AsyncIterator[House]:
    async with house(tmp_path) as made:
        made.database = database
        yield made


async def test_the_other_process_takes_over(home: House) -> None:
    """TGU-05: no conflict while both run; a card that the first one sent is decided on the second, and a group that
    moved meanwhile is the same conversation there. Everything is said once."""
    home.model.will(NOTE, "Written.", "Two.")
    group = home.tg.group("Ops", home.ben, home.eve, kind="group", bot="administrator")
    life = AsyncExitStack()
    first = await life.enter_async_context(home.running())
    await home.tg.until(lambda: home.tg.called("getUpdates"))
    async with life, home.running() as second:
        home.tg.says(home.ben, group, "@signoff_bot write a note")
        card = await first.hears(group, "please decide")
        moved = home.tg.migrates(group)
        home.tg.says(home.ben, moved, "/status@signoff_bot")
        await first.hears(moved, "waits")
        await life.aclose()
        answer = await home.tg.press(home.eve, card, "Approve", seconds=30)
        await second.hears(moved, "Written.")
        home.tg.says(home.ben, moved, "@signoff_bot two")
        await second.hears(moved, "Two.")
        one, two = await second.tasks(2)
    assert "approved by Eve" in answer.text
    assert one.session_id == two.session_id
    texts = [message.text for message in home.tg.from_bot(moved)]
    assert [texts.count(words) for words in ("Written.", "Two.")] == [1, 1]
    assert not any("Conflict" in refusal for refusal in home.tg.refusals)
