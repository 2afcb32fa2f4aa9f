"""Socket Mode: nothing is lost or doubled over connections, and what is wrong with them is told."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from agent.ports.channels import ChannelMessage, Receipt
from tests.channels.slack.rig import Desk, rigged
from tests.servers.slack.server import running
from tests.servers.slack.web_api import Fault


class Slow(Desk):
    """Takes a message only once `free` is set."""

    def __init__(self) -> None:
        super().__init__()
        self.begun, self.free = asyncio.Event(), asyncio.Event()

    async def receive(self, message: ChannelMessage) -> Receipt:
        self.begun.set()
        await self.free.wait()
        return await super().receive(message)


async def test_an_event_is_acknowledged_once_it_is_taken(tmp_path: Path) -> None:
    """And not before."""
    chat = Slow()
    async with rigged(tmp_path, chat) as rig:
        rig.slack.writes(rig.ann, "hello")
        await chat.begun.wait()
        await asyncio.sleep(0.05)
        assert not rig.slack.deliveries[0].is_taken
        chat.free.set()
        await rig.slack.acked()
        assert (rig.slack.deliveries[0].is_taken, rig.slack.deliveries[0].attempts) == (True, 1)
        assert rig.slack.sockets.strange_acks == []


async def test_what_nobody_waits_for_is_taken(tmp_path: Path) -> None:
    """Slack would bring it again."""
    async with rigged(tmp_path, Desk()) as rig:
        rig.slack.reacts(rig.ann, rig.slack.says(rig.bob, rig.ops, "lunch?"), "eyes")
        rig.slack.event({"type": "something_new", "user": {"id": "U1"}})
        delivery = await rig.slack.bring("interactive", {"type": "message_action", "callback_id": "x"})
        await rig.slack.acked()
        assert all(one.is_taken and one.attempts == 1 for one in rig.slack.deliveries)
        assert delivery.answer == {}


@pytest.mark.parametrize("how", ["refresh", "drop"])
async def test_a_new_connection_takes_over(tmp_path: Path, how: str) -> None:
    """SLE-08: whether Slack asks for it or it breaks; what was under way then is taken, and its key is the same."""
    chat = Slow()
    async with rigged(tmp_path, chat) as rig:
        await rig.slack.sockets.connected()
        rig.slack.writes(rig.ann, "hello")
        await chat.begun.wait()
        if how == "refresh":
            await rig.slack.sockets.refresh()
        else:
            rig.slack.sockets.drop()
        chat.free.set()
        await rig.slack.acked()
        rig.slack.writes(rig.ann, "more")
        await rig.slack.acked()
        assert rig.slack.sockets.opened == 2
    assert len({message.dedup_key for message in chat.heard}) == 2
    assert {message.text for message in chat.heard} == {"hello", "more"}


async def test_the_old_connection_goes_on_until_it_is_closed(tmp_path: Path) -> None:
    """Asked to go, it still acknowledges what it was given."""
    chat = Slow()
    async with rigged(tmp_path, chat) as rig:
        await rig.slack.sockets.connected()
        rig.slack.writes(rig.ann, "hello")
        await chat.begun.wait()
        leaving = asyncio.create_task(rig.slack.sockets.refresh(grace_seconds=0.5))
        await asyncio.sleep(0)  # from now on it is leaving
        await rig.slack.sockets.connected()
        chat.free.set()
        await rig.slack.acked()
        assert rig.slack.deliveries[0].attempts == 1
        await leaving


async def test_an_event_on_two_connections_has_one_key(tmp_path: Path) -> None:
    """SLE-08: while connections change, Slack may bring the same event on both."""
    chat = Desk()
    async with rigged(tmp_path, chat) as rig:
        rig.slack.writes(rig.ann, "hello")
        await rig.slack.acked()
        rig.slack.again(rig.slack.deliveries[0])
        await rig.slack.acked()
    first, second = chat.heard
    assert first.dedup_key == second.dedup_key


async def test_a_second_process_with_the_token_is_warned_about(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """SLE-20: it takes half the events; both work, as the rows are the same."""
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    one, two = Desk(), Desk()
    async with running() as slack, rigged(tmp_path / "one", one, slack=slack) as rig:
        await slack.sockets.connected()
        assert "slack_app_token_used_elsewhere" not in capsys.readouterr().out
        async with rigged(tmp_path / "two", two, slack=slack):
            await slack.sockets.connected(2)
            for number in range(4):
                slack.writes(rig.ann, str(number))
                await slack.acked()
            assert "slack_app_token_used_elsewhere" in capsys.readouterr().out
    assert (len(one.heard), len(two.heard)) == (2, 2)


@pytest.mark.parametrize("code", ["invalid_auth", "account_inactive", "token_revoked"])
async def test_a_refused_token_is_told_and_left_alone(tmp_path: Path, code: str) -> None:
    """SLA-08: no loop; starting does not wait for it, so that the other channels work."""
    async with running() as slack:
        slack.api.token_error = code
        async with rigged(tmp_path, Desk(), slack=slack) as rig:
            problem = await rig.problems.say(code)
            assert (
                problem
                == f"Slack refuses the bot token ({code}): install the app again and put the new token into .env."
            )
            await asyncio.sleep(0.3)
            assert len(slack.api.calls) == 1


async def test_a_refused_app_token_is_told(tmp_path: Path) -> None:
    """The same for the token of the socket."""
    async with running() as slack:
        slack.api.app_token_error = "token_revoked"
        async with rigged(tmp_path, Desk(), slack=slack) as rig:
            assert "app token" in await rig.problems.say("token_revoked")
            await asyncio.sleep(0.3)
            assert len([call for call in slack.api.calls if call.method == "apps.connections.open"]) == 1


async def test_a_token_that_is_revoked_while_it_runs_is_told(tmp_path: Path) -> None:
    """Slack says so; whatever else is called finds out, too."""
    async with rigged(tmp_path, Desk()) as rig:
        await rig.slack.sockets.connected()
        rig.slack.api.token_error = "token_revoked"
        rig.slack.event({"type": "tokens_revoked", "tokens": {"bot": [rig.slack.bot_user]}})
        await rig.problems.say("token_revoked")


async def test_a_missing_scope_is_named(tmp_path: Path) -> None:
    """And no more once it works."""
    async with rigged(tmp_path, Desk()) as rig:
        rig.slack.api.scopes.discard("users:read")
        rig.slack.writes(rig.ann, "hello")
        await rig.slack.acked()
        assert (
            rig.problems.now
            == "The Slack app lacks the scope users:read for users.info: add it and install the app again."
        )
        rig.slack.api.scopes.add("users:read")
        rig.slack.writes(rig.ann, "hello")
        await rig.slack.acked()
        assert rig.problems.now is None


async def test_trouble_at_the_start_passes(tmp_path: Path) -> None:
    """It is told while it lasts, and tried again."""
    async with running() as slack:
        slack.api.order("apps.connections.open", Fault(kind="status"), times=2)
        chat = Desk()
        async with rigged(tmp_path, chat, slack=slack) as rig:
            assert "apps.connections.open" in await rig.problems.say("HTTP 500")
            await rig.problems.pass_by()
            slack.writes(rig.ann, "hello")
            await slack.acked()
    assert [message.text for message in chat.heard] == ["hello"]


async def test_socket_mode_that_is_turned_off_is_told(tmp_path: Path) -> None:
    """Somebody clicked it off in the app's settings; it is told until a connection stands again."""
    async with rigged(tmp_path, Desk()) as rig:
        await rig.slack.sockets.connected()
        rig.slack.api.order("apps.connections.open", Fault(kind="refused", error="link_disabled"))
        await rig.slack.sockets.refresh("link_disabled")
        await rig.problems.say("Socket Mode is turned off")
        await rig.problems.pass_by()


async def test_a_mistake_in_receiving_is_told(tmp_path: Path) -> None:
    """Nobody would wonder why it is so quiet."""
    async with running() as slack:
        slack.api.handlers["apps.connections.open"] = lambda _world, _given: {}  # without an address
        async with rigged(tmp_path, Desk(), slack=slack) as rig:
            assert "Restart" in await rig.problems.say("Receiving from Slack failed")


async def test_stopping_lets_what_is_under_way_end(tmp_path: Path) -> None:
    """And takes nothing more."""
    chat = Slow()
    async with rigged(tmp_path, chat) as rig:
        await rig.slack.sockets.connected()
        rig.slack.writes(rig.ann, "hello")
        await chat.begun.wait()
        stopping = asyncio.create_task(rig.channel.stop())
        await asyncio.sleep(0.05)
        chat.free.set()
        await stopping
        await rig.slack.acked()
        assert rig.slack.deliveries[0].is_taken
        assert rig.slack.sockets.connections == []
