"""Pictures that came with a request, on their way to a model."""

from __future__ import annotations

import base64
import gc
from pathlib import Path
from typing import Any

import orjson

from agent.pictures import UNSEEN
from tests.flows.engine import Engine, engine, tool
from tests.flows.platform import Platform, awaited, wrote
from tests.pictures import PNG, of_size
from tests.servers.llm import Reply

PICTURE = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{base64.b64encode(PNG).decode()}"}}
HTML = b"<!DOCTYPE html>"


def requests(one: Engine, number: int) -> list[Any]:
    """What the user said in a request of the model, in order."""
    return [message["content"] for message in one.model.requests[number]["messages"] if message["role"] == "user"]


async def test_a_model_that_sees_gets_the_pictures_of_the_request(tmp_path: Path) -> None:
    """With every turn of its task, as what they are; what is none is named."""

    async def look() -> str:
        return "looked"

    platform = Platform(a=[PNG], b=[HTML], c=[b"text"])
    async with engine(tmp_path, tool("look", look, "file:read"), channels=[platform], vision=True) as one:
        one.model.will(Reply(calls=[("look", {})]), "A cat.")
        files = [awaited("a", "a.png"), awaited("b", "b.png"), awaited("c", "c.txt")]
        state = await one.run(await wrote(one, "What is this?", *files))
        assert (state.task.status, one.model.refusals) == ("done", [])
        [first], [second] = requests(one, 0), requests(one, 1)
    text, *pictures = first
    assert pictures == [PICTURE]
    assert "What is this?\n\nFiles sent along:\n- inbox/a.png\n- inbox/b.png\n- inbox/c.txt" in text["text"]
    assert "Not shown to you: inbox/b.png." in text["text"]
    assert first == second


async def test_a_model_that_does_not_see_is_told_so(tmp_path: Path) -> None:
    """And it is a text as ever; nothing is said where there is no picture."""
    async with engine(tmp_path, channels=[Platform(a=[PNG], b=[b"text"])]) as one:
        one.model.will("I cannot see it.", "Read.")
        await one.run(await wrote(one, "What is this?", awaited("a", "a.png")))
        await one.run(await wrote(one, "And this?", awaited("b", "b.txt"), key="2"))
        assert requests(one, 0)[0].endswith(f"Files sent along:\n- inbox/a.png\n\n{UNSEEN}")
        assert UNSEEN not in requests(one, 1)[1]
        assert one.model.refusals == []


async def test_earlier_pictures_are_names(tmp_path: Path) -> None:
    """Only the current request carries bytes; the note on a model that does not see is not repeated either."""
    for vision in (True, False):
        home = tmp_path / str(vision)
        home.mkdir()
        async with engine(home, channels=[Platform(a=[PNG], b=[PNG + b"!"])], vision=vision) as one:
            one.model.will("A cat.", "A dog.", "Yes.")
            await one.run(await wrote(one, "What is this?", awaited("a", "a.png")))
            await one.run(await wrote(one, "And this?", awaited("b", "b.png"), key="2"))
            await one.run(await wrote(one, "Are they friends?", key="3"))
            first, second, third = requests(one, 2)
            assert first.endswith("What is this?\n\nFiles sent along:\n- inbox/a.png")
            assert second.endswith("Files sent along:\n- inbox/b.png")
            assert third.endswith("Are they friends?")
            assert isinstance(requests(one, 1)[0], str)
            assert isinstance(requests(one, 1)[1], list) is vision
            assert one.model.refusals == []


async def test_pictures_change_nothing_about_what_stays_of_the_conversation(tmp_path: Path) -> None:
    """What a provider counts for pictures is not taken for that many tokens of text, which would cut the window."""
    async with engine(tmp_path, channels=[Platform(a=[PNG])], vision=True) as one:
        long = Reply(text="word " * 6_000, usage=(20, 7_500))
        one.model.will(long, long, Reply(text="A cat.", usage=(20_000 + 40_000, 5)), "Yes.")
        for key in ("1", "2"):
            await one.run(await wrote(one, "Tell", key=key))
        state = await one.run(await wrote(one, "What is this?", awaited("a", "a.png"), key="3"))
        assert state.task.status == "done"
        await one.run(await wrote(one, "Go on", key="4"))
        assert len(requests(one, 3)) == 4
        assert (await one.store.load(state.task.task_id)).session.whole_from == 1


async def test_no_picture_is_held_while_a_tool_runs(tmp_path: Path) -> None:
    """Two hundred tasks that wait with 20 MB each would be 4 GB: it is read anew for each request."""
    held: list[int] = []

    async def look() -> str:
        one.model.requests.clear()
        gc.collect()  # what the tests before left behind
        held.append(sum(_holds_a_picture(value) for value in gc.get_objects()))
        return "looked"

    platform = Platform(a=[of_size(100_000)])
    async with engine(tmp_path, tool("look", look, "file:read"), channels=[platform], vision=True) as one:
        one.model.will(Reply(calls=[("look", {})]), "A cat.")
        await one.run(await wrote(one, "What is this?", awaited("a", "a.png")))
        assert _holds_a_picture(requests(one, 0)[0])
        assert held == [0]


async def test_no_picture_is_in_the_rows(tmp_path: Path) -> None:
    """The journal names the file, whose bytes lie in the workspace alone."""
    async with engine(tmp_path, channels=[Platform(a=[PNG])], vision=True) as one:
        one.model.will("A cat.")
        state = await one.run(await wrote(one, "What is this?", awaited("a", "a.png")))
    assert b"base64" not in orjson.dumps([entry.data for entry in state.entries])
    assert (tmp_path / "office" / "inbox" / "a.png").read_bytes() == PNG


def _holds_a_picture(value: Any) -> bool:
    """Whether it is the content of a message with a large one. Python's collector knows lists, not dicts of texts."""
    return type(value) is list and any(
        type(part) is dict and len(part.get("image_url", {}).get("url", "")) > 100_000 for part in value
    )
