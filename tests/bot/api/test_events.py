"""Following a task: every row once and in order, also across a lost connection and a restart of the server."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from agent.domain import Entry
from agent.live import Live
from agent.ports.channels import Progress
from agent.ports.store import Step
from agent.watch import Watch
from bot.api import access, events, people
from bot.api.approvals import Decision, decide
from bot.api.stream import as_text
from bot.api.tasks import entry_view
from bot.api.viewer import terminal
from tests.bot.api.site import Site, running
from tests.servers.llm import FakeLLM, Reply

WRITE = Reply(calls=[("write_file", {"path": "a.md", "content": "one\n"})])


@dataclass(frozen=True, kw_only=True)
class Got:
    """One event as a browser gets it."""

    kind: str
    seq: int | None
    data: dict[str, Any]


@asynccontextmanager
async def followed(
    site: Site, task_id: int, query: str = "", **headers: str
) -> AsyncIterator[tuple[aiohttp.ClientResponse, AsyncIterator[Got | str]]]:
    """The events of a task as Ann follows them; a comment is a str."""
    sent = {"Authorization": f"Bearer {await site.token('ann')}"} | {
        name.replace("_", "-"): value for name, value in headers.items()
    }
    async with site.http.get(f"{site.app.url}/v1/tasks/{task_id}/events{query}", headers=sent) as answer:
        yield answer, read(answer)


async def read(answer: aiohttp.ClientResponse) -> AsyncIterator[Got | str]:
    fields: dict[str, str] = {}
    async for line in answer.content:
        name, _, value = line.decode().rstrip("\n").partition(": ")
        if name == "" and value:
            yield value
        elif name:
            fields[name] = value
        elif "data" in fields:
            seq = int(fields["id"]) if "id" in fields else None
            yield Got(kind=fields["event"], seq=seq, data=json.loads(fields["data"]))
            fields = {}
        else:
            fields = {}


async def all_of(site: Site, task_id: int, query: str = "", **headers: str) -> list[Got]:
    async with followed(site, task_id, query, **headers) as (_, got):
        return [event async for event in got if isinstance(event, Got)]


async def all_left(got: AsyncIterator[Got | str]) -> list[Got | str]:
    return [event async for event in got]


def seqs(got: list[Got]) -> list[int]:
    return [event.seq for event in got if event.seq is not None]


def watching() -> list[asyncio.Task[Any]]:
    """What looks at the database for followers."""
    return [task for task in asyncio.all_tasks() if task.get_name() == "watch"]


async def until(got: AsyncIterator[Got | str], status: str) -> list[Got]:
    """The events up to a status."""
    found: list[Got] = []
    async for event in got:
        if isinstance(event, Got):
            found.append(event)
            if event.kind == "status" and event.data["status"] == status:
                return found
    raise AssertionError(f"the stream ended before {status}")


async def test_a_task_is_followed_from_its_request_to_its_end(site: Site) -> None:
    """Rows with their seq, the text as it grows, each status; the last event says how it ended."""
    site.model.will(WRITE, Reply(text="All done here.", pieces=4, delay_seconds=0.3))
    task_id = await site.task("ann")
    async with followed(site, task_id) as (answer, got):
        assert answer.headers["Content-Type"] == "text/event-stream"
        first = await until(got, "waiting_approval")
        [card] = (await site.app.services.store.load(task_id)).approvals
        await decide(site.app.services, await site.viewer("ann"), card.approval_id, Decision(verdict="approved"))
        rest = [event async for event in got if isinstance(event, Got)]
    journal = (await site.get("ann", f"/v1/tasks/{task_id}/journal")).json["journal"]
    assert [event.data for event in first + rest if event.kind == "entry"] == journal
    assert seqs(first + rest) == [entry["seq"] for entry in journal] == list(range(1, len(journal) + 1))
    assert (rest[-1].kind, rest[-1].data) == ("status", {"task_id": task_id, "status": "done", "error_code": None})
    texts = [event.data["text"] for event in rest if event.kind == "progress"]
    assert texts
    assert all("All done here.".startswith(text) for text in texts)


async def test_whoever_comes_back_goes_on_where_they_were(site: Site) -> None:
    """Last-Event-ID and `after` do the same; nothing is sent twice and nothing is left out."""
    site.model.will(WRITE, "Done.")
    task_id = await site.task("ann")
    async with followed(site, task_id) as (_, got):
        seen = seqs(await until(got, "waiting_approval"))
    [card] = (await site.app.services.store.load(task_id)).approvals
    await decide(site.app.services, await site.viewer("ann"), card.approval_id, Decision(verdict="approved"))
    rest = await all_of(site, task_id, Last_Event_ID=str(seen[-1]))
    whole = await all_of(site, task_id)
    assert seen + seqs(rest) == seqs(whole)
    assert seqs(await all_of(site, task_id, f"?after={seen[-1]}")) == seqs(rest)
    assert seqs(await all_of(site, task_id, "?after=1", Last_Event_ID=str(seen[-1]))) == seqs(rest)


async def test_after_the_end_a_browser_need_not_come_again(site: Site) -> None:
    """204 for one that has seen all; whoever asks anew is told how it ended."""
    site.model.will("Done.")
    task_id = await site.task("ann")
    last = seqs(await all_of(site, task_id))[-1]
    again = await site.get("ann", f"/v1/tasks/{task_id}/events", headers={"Last-Event-ID": str(last)})
    assert (again.status, again.body) == (204, b"")
    assert [event.kind for event in await all_of(site, task_id, f"?after={last}")] == ["status"]


async def test_a_stream_goes_on_after_a_restart_of_the_server(tmp_path: Path) -> None:
    """The journal is in the rows: a follower of the old process misses nothing at the new one."""
    model = FakeLLM()
    await model.start()
    model.will(WRITE, "Done.")
    async with AsyncExitStack() as connections:
        connections.push_async_callback(model.close)
        async with running(tmp_path, model) as site:
            task_id = await site.task("ann")
            _, got = await connections.enter_async_context(followed(site, task_id))
            seen = seqs(await until(got, "waiting_approval"))
        async with running(tmp_path, model) as site:
            async with followed(site, task_id, Last_Event_ID=str(seen[-1])) as (_, got):
                assert [event.data["status"] for event in await until(got, "waiting_approval")] == ["waiting_approval"]
                [card] = (await site.app.services.store.load(task_id)).approvals
                await decide(site.app.services, await site.viewer("ann"), card.approval_id, Decision(verdict="denied"))
                rest = [event async for event in got if isinstance(event, Got)]
            assert rest[-1].data["status"] == "done"
            assert seen + seqs(rest) == seqs(await all_of(site, task_id))


async def test_what_another_process_writes_arrives(site: Site) -> None:
    """Rows that this process did not write are found by looking, once for all followers."""
    site.model.will(WRITE, "Done.")
    task_id = await site.task("ann")
    await site.reached(task_id, "waiting_approval")
    async with followed(site, task_id) as (_, got), followed(site, task_id) as (_, other):
        for stream in (got, other):
            await until(stream, "waiting_approval")
        # Approvals as another process has them: nothing rings in this one.
        await site.app.services.approvals.cancel(task_id)
        for stream in (got, other):
            assert (await until(stream, "cancelled"))[-1].data["status"] == "cancelled"


async def test_a_quiet_stream_shows_that_it_lives(site: Site) -> None:
    """After a while without news a sign of life is told; a follower who went away leaves nothing behind."""
    site.model.will(WRITE)
    task_id = await site.task("ann")
    await site.reached(task_id, "waiting_approval")
    services = site.app.services
    stream = events.follow(services, await site.viewer("ann"), task_id, quiet_seconds=0.01)
    kinds = [(await anext(stream)).kind for _ in range(7)]
    assert kinds[-1] == "quiet"
    assert services.live.tasks() == [task_id]
    await stream.aclose()
    assert services.live.tasks() == []


async def test_a_browser_that_goes_away_is_forgotten(site: Site) -> None:
    """The stream ends at the next thing that would be written."""
    site.model.will(WRITE)
    task_id = await site.task("ann")
    await site.reached(task_id, "waiting_approval")
    async with followed(site, task_id) as (_, got):
        await until(got, "waiting_approval")
    rows = len((await site.app.services.store.load(task_id)).entries)
    for number in range(200):
        progress = Progress(task_id=task_id, status="waiting_approval", text=f"{number}", entries=rows)
        site.app.services.live.publish(progress)
        await asyncio.sleep(0.01)
        if not site.app.services.live.tasks():
            return
    raise AssertionError("the stream is still open")


@pytest.mark.parametrize("lost", ["role", "token", "person"])
async def test_whoever_may_no_longer_follow_reads_no_further(site: Site, lost: str) -> None:
    """The stream ends, also of somebody who has only lost a role: they come back with what they may see now."""
    services = site.app.services
    admin = terminal(services.people, services.workspaces)
    await people.add_person(services, admin, people.NewPerson(name="eve", roles=["admin"]))
    text = await site.token("eve")
    site.model.will(WRITE)
    task_id = await site.task("ann")
    await site.reached(task_id, "waiting_approval")
    async with followed(site, task_id, Authorization=f"Bearer {text}") as (answer, got):
        await until(got, "waiting_approval")
        rest = asyncio.ensure_future(all_left(got))
        if lost == "role":
            await people.change_person(services, admin, "eve", people.PersonChange(roles=[]))
        elif lost == "person":
            await people.remove_person(services, admin, "eve")
        else:
            await access.revoke_token(services, admin, int(text.split("_")[1]))
        rows = len((await services.store.load(task_id)).entries)
        for number in range(1_000):
            if rest.done():
                break
            progress = Progress(task_id=task_id, status="waiting_approval", text=f"{number}", entries=rows)
            services.live.publish(progress)
            await asyncio.sleep(0.01)
        else:
            raise AssertionError("the stream is still open")
        assert answer.status == 200
        assert len(await rest) < 900
    headers = {"Authorization": f"Bearer {text}"}
    assert (await site.get(None, f"/v1/tasks/{task_id}", headers=headers)).status == (404 if lost == "role" else 401)


async def test_two_hundred_streams_ask_the_database_once(site: Site) -> None:
    """However many follow, one look a second is made for all of them together."""
    site.model.will(WRITE)
    task_id = await site.task("ann")
    await site.reached(task_id, "waiting_approval")
    services = site.app.services
    streams = [events.follow(services, await site.viewer("ann"), task_id) for _ in range(200)]
    try:
        for stream in streams:
            assert (await anext(stream)).seq == 1
        assert len(services.live.tasks()) == 1
        assert len(watching()) == 1
    finally:
        for stream in streams:
            await stream.aclose()


@pytest.mark.parametrize("last", ["x", "-1", "1.5", "9" * 30, " 1 _0"])
async def test_a_place_that_is_none_is_refused(site: Site, last: str) -> None:
    """A damaged Last-Event-ID is not taken for the beginning."""
    site.model.will("Done.")
    task_id = await site.task("ann")
    answer = await site.get("ann", f"/v1/tasks/{task_id}/events", headers={"Last-Event-ID": last})
    assert (answer.status, answer.error["field"]) == (422, "Last-Event-ID")


async def test_a_slow_follower_gets_the_newest_of_everything() -> None:
    """Text that was not fetched yet is not lost by news without text, until it has become a row."""
    live = Live()
    with live.follow(1) as follower:
        live.publish(Progress(task_id=1, status="running", text="half"))
        live.publish(Progress(task_id=1, status="running", text="whole", entries=1))
        live.publish(Progress(task_id=1, status="queued", entries=1))
        assert await follower.next(1) == Progress(task_id=1, status="queued", text="whole", entries=1)
        assert await follower.next(0.01) is None
        live.publish(Progress(task_id=1, status="running", text="last words", entries=1))
        live.publish(Progress(task_id=1, status="done", entries=2))
        assert await follower.next(1) == Progress(task_id=1, status="done", entries=2)
        live.publish(Progress(task_id=2, status="running", text="another's"))
        live.publish(Progress(task_id=1, status="done", entries=3))
        assert await follower.next(1) == Progress(task_id=1, status="done", entries=3)
    assert not live.followed(1)


async def test_a_refused_press_does_not_stop_the_text(site: Site) -> None:
    """Its row is written beside the run, which goes on to count without it; text before a row of the run is old."""
    site.model.will(WRITE)
    task_id = await site.task("ann")
    await site.reached(task_id, "waiting_approval")
    services = site.app.services
    rows = len((await services.store.load(task_id)).entries)
    stream = events.follow(services, await site.viewer("ann"), task_id)
    while (await anext(stream)).kind != "status":
        pass
    services.live.publish(Progress(task_id=task_id, status="waiting_approval", text="half", entries=rows))
    assert (await anext(stream)).data == events.ProgressView(task_id=task_id, after_seq=rows, text="half")
    refused = await site.post("bob", "/v1/approvals/1/decision", {"verdict": "approved"})
    assert refused.status == 404
    assert (await anext(stream)).seq == rows + 1
    services.live.publish(Progress(task_id=task_id, status="waiting_approval", text="whole", entries=rows))
    assert (await anext(stream)).data == events.ProgressView(task_id=task_id, after_seq=rows + 1, text="whole")
    said = Step(entries=(Entry(kind="assistant", data={"text": "whole", "calls": []}),))
    await services.store.change(task_id, lambda _: said)
    assert (await anext(stream)).seq == rows + 2
    services.live.publish(Progress(task_id=task_id, status="waiting_approval", text="whole", entries=rows))
    await services.approvals.cancel(task_id)
    assert "progress" not in [event.kind async for event in stream]


async def test_nobody_is_looked_after_when_nobody_looks(site: Site) -> None:
    """The watch ends with its last follower and begins again with the next."""
    site.model.will(WRITE)
    task_id = await site.task("ann")
    await site.reached(task_id, "waiting_approval")
    live = Live()
    watch = Watch(live, site.app.services.store)
    for _ in range(2):
        with watch.follow(task_id) as follower:
            news = await follower.next(30)
            assert news is not None
            assert (news.status, news.entries) == ("waiting_approval", 3)
        await asyncio.wait(watching())
    await watch.close()


def test_a_line_break_in_a_text_does_not_end_an_event() -> None:
    """Whatever a model writes stays inside the one line of data."""
    hostile = "a\n\nevent: status\ndata: {}\r\rid: 7\u2028"
    view = entry_view(Entry(kind="assistant", data={"text": hostile}, seq=3))
    lines = as_text(events.Event(kind="entry", data=view, seq=3)).split("\n")
    assert [line.partition(":")[0] for line in lines] == ["id", "event", "data", "", ""]
    assert "\r" not in lines[2]
    assert json.loads(lines[2].removeprefix("data: "))["data"]["text"] == hostile
