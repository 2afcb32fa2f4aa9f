"""A task at work, as its conversations are shown it: the newest state, never at the cost of the run."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
import structlog

from agent import showing
from agent.domain import Address
from agent.errors import ChannelUnavailable, DeliveryRefused
from tests.flows.engine import engine, tool
from tests.flows.platform import HERE, Platform, wrote
from tests.servers.llm import Reply

SLOW = Reply(text="one two three four five six", pieces=6, delay_seconds=0.2)
THERE = Address(channel="chat", conversation="C2")


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """A test waits for some of these pauses."""
    monkeypatch.setattr(showing, "PAUSE_SECONDS", 0.02)


def states(platform: Platform) -> list[tuple[tuple[str, ...], str]]:
    """What was shown: the steps and the words, without repetitions."""
    told = [(tuple(f"{step.label} {step.state}" for step in shown.steps), shown.text) for shown in platform.shown]
    return [one for index, one in enumerate(told) if index == 0 or one != told[index - 1]]


async def test_steps_and_words_as_they_come(tmp_path: Path) -> None:
    """Each call before and after it ran; the words of a turn begin anew and grow."""
    platform, release = Platform("streaming"), asyncio.Event()

    async def work() -> str:
        await release.wait()
        return "worked"

    async with engine(tmp_path, tool("look", work, "file:read"), channels=[platform]) as one:
        one.model.will(Reply(text="first words", calls=[("look", {})], pieces=2, delay_seconds=0.1), SLOW)
        running = asyncio.create_task(one.run(await wrote(one, "Go")))
        while not states(platform) or states(platform)[-1] != (("look running",), ""):
            await platform.showed(len(platform.shown) + 1)
        release.set()
        task = (await running).task
    seen = states(platform)
    assert seen[0] == ((), "")
    assert ((), "first ") in seen or ((), "first words") in seen
    after = [text for steps, text in seen if steps == ("look done",)]
    assert len(after) > 2
    assert all("one two three four five six".startswith(text) for text in after), after
    assert sorted(after, key=len) == after
    assert platform.shown[0].task.message_id == "1"
    assert task.status == "done"


async def test_a_slow_channel_does_not_hold_up_the_run(tmp_path: Path) -> None:
    """It hangs in its first call: the task ends, is answered, and that call still comes to its own end."""
    platform = Platform("streaming")
    platform.open.clear()
    async with engine(tmp_path, channels=[platform]) as one:
        one.model.will(SLOW)
        state = await one.run(await wrote(one, "Go"))
        assert (state.task.status, platform.finished, len(platform.shown)) == ("done", 0, 1)
        platform.open.set()
        await asyncio.sleep(0.05)
        assert platform.finished == 1


async def test_the_newest_wins(tmp_path: Path) -> None:
    """What happened while the channel was busy is told in one, and one call is under way at a time."""
    platform = Platform("streaming")
    platform.open.clear()
    async with engine(tmp_path, channels=[platform]) as one:
        one.model.will(Reply(text="a b c d e f g h", pieces=8, delay_seconds=0.05))
        running = asyncio.create_task(one.run(await wrote(one, "Go")))
        await platform.showed(1)
        await asyncio.sleep(0.25)
        assert len(platform.shown) == 1
        platform.open.set()
        second = await platform.showed(2)
        await running
    assert len(second.text) >= 3


async def test_it_ends_with_the_run(tmp_path: Path) -> None:
    """Whether that is done or waits for a person; nothing is told later."""
    platform = Platform("streaming")

    async def send() -> str:
        return "sent"

    async with engine(tmp_path, tool("send", send), channels=[platform]) as one:
        one.model.will(Reply(calls=[("send", {})]))
        task_id = await wrote(one, "Go")
        assert (await one.run(task_id)).task.status == "waiting_approval"
        assert not one.live.followed(task_id)
        count = len(platform.shown)
        await asyncio.sleep(0.1)
        assert len(platform.shown) == count > 0
        one.model.will("Done.")
        await one.decide()
        assert (await one.run(task_id)).task.status == "done"
        assert len(platform.shown) > count


async def test_a_call_from_before_is_waited_for(tmp_path: Path) -> None:
    """The run that goes on after an approval shows nothing beside the call that hangs from the one before."""
    platform = Platform("streaming")
    platform.open.clear()

    async def send() -> str:
        return "sent"

    async with engine(tmp_path, tool("send", send), channels=[platform]) as one:
        one.model.will(Reply(calls=[("send", {})]), SLOW)
        task_id = await wrote(one, "Go")
        await one.run(task_id)
        await one.decide()
        running = asyncio.create_task(one.run(task_id))
        await one.model_asked(2)
        await asyncio.sleep(0.1)
        assert len(platform.shown) == 1
        platform.open.set()
        assert [step.state for step in (await platform.showed(2)).steps] == ["done"]
        await running


async def test_only_where_it_can_be_shown(tmp_path: Path) -> None:
    """Not on a channel without the feature, on one that is fetched or on one that does not run; in each place once."""
    still, chat, console = Platform(), Platform("streaming"), Platform("streaming")
    still.name, console.name = "still", "console"
    elsewhere = (Address(channel=name, conversation="C") for name in ("still", "console", "gone"))
    async with engine(tmp_path, channels=[still, chat, console]) as one:
        one.model.will("Done.")
        state = await one.run(await wrote(one, "Go", to=(HERE, THERE, *elsewhere)))
    assert (state.task.status, len(still.shown), len(console.shown)) == ("done", 0, 0)
    assert set(chat.places) == {HERE, THERE}


@pytest.mark.parametrize("error", [DeliveryRefused("no_permission"), ChannelUnavailable("later")])
async def test_a_channel_that_refuses_is_told_the_next_state(tmp_path: Path, error: Exception) -> None:
    """What it says is no more than a line for whoever debugs."""
    platform = Platform("streaming")
    platform.failure = error
    with structlog.testing.capture_logs() as logs:
        task = await shown(tmp_path, platform)
    assert (task, len(platform.shown) > 2) == ("done", True)
    assert {(entry["event"], entry["log_level"]) for entry in logs if "progress" in entry["event"]} == {
        ("progress_not_shown", "debug")
    }


async def test_a_channel_that_is_busy_is_left_alone(tmp_path: Path) -> None:
    """For as long as it says."""
    platform = Platform("streaming")
    platform.failure = ChannelUnavailable("rate limited", retry_after=60)
    assert (await shown(tmp_path, platform), len(platform.shown)) == ("done", 1)


async def test_a_channel_that_fails_is_asked_no_more(tmp_path: Path) -> None:
    """A mistake of ours is logged as one, once, and the task does not hear of it."""
    platform = Platform("streaming")
    platform.failure = ZeroDivisionError("a bug")
    with structlog.testing.capture_logs() as logs:
        assert (await shown(tmp_path, platform), len(platform.shown)) == ("done", 1)
    [entry] = [entry for entry in logs if entry["event"] == "progress_failed_unexpectedly"]
    assert (entry["log_level"], entry["channel"], entry["exc_info"]) == ("error", "chat", platform.failure)


async def shown(home: Path, platform: Platform) -> str:
    """Run a task that writes for a while; how it ended."""
    async with engine(home, channels=[platform]) as one:
        one.model.will(SLOW)
        return (await one.run(await wrote(one, "Go"))).task.status


async def test_signs_of_life_while_nothing_happens(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same is told again, for what fades by itself."""
    monkeypatch.setattr(showing, "QUIET_SECONDS", 0.02)
    platform = Platform("streaming")
    async with engine(tmp_path, channels=[platform]) as one:
        one.model.will(Reply(text="at last", pieces=1, delay_seconds=0.4))
        await one.run(await wrote(one, "Go"))
    assert [shown for shown in platform.shown if shown == platform.shown[0]][3:] != []


async def test_what_hangs_is_given_up_at_the_end(tmp_path: Path) -> None:
    """Of the process."""
    platform = Platform("streaming")
    platform.open.clear()
    async with engine(tmp_path, channels=[platform]) as one:
        one.model.will("Done.")
        await one.run(await wrote(one, "Go"))
        assert under_way() == 1
    assert (under_way(), platform.finished) == (0, 0)


def under_way() -> int:
    """Calls of a channel that have not ended."""
    return sum(task.get_name() == "progress chat" for task in asyncio.all_tasks())
