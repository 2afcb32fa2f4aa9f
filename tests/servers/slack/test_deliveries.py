"""What the app is brought, over Socket Mode and as signed requests, and what people see of its answers."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any
from urllib.parse import parse_qs

import aiohttp
import pytest
from aiohttp import web
from slack_bolt.adapter.socket_mode.async_handler import AsyncSocketModeHandler
from slack_bolt.async_app import AsyncApp
from slack_sdk.signature import SignatureVerifier
from slack_sdk.web.async_client import AsyncWebClient

from tests.servers.slack.conftest import Office
from tests.servers.slack.deliveries import Delivery
from tests.servers.slack.server import FakeSlack
from tests.servers.slack.test_web_api import actions, button, error_of
from tests.servers.slack.web_api import Fault

Json = dict[str, Any]
MODAL: Json = {
    "type": "modal",
    "callback_id": "edit",
    "title": {"type": "plain_text", "text": "Edit"},
    "submit": {"type": "plain_text", "text": "Send"},
    "private_metadata": "token",
    "blocks": [
        {
            "type": "input",
            "block_id": "why",
            "label": {"type": "plain_text", "text": "Reason"},
            "element": {"type": "plain_text_input", "action_id": "text", "max_length": 10},
        }
    ],
}


class Listener:
    """A bare websocket that keeps what arrives and says yes to what it is told to."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self.socket = socket
        self.got: list[Json] = []

    async def next(self) -> Json:
        found: Json = await self.socket.receive_json(timeout=5)
        self.got.append(found)
        return found

    async def acknowledge(self, envelope: Json, payload: Json | None = None) -> None:
        answer = {"envelope_id": envelope["envelope_id"], **({"payload": payload} if payload else {})}
        await self.socket.send_json(answer)


@asynccontextmanager
async def listening(slack: FakeSlack) -> AsyncIterator[Listener]:
    async with aiohttp.ClientSession() as session:
        headers = {"Authorization": f"Bearer {slack.app_token}"}
        async with session.post(f"{slack.api_url}apps.connections.open", headers=headers) as response:
            url = (await response.json())["url"]
        async with session.ws_connect(url) as socket:
            listener = Listener(socket)
            assert (await listener.next())["type"] == "hello"
            yield listener


async def test_a_mention_arrives_twice(office: Office) -> None:
    """As message and as app_mention, each with an id of its own; direct messages once; strange channels not at all."""
    slack = office.slack
    slack.says(office.ann, office.ops, f"<@{slack.bot_user}> hello")
    slack.writes(office.ann, "hello")
    slack.says(office.ann, slack.room("other", office.ann, with_bot=False), f"<@{slack.bot_user}> hello")
    async with listening(slack) as listener:
        for _ in range(3):
            await listener.acknowledge(await listener.next())
        await slack.acked()
    events = [envelope["payload"]["event"] for envelope in listener.got[1:]]
    assert sorted((event["type"], event.get("channel_type")) for event in events) == [
        ("app_mention", None),
        ("message", "channel"),
        ("message", "im"),
    ]
    assert len({envelope["payload"]["event_id"] for envelope in listener.got[1:]}) == 3


async def test_what_is_not_acknowledged_comes_again(office: Office) -> None:
    """SLE-03, SLE-08: the same event, another envelope, saying that it is a repetition; then Slack gives up."""
    slack = office.slack
    slack.sockets.redelivery_seconds = 0.05
    async with listening(slack) as listener:
        slack.writes(office.ann, "hello")
        got = [await listener.next() for _ in range(4)]
        await slack.acked()
    assert [envelope["retry_attempt"] for envelope in got] == [0, 1, 2, 3]
    assert len({envelope["envelope_id"] for envelope in got}) == 4
    assert len({envelope["payload"]["event_id"] for envelope in got}) == 1
    assert (slack.deliveries[-1].attempts, slack.deliveries[-1].is_taken) == (4, False)


async def test_each_event_goes_to_one_of_several_connections(office: Office) -> None:
    """SLE-20: two connections share the events, and are told how many there are."""
    slack = office.slack
    async with listening(slack) as one, listening(slack) as two:
        assert two.got[0]["num_connections"] == 2
        for number in range(4):
            slack.writes(office.ann, str(number))
        for listener in (one, two, one, two):
            await listener.acknowledge(await listener.next())
        await slack.acked()
        assert (len(one.got), len(two.got)) == (3, 3)


@pytest.mark.parametrize("how", ["refresh", "drop"])
async def test_an_ended_connection_loses_nothing(office: Office, how: str) -> None:
    """Asked to go or cut: what it had not acknowledged comes over the next one."""
    slack = office.slack
    async with listening(slack) as listener:
        slack.writes(office.ann, "hello")
        first = await listener.next()
        if how == "refresh":
            await slack.sockets.refresh()
            assert (await listener.next())["reason"] == "refresh_requested"
        else:
            slack.sockets.drop()
    async with listening(slack) as listener:
        second = await listener.next()
        await listener.acknowledge(second)
        await slack.acked()
    assert first["payload"] == second["payload"]


async def test_a_ticket_is_good_for_one_connection(office: Office) -> None:
    """And an acknowledgement for one envelope; ten connections are the most."""
    slack = office.slack
    async with listening(slack) as listener:
        await listener.socket.send_json({"envelope_id": "made up"})
        slack.writes(office.ann, "hello")
        await listener.acknowledge(await listener.next())
        await slack.acked()
    assert len(slack.sockets.strange_acks) == 1
    async with AsyncExitStack() as stack:
        for _ in range(10):
            await stack.enter_async_context(listening(slack))
        assert await error_of(office.client.apps_connections_open(app_token=slack.app_token)) == "too_many_websockets"
    async with aiohttp.ClientSession() as session:
        with pytest.raises(aiohttp.WSServerHandshakeError):
            await session.ws_connect(f"{slack.world.url}/link/?ticket=x")


@asynccontextmanager
async def app_of(slack: FakeSlack) -> AsyncIterator[AsyncApp]:
    """Bolt, connected over Socket Mode."""
    app = AsyncApp(client=AsyncWebClient(slack.bot_token, base_url=slack.api_url))
    handler = AsyncSocketModeHandler(app, slack.app_token, web_client=app.client)
    await handler.connect_async()  # type: ignore[no-untyped-call]
    await slack.sockets.connected()
    try:
        yield app
    finally:
        await handler.close_async()  # type: ignore[no-untyped-call]


async def test_the_official_client_works_with_it(office: Office) -> None:
    """Bolt over Socket Mode: a press opens a modal, what is sent is refused and then taken, the card is edited."""
    slack = office.slack
    async with app_of(slack) as app:

        @app.action("a")
        async def opens(ack: Any, body: Json, client: Any) -> None:
            await ack()
            await client.views_open(trigger_id=body["trigger_id"], view=MODAL)

        @app.view("edit")
        async def takes(ack: Any, view: Json, client: Any) -> None:
            reason = view["state"]["values"]["why"]["text"]["value"]
            if reason == "no":
                await ack(response_action="errors", errors={"why": "Say more"})
                return
            await ack()
            await client.chat_update(channel=office.ops, ts=sent["ts"], text=f"because {reason}", blocks=[])

        sent = await office.client.chat_postMessage(
            channel=office.ops, text="card", blocks=[actions(button(value="v"))]
        )
        card = slack.messages(office.ops)[-1]
        await slack.press(office.ann, card, "Approve")
        await slack.until(lambda: slack.has_modal(office.ann))
        modal = slack.modal(office.ann)
        await slack.submit(office.ann, modal, {"Reason": "no"})
        assert modal.errors == {"why": "Say more"}
        with pytest.raises(AssertionError, match="at most 10"):
            await slack.submit(office.ann, modal, {"Reason": "x" * 11})
        await slack.submit(office.ann, modal, {"Reason": "it is so"})
        assert not slack.has_modal(office.ann)
        await slack.until(lambda: card.shown == "because it is so")
        with pytest.raises(AssertionError, match="is closed"):
            await slack.submit(office.ann, modal, {"Reason": "again"})
        with pytest.raises(AssertionError, match="'Approve' is not among"):
            await slack.press(office.ann, card, "Approve")
    views = [delivery.payload["view"] for delivery in slack.deliveries if "view" in delivery.payload]
    assert [view["private_metadata"] for view in views] == ["token", "token"]


async def test_a_trigger_works_once_for_three_seconds(office: Office) -> None:
    """The modal opens from the press, before anything slow."""
    slack, client = office.slack, office.client
    now = 1_000.0
    slack.world.now = lambda: now
    trigger = slack.world.trigger(office.ann)
    await client.views_open(trigger_id=trigger, view=MODAL)
    assert await error_of(client.views_open(trigger_id=trigger, view=MODAL)) == "exchanged_trigger_id"
    trigger = slack.world.trigger(office.ann)
    now += 3.1
    assert await error_of(client.views_open(trigger_id=trigger, view=MODAL)) == "expired_trigger_id"
    assert await error_of(client.views_open(trigger_id="1.2.3", view=MODAL)) == "invalid_trigger_id"


@pytest.mark.parametrize(
    "wrong",
    [
        {"title": {"type": "plain_text", "text": "x" * 25}},
        {"submit": {"type": "plain_text", "text": "x" * 25}},
        {"private_metadata": "x" * 3_001},
        {"callback_id": "x" * 256},
        {"blocks": [{"type": "divider"}] * 101},
        {"blocks": [{"type": "markdown", "text": "x"}]},
        {"colour": "red"},
        {"type": "dialog"},
    ],
)
async def test_illegal_modals_are_refused(office: Office, wrong: Json) -> None:
    """Lengths, counts, kinds and unknown fields; the trigger is still good."""
    trigger = office.slack.world.trigger(office.ann)
    call = office.client.api_call("views.open", json={"trigger_id": trigger, "view": {**MODAL, **wrong}})
    assert await error_of(call) == "invalid_arguments"
    await office.client.views_open(trigger_id=trigger, view=MODAL)
    view = office.slack.modal(office.ann).view
    assert await error_of(client_update(office, view_id=view["id"], hash="old")) == "hash_conflict"
    await client_update(office, view_id=view["id"], hash=view["hash"])
    assert await error_of(client_update(office, view_id="V404")) == "not_found"


def client_update(office: Office, **arguments: str) -> Any:
    return office.client.api_call("views.update", json={"view": MODAL, **arguments})


async def test_a_modal_with_fields_needs_a_button(office: Office) -> None:
    """Slack refuses a view with inputs and no submit."""
    view = {name: value for name, value in MODAL.items() if name != "submit"}
    call = office.client.views_open(trigger_id=office.slack.world.trigger(office.ann), view=view)
    assert await error_of(call) == "invalid_arguments"


class Receiver:
    """An app behind HTTP: verifies as the official library does, answers `statuses` in turn, then 200."""

    def __init__(self, slack: FakeSlack) -> None:
        self.verifier = SignatureVerifier(slack.signing_secret)
        self.statuses: list[int] = []
        self.got: list[tuple[str, bytes, str | None]] = []

    async def take(self, request: web.Request) -> web.Response:
        body = await request.read()
        if not self.verifier.is_valid_request(body, dict(request.headers)):
            return web.Response(status=401)
        self.got.append((request.content_type, body, request.headers.get("X-Slack-Retry-Num")))
        return web.Response(status=self.statuses.pop(0) if self.statuses else 200)


@asynccontextmanager
async def receiving(slack: FakeSlack) -> AsyncIterator[Receiver]:
    receiver = Receiver(slack)
    app = web.Application()
    app.router.add_post("/slack", receiver.take)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    slack.http.request_url = f"http://127.0.0.1:{runner.addresses[0][1]}/slack"
    try:
        yield receiver
    finally:
        await runner.cleanup()


async def test_requests_are_signed_and_repeated(office: Office) -> None:
    """SLA-04, SLE-03: events as JSON, the rest as forms, over the raw body; a failed event comes again, numbered."""
    slack = office.slack
    slack.http.retry_seconds = (0, 0, 0)
    async with receiving(slack) as receiver:
        receiver.statuses = [500, 503]
        slack.writes(office.ann, "grüße")
        await slack.acked()
        await slack.command(office.ann, office.ops, "/signoff", "check")
    assert [retry for _, _, retry in receiver.got] == [None, "1", "2", None]
    assert receiver.got[0][1] == receiver.got[2][1]
    assert json.loads(receiver.got[0][1])["event"]["text"] == "grüße"
    assert receiver.got[3][0] == "application/x-www-form-urlencoded"
    assert parse_qs(receiver.got[3][1].decode())["text"] == ["check"]
    assert slack.deliveries[0].statuses == [500, 503, 200]


async def test_forged_requests_can_be_sent(office: Office) -> None:
    """SLA-01, SLA-03: unsigned, of another secret, or too old."""
    slack = office.slack
    body = b'{"type": "event_callback"}'
    async with receiving(slack) as receiver:
        signed = slack.http.signature(body)
        forged = [{}, {**signed, "X-Slack-Signature": "v0=00"}, slack.http.signature(body, age_seconds=301)]
        assert [(await slack.http.post(body, headers))[0] for headers in (*forged, signed)] == [401, 401, 401, 200]
    assert len(receiver.got) == 1


async def test_own_messages_and_edits_come_back(office: Office) -> None:
    """SLE-09, SLE-13, SLE-14: what the bot wrote, what was changed and what was deleted arrive as events, too."""
    slack = office.slack
    ts = (await office.client.chat_postMessage(channel=office.ops, text="one"))["ts"]
    await office.client.chat_update(channel=office.ops, ts=ts, text="two")
    request = slack.says(office.ann, office.ops, "hello")
    slack.edits(office.ann, request, f"<@{slack.bot_user}> hello")
    slack.deletes(request)
    events = [delivery.payload["event"] for delivery in slack.deliveries]
    assert [(event["type"], event.get("subtype"), "edited" in event) for event in events] == [
        ("message", None, False),
        ("message", "message_changed", False),
        ("message", None, False),
        ("message", "message_changed", False),
        ("app_mention", None, True),
        ("message", "message_deleted", False),
    ]
    assert events[0]["bot_id"] == slack.world.bot_id


async def test_a_guest_of_another_company_is_marked(office: Office) -> None:
    """SLA-10, SLA-13: their team stands beside ours; ids of a grid begin with W."""
    slack = office.slack
    eve = slack.person("eve", team="T0EXT", grid=True)
    shared = slack.room("shared", eve, office.ann)
    slack.says(eve, shared, "hello")
    slack.says(office.ann, shared, "hello")
    theirs, ours = (delivery.payload for delivery in slack.deliveries)
    assert eve.startswith("W")
    assert (theirs["event"]["user_team"], theirs["is_ext_shared_channel"]) == ("T0EXT", True)
    assert "user_team" not in ours["event"]


async def test_a_response_url_is_good_five_times(office: Office) -> None:
    """SLB-11: five uses within half an hour."""
    slack = office.slack
    now = 1_000.0
    slack.world.now = lambda: now
    async with receiving(slack), aiohttp.ClientSession() as session:
        urls = [(await slack.command(office.ann, office.ops, "/signoff")).payload["response_url"] for _ in range(2)]
        statuses = [(await session.post(urls[0], json={"text": "x"})).status for _ in range(6)]
        now += 1_801
        statuses.append((await session.post(urls[1], json={"text": "x"})).status)
    assert statuses == [200] * 5 + [404, 404]
    assert len(slack.whispers(office.ann)) == 5


async def test_a_slow_call_holds_up_nobody_else(office: Office) -> None:
    """One call waits, another passes it."""
    office.slack.api.order("chat.postMessage", Fault(kind="slow", seconds=0.1), channel=office.ops)
    other = office.slack.room("other")
    post = office.client.chat_postMessage
    await asyncio.gather(post(channel=office.ops, text="slow"), post(channel=other, text="quick"))
    assert [call.arguments["text"] for call in office.slack.api.calls] == ["quick", "slow"]


async def test_the_same_delivery_comes_once_more_on_order(office: Office) -> None:
    """SLE-08: over the old and the new connection."""
    slack = office.slack
    async with listening(slack) as listener:
        slack.writes(office.ann, "hello")
        await listener.acknowledge(await listener.next())
        await slack.acked()
        slack.again(slack.deliveries[0])
        await listener.acknowledge(await listener.next())
        await slack.acked()
    assert isinstance(slack.deliveries[1], Delivery)
    assert listener.got[1]["payload"] == listener.got[2]["payload"]
