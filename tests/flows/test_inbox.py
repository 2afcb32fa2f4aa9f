"""Files that come with a request: whatever they are called, and however many come at once."""

from __future__ import annotations

import asyncio
from base64 import b64encode

import pytest

from tests.flows.bot import Bot
from tests.servers.llm import Reply


def sent(name: str, content: str) -> dict[str, str]:
    return {"name": name, "content_base64": b64encode(content.encode()).decode()}


async def test_many_files_of_one_name_at_once_are_all_kept(bot: Bot) -> None:
    """Twenty requests at the same moment, ten of them with the same bytes: none is refused, no byte is lost."""
    bot.model.default = Reply(text="Thanks.")
    contents = ["same"] * 10 + [f"other {number}" for number in range(10)]
    tasks = await asyncio.gather(*(bot.say("Keep it", files=[sent("a.txt", content)]) for content in contents))
    states = [await bot.settled(task_id) for task_id in tasks]
    assert [bot.file(state.task.files[0]) for state in states] == contents
    assert len(bot.files()) == 11


@pytest.mark.parametrize(
    ("name", "kept"),
    [
        ("../../etc/passwd", "passwd"),
        ("C:\\folder\\a.txt", "a.txt"),
        ("..", "file"),
        (".env", "env"),
        ("a\u2028b\x85.txt", "a_b_.txt"),
        ("invoice\u202efdp.exe", "invoice_fdp.exe"),
        ("\U0001f600" * 120 + ".pdf", "\U0001f600" * 49 + ".pdf"),
        ("x" * 251 + ".csv", "x" * 196 + ".csv"),
        ("a" * 196 + "..csv", "a" * 196 + ".csv"),
    ],
)
async def test_a_hostile_name_becomes_a_plain_one(bot: Bot, name: str, kept: str) -> None:
    """A name is never a path, shows what it is, keeps its ending and fits the file system."""
    bot.model.default = Reply(text="Thanks.")
    state = await bot.ask("Keep it", files=[sent(name, "x")])
    assert state.task.files == (f"inbox/{kept}",)
    assert bot.file(f"inbox/{kept}") == "x"
