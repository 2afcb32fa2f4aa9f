"""Two conversations that want the same file, and what happens to it between a card and its approval."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.flows.bot import Bot
from tests.servers.llm import Reply


def write(content: str) -> Reply:
    return Reply(calls=[("write_file", {"path": "a.md", "content": content})])


async def test_of_two_approved_changes_of_one_file_the_second_is_shown_again(bot: Bot) -> None:
    """Both cards showed the old content; whoever comes second is asked about the new difference."""
    bot.file("a.md", "old\n")
    bot.model.default = Reply(text="Done.")
    bot.model.will(write("one\n"), write("two\n"))
    first = await bot.ask("Write one")
    second = await bot.ask("Write two")
    await asyncio.gather(bot.press(first.approvals[0]), bot.press(second.approvals[0]))
    ended = [await bot.settled(state.task.task_id) for state in (first, second)]
    assert sorted(state.task.status for state in ended) == ["done", "waiting_approval"]
    waiting = next(state for state in ended if state.task.status == "waiting_approval")
    card = await bot.card(waiting.task.task_id)
    now, wanted = bot.file("a.md"), "two\n" if waiting.task.task_id == second.task.task_id else "one\n"
    assert now != wanted
    assert (f"-{now}" in card.items[0].preview, "changed since" in card.note) == (True, True)
    await bot.approve(waiting.task.task_id)
    assert bot.file("a.md") == wanted


def _deleted(path: Path) -> None:
    path.unlink()


def _folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def _link(path: Path) -> None:
    path.rename(path.with_name("real.md"))
    path.symlink_to("real.md")


def _linked(path: Path) -> None:
    os.link(path, path.with_name("other.md"))


@pytest.mark.parametrize(
    ("change", "status", "said"),
    [
        (_deleted, "waiting_approval", None),
        (_folder, "done", "is a folder"),
        (_link, "done", "is a link"),
        (_linked, "done", "has 2 names"),
    ],
)
async def test_a_target_that_became_something_else(
    bot: Bot, change: Callable[[Path], None], status: str, said: str | None
) -> None:
    """Gone: asked again as a new file. A folder, a link, a second name: the model hears why nothing was written."""
    bot.file("a.md", "old\n")
    bot.model.will(write("new\n"), "I see.")
    waiting = await bot.ask("Write")
    change(bot.folder / "a.md")
    state = await bot.approve(waiting.task.task_id)
    assert state.task.status == status
    if said is not None:
        assert said in bot.results(state)[0][1]
        assert all(path.read_text() == "old\n" for path in bot.folder.rglob("*") if path.is_file())
