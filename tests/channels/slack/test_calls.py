"""Calls of the Web API: their errors as ours, and no call where Slack wants none."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass

import pytest

from agent.errors import ChannelError, ChannelUnavailable, DeliveryRefused
from channels.slack.calls import TOKEN_PAUSE, UNNAMED_PAUSE, Calls, SlackRefused
from channels.slack.condition import Condition
from channels.slack.directory import MOST_LOOKUPS, Directory
from channels.slack.settings import SlackSettings
from tests.channels.slack.rig import Problems
from tests.clock import FakeClock
from tests.servers.slack.server import FakeSlack, running
from tests.servers.slack.web_api import Fault


@dataclass(frozen=True)
class Line:
    """Calls to a fake Slack, from two channels of which to call."""

    slack: FakeSlack
    calls: Calls
    clock: FakeClock
    problems: Problems
    ops: str
    dev: str

    async def post(self, channel: str) -> None:
        await self.calls.call("chat.postMessage", channel=channel, text="x")

    async def error(self, channel: str = "") -> ChannelError:
        with pytest.raises(ChannelError) as error:
            await self.post(channel or self.ops)
        return error.value


@pytest.fixture
async def line() -> AsyncIterator[Line]:
    async with running() as slack:
        clock, problems = FakeClock(), Problems()
        settings = SlackSettings.model_validate({"bot_token": slack.bot_token, "base_url": slack.api_url})
        calls = Calls(settings, Condition(problems.report), clock)
        yield Line(slack, calls, clock, problems, slack.room("ops"), slack.room("dev"))
        await calls.close()


async def test_a_channel_that_is_full_does_not_hold_up_others(line: Line) -> None:
    """SLA-09: for as long as Slack says nothing is sent there, and elsewhere everything."""
    line.slack.api.order("chat.postMessage", Fault(kind="rate_limited", seconds=30))
    error = await line.error()
    assert isinstance(error, ChannelUnavailable)
    assert error.retry_after == 30
    line.clock.advance(20)
    again = await line.error()
    assert isinstance(again, ChannelUnavailable)
    assert again.retry_after == pytest.approx(10)
    await line.post(line.dev)
    assert [call.arguments["channel"] for call in line.slack.api.calls] == [line.ops, line.dev]
    line.clock.advance(11)
    await line.post(line.ops)


@pytest.mark.parametrize(
    ("fault", "after"),
    [
        (Fault(kind="refused", error="ratelimited"), UNNAMED_PAUSE),
        (Fault(kind="refused", error="internal_error"), None),
        (Fault(kind="refused", error="fatal_error"), None),
        (Fault(kind="status", status=503), None),
        (Fault(kind="html"), None),
        (Fault(kind="cut"), None),
        (Fault(kind="cut", after=True), None),
    ],
    ids=str,
)
async def test_what_may_work_later(line: Line, fault: Fault, after: float | None) -> None:
    """SLA-09: also `ok: false` with status 200; also what may have arrived, which whoever sends looks for. Nothing is
    repeated by the way."""
    line.slack.api.order("chat.postMessage", fault)
    error = await line.error()
    assert isinstance(error, ChannelUnavailable)
    assert error.retry_after == after
    assert len(line.slack.messages(line.ops)) == (1 if fault.after else 0)
    assert len(line.slack.api.calls) == (2 if fault.after else 1)
    assert line.problems.now is None


@pytest.mark.parametrize("code", ["invalid_auth", "account_inactive", "token_revoked", "token_expired", "not_authed"])
async def test_a_refused_token_is_reported(line: Line, code: str) -> None:
    """SLA-08: the delivery waits, as somebody has to do something; once it works, nothing is wrong any more."""
    line.slack.api.token_error = code
    error = await line.error()
    assert isinstance(error, ChannelUnavailable)
    assert error.retry_after == TOKEN_PAUSE
    assert code in str(line.problems.now)
    line.slack.api.token_error = ""
    await line.post(line.ops)
    assert line.problems.now is None


async def test_a_missing_scope_is_reported(line: Line) -> None:
    """By its name, and for which method."""
    line.slack.api.scopes.discard("chat:write")
    error = await line.error()
    assert isinstance(error, SlackRefused)
    assert error.code == "missing_scope"
    assert str(error) == line.problems.now
    assert "chat:write for chat.postMessage" in str(error)


async def test_other_refusals_keep_slacks_word(line: Line) -> None:
    """And say what to do where we know it."""
    for code, part in (("not_in_channel", "invite it there"), ("something_new", "(something_new)")):
        line.slack.api.order("chat.postMessage", Fault(kind="refused", error=code))
        error = await line.error()
        assert isinstance(error, DeliveryRefused)
        assert isinstance(error, SlackRefused)
        assert error.code == code
        assert part in str(error)
    assert line.problems.now is None


async def test_nobody_there_is_an_outage(line: Line) -> None:
    """Whatever the library calls it."""
    await line.slack.close()
    assert isinstance(await line.error(), ChannelUnavailable)


async def test_nothing_is_called_once_it_is_closed(line: Line) -> None:
    """A late progress, say."""
    await line.calls.close()
    assert isinstance(await line.error(), ChannelUnavailable)


async def test_names_are_asked_for_once(line: Line) -> None:
    """Whom Slack does not name is missing, and asked for again."""
    directory = Directory(line.calls)
    ann, bob = line.slack.person("ann"), line.slack.person("bob")
    assert await directory.names([ann, bob, ann]) == {ann: "ann", bob: "bob"}
    assert await directory.names([ann, "U404"]) == {ann: "ann"}
    assert await directory.names([bob, "U404"]) == {bob: "bob"}
    assert sorted(call.arguments["user"] for call in line.slack.api.calls) == [ann, bob, "U404", "U404"]


async def test_a_crowd_is_not_asked_for(line: Line) -> None:
    """Slack takes some hundred such calls a minute."""
    directory = Directory(line.calls)
    crowd = [line.slack.person(f"p{number}") for number in range(30)]
    assert list(await directory.names(crowd)) == crowd[:MOST_LOOKUPS]
    assert len(await directory.names(crowd)) == 30


async def test_slow_names_are_done_without(line: Line) -> None:
    """An event is to be acknowledged within three seconds."""
    ann, bob = line.slack.person("ann"), line.slack.person("bob")
    directory = Directory(line.calls)
    line.slack.api.order("users.info", Fault(kind="slow", seconds=5))
    assert await directory.names([ann, bob]) in ({bob: "bob"}, {ann: "ann"})


async def test_people_are_written_to_where_they_talk_alone(line: Line) -> None:
    """Asked for once, or known from what they wrote; a channel is what it is."""
    directory = Directory(line.calls)
    ann, bob = line.slack.person("ann"), line.slack.person("bob", grid=True)
    directory.note_direct(bob, "D0BOB")
    assert [await directory.channel(one) for one in (ann, ann, bob, "C1")] == [
        *[line.slack.direct(ann)] * 2,
        "D0BOB",
        "C1",
    ]
    assert [call.method for call in line.slack.api.calls] == ["conversations.open"]
