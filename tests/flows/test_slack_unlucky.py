"""Slack on a bad day: everything that a team does not do on purpose, through the whole product."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.flows.bot import LOOKS
from tests.flows.team import Team, reached, ready, team
from tests.flows.test_sign_off import writes
from tests.servers.llm import Reply
from tests.servers.slack.methods import BOT_SCOPES
from tests.servers.slack.web_api import Fault
from tests.servers.slack.world import Message

HELLO = Reply(text="Hello.")


async def test_connections_come_and_go_under_load(tmp_path: Path) -> None:
    """SLE-08: asked to go again and again, and cut without a word; every request is one task and has one answer."""
    async with team(tmp_path) as people:
        people.model.default = HELLO
        async with people.at_work() as app:
            requests = []
            for number in range(40):
                requests.append(people.mentions(people.ann, f"request {number}"))
                await people.slack.sockets.connected()
                if number == 20:
                    people.slack.sockets.drop()
                elif number % 4 == 3:
                    await people.slack.sockets.refresh(grace_seconds=0)
                await asyncio.sleep(0.01)
            await people.slack.acked()
            for request in requests:
                await people.reads("Hello.", thread=request.ts)
            tasks = await app.services.store.tasks()
    assert sorted(str(task.message_id) for task in tasks) == sorted(request.ts for request in requests)
    assert [len(people.slack.thread(people.ops, request.ts)) for request in requests] == [1] * 40


async def test_events_come_again_while_the_database_is_slow(tmp_path: Path) -> None:
    """SLE-03: nothing is acknowledged before it is written; all the copies are one task."""
    async with team(tmp_path) as people:
        people.model.default = HELLO
        people.slack.sockets.redelivery_seconds = 0.15
        async with people.at_work() as app:
            with closing(sqlite3.connect(tmp_path / "data" / "signoff.sqlite3")) as other:
                other.execute("BEGIN IMMEDIATE")
                request = people.mentions(people.ann, "hello")
                await brought(people, times=3)
                assert not any(one.is_taken for one in people.slack.deliveries)
                other.rollback()
            await people.reads("Hello.", thread=request.ts)
            await people.slack.acked()
            assert len(await app.services.store.tasks()) == 1
    assert len(people.slack.thread(people.ops, request.ts)) == 1


async def brought(people: Team, *, times: int) -> None:
    """Until Slack has brought everything so often."""
    for _ in range(LOOKS):
        if all(one.attempts >= times for one in people.slack.deliveries):
            return
        await asyncio.sleep(0.01)
    raise AssertionError("Slack did not bring it again")


async def test_a_token_is_revoked_and_comes_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """SLA-08: an answer waits for it, `/readyz` says what to do, and then it comes, once."""
    monkeypatch.setattr("channels.slack.calls.TOKEN_PAUSE", 0.2)
    async with team(tmp_path) as people, people.at_work() as app:
        people.model.will(Reply(text="Hello.", delay_seconds=0.1))
        request = people.mentions(people.ann, "hello")
        await people.slack.acked()
        people.slack.api.token_error = "token_revoked"
        await reached(app, 1, lambda state: state.task.status == "done")
        await told(app, "token_revoked")
        people.slack.api.token_error = ""
        await people.reads("Hello.", thread=request.ts)
        await told(app, None)
    assert len(people.slack.thread(people.ops, request.ts)) == 1


async def told(app: Any, part: str | None) -> None:
    """Until `/readyz` says this of Slack, or nothing."""
    while (said := (await ready(app)).get("down", {}).get("slack")) is None or part is None:
        if said is None and part is None:
            return
        await asyncio.sleep(0.01)
    assert part in said


USED = sorted(BOT_SCOPES - {"app_mentions:read", "commands", "reactions:read", "chat:write"})
"""Those without which something still works."""


@pytest.mark.parametrize("scope", USED)
async def test_a_missing_scope_takes_away_what_it_is_for_and_no_more(tmp_path: Path, scope: str) -> None:
    """SLF-11: a file in, a card, a press, a file out, the answer: the rest works, and the answer is there once."""
    async with team(tmp_path) as people:
        people.slack.api.scopes.discard(scope)
        file = people.slack.file(people.ann, "in.csv", b"x,y\n")
        people.model.will(writes("a.md"), "Done.")
        async with people.at_work() as app:
            request = people.mentions(people.ann, "Write it", files=[file])
            await people.slack.press(people.ann, await people.card(request.ts), "Approve")
            await people.reads("Done.", thread=request.ts)
            state = await reached(app, 1, lambda state: state.task.status == "done")
            direct = people.slack.writes(people.ann, "/status")
            if scope != "im:write":
                await people.reads("Workspace office", channel=direct.channel)
    assert state.task.answer == "Done."
    thread = people.slack.thread(people.ops, request.ts)
    assert [message.shown for message in thread].count("Done.") == 1
    assert bool(thread_files(thread)) == (scope != "files:write")
    assert (people.office / "inbox" / "in.csv").exists() == (scope != "files:read")


def thread_files(thread: list[Message]) -> list[str]:
    return [file.name for message in thread for file in message.files]


async def test_without_the_right_to_write_nothing_is_lost(tmp_path: Path) -> None:
    """The console has the answer, and people who look at `/readyz` know what to click."""
    async with team(tmp_path) as people, people.at_work() as app:
        people.slack.api.scopes.discard("chat:write")
        people.model.will("Hello.")
        people.mentions(people.ann, "hello")
        await people.slack.acked()
        state = await reached(app, 1, lambda state: state.task.status == "done")
        await told(app, "chat:write")
    assert state.task.answer == "Hello."


@pytest.mark.parametrize("what", ["archived", "removed"])
async def test_the_channel_is_gone_in_the_middle(tmp_path: Path, what: str) -> None:
    """M: what was asked for is not lost: its answer and its card reach whoever asked, alone."""
    async with team(tmp_path) as people, people.at_work() as app:
        people.model.will(Reply(text="Hello, hello.", delay_seconds=0.2), HELLO)
        people.mentions(people.ann, "hello")
        await people.slack.acked()
        if what == "archived":
            people.slack.archives(people.ann, people.ops)
        else:
            people.slack.removes_bot(people.ann, people.ops)
        direct = people.slack.direct(people.ann)
        await people.reads("I could not write this", channel=direct)
        await people.reads("Hello, hello.", channel=direct)
        await reached(app, 1, lambda state: state.task.status == "done")
        people.slack.writes(people.ann, "again")
        await people.reads("Hello.", channel=direct)


async def test_a_storm_of_limits_stays_in_its_channel(tmp_path: Path) -> None:
    """SLA-09: while one channel takes nothing for half a minute, another has its answers at once; then all is there."""
    async with team(tmp_path) as people:
        quiet = people.slack.room("quiet", people.ann)
        people.model.default = HELLO
        for method in ("chat.postMessage", "chat.startStream", "chat.stopStream", "chat.update"):
            people.slack.api.order(method, Fault(kind="rate_limited", seconds=1), times=5, channel=people.ops)
        async with people.at_work():
            requests = [people.mentions(people.ann, f"hello {number}") for number in range(5)]
            await people.slack.until(lambda: any(call.answer == "http_429" for call in people.slack.api.calls))
            fast = people.slack.says(people.ann, quiet, f"<@{people.slack.bot_user}> hello")
            await people.reads("Hello.", channel=quiet, thread=fast.ts)
            waiting = [request for request in requests if not people.slack.thread(people.ops, request.ts)]
            for request in requests:
                await people.reads("Hello.", thread=request.ts)
    assert waiting
    assert [len(people.slack.thread(people.ops, request.ts)) for request in requests] == [1] * 5


async def test_over_real_limits_everything_arrives_once(tmp_path: Path) -> None:
    """M: with Slack's own rates, more than it takes at once; progress gives way."""
    async with team(tmp_path) as people:
        people.slack.api.has_rates = True
        people.model.default = Reply(text="Hello, hello, hello.", pieces=4, delay_seconds=0.05)
        async with people.at_work():
            requests = [people.mentions(people.ann, f"hello {number}") for number in range(12)]
            for request in requests:
                await people.reads("Hello, hello, hello.", thread=request.ts)
    texts = [[message.shown for message in people.slack.thread(people.ops, request.ts)] for request in requests]
    assert texts == [["Hello, hello, hello."]] * 12
