"""The fake refuses what Slack refuses: a test that passes against it means something."""

from __future__ import annotations

from typing import Any

import aiohttp
import pytest
from slack_sdk.errors import SlackApiError

from tests.servers.slack.conftest import Office
from tests.servers.slack.limits import LIMITS
from tests.servers.slack.web_api import Fault

Json = dict[str, Any]


def section(words: str) -> Json:
    return {"type": "section", "text": {"type": "mrkdwn", "text": words}}


def button(**more: Any) -> Json:
    return {"type": "button", "text": {"type": "plain_text", "text": "Approve"}, "action_id": "a", **more}


def actions(*elements: Json) -> Json:
    return {"type": "actions", "elements": list(elements)}


def markdown(size: int) -> Json:
    return {"type": "markdown", "text": "x" * size}


def table(rows: int, columns: int = 2) -> Json:
    return {"type": "table", "rows": [[{"type": "raw_text", "text": "x"}] * columns] * rows}


async def error_of(call: Any) -> str:
    with pytest.raises(SlackApiError) as caught:
        await call
    return str(caught.value.response["error"])


LEGAL: list[list[Json]] = [
    [section("x" * 3_000)],
    [markdown(12_000)],
    [actions(*(button(action_id=str(number), value="v" * 2_000) for number in range(25)))],
    [section("x")] * 50,
    [{"type": "header", "text": {"type": "plain_text", "text": "x" * 150}}, {"type": "divider"}],
    [{"type": "context", "elements": [{"type": "mrkdwn", "text": "x"}] * 10}],
    [table(100, 20)],
]
ILLEGAL: list[tuple[str, list[Any]]] = [
    ("section text", [section("x" * 3_001)]),
    ("empty section", [section("")]),
    ("no words", [{"type": "section"}]),
    ("51 blocks", [section("x")] * 51),
    ("markdown text", [markdown(12_001)]),
    ("26 buttons", [actions(*(button(action_id=str(number)) for number in range(26)))]),
    ("no button", [actions()]),
    ("value", [actions(button(value="v" * 2_001))]),
    ("button text", [actions({**button(), "text": {"type": "plain_text", "text": "x" * 76}})]),
    ("mrkdwn in a button", [actions({**button(), "text": {"type": "mrkdwn", "text": "x"}})]),
    ("style", [actions(button(style="green"))]),
    ("unknown field", [actions(button(onclick="x"))]),
    ("same action id", [actions(button(), button())]),
    ("same block id", [{**section("x"), "block_id": "b"}] * 2),
    ("block id", [{**section("x"), "block_id": "b" * 256}]),
    ("header", [{"type": "header", "text": {"type": "plain_text", "text": "x" * 151}}]),
    ("mrkdwn header", [{"type": "header", "text": {"type": "mrkdwn", "text": "x"}}]),
    ("11 in a context", [{"type": "context", "elements": [{"type": "mrkdwn", "text": "x"}] * 11}]),
    ("11 fields", [{"type": "section", "fields": [{"type": "mrkdwn", "text": "x"}] * 11}]),
    ("a field", [{"type": "section", "fields": [{"type": "mrkdwn", "text": "x" * 2_001}]}]),
    ("unknown block", [{"type": "accordion"}]),
    ("input in a message", [{"type": "input", "label": {}, "element": {}}]),
    ("not a block", ["x"]),
    ("101 rows", [table(101)]),
    ("21 columns", [table(1, 21)]),
    ("two tables", [table(1), table(1)]),
]


@pytest.mark.parametrize("blocks", LEGAL)
async def test_legal_blocks_are_shown(office: Office, blocks: list[Json]) -> None:
    """Each limit is reached, not passed."""
    sent = await office.client.chat_postMessage(channel=office.ops, text="x", blocks=blocks)
    assert office.slack.messages(office.ops)[-1].ts == sent["ts"]


@pytest.mark.parametrize(("name", "blocks"), ILLEGAL)
async def test_illegal_blocks_are_refused(office: Office, name: str, blocks: list[Any]) -> None:
    """SLL-06, SLL-07, SLB-03: one more than each limit, and nothing is posted."""
    answer = await error_of(office.client.api_call("chat.postMessage", json={"channel": office.ops, "blocks": blocks}))
    assert answer == "invalid_blocks", name
    assert office.slack.messages(office.ops) == []


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ({}, "no_text"),
        ({"text": "  "}, "no_text"),
        ({"blocks": []}, "no_text"),
        ({"blocks": [markdown(7_000), markdown(7_000)]}, "msg_blocks_too_long"),
        ({"blocks": [section("x" * 3_000)] * 5}, "msg_blocks_too_long"),
        ({"text": "x", "markdown_text": "x"}, "markdown_text_conflict"),
        ({"markdown_text": "x" * 12_001}, "msg_too_long"),
        ({"text": "x", "thread_ts": "1.000001"}, "thread_not_found"),
        ({"text": "x", "metadata": {"event_type": "x"}}, "invalid_metadata_format"),
        ({"text": "x", "metadata": {"event_type": "a b", "event_payload": {}}}, "invalid_metadata_schema"),
        ({"text": "x", "metadata": {"event_type": "x", "event_payload": {"x": "x" * 16_000}}}, "metadata_too_large"),
        ({"text": "x", "colour": "red"}, "invalid_arguments"),
        ({"text": 5}, "invalid_arguments"),
    ],
)
async def test_illegal_messages_are_refused(office: Office, given: Json, error: str) -> None:
    """SLL-04, SLL-09: what is wrong with a message as a whole."""
    assert await error_of(office.client.api_call("chat.postMessage", json={"channel": office.ops, **given})) == error


async def test_only_the_first_message_carries_a_thread(office: Office) -> None:
    """SLE-17, SLE-19: neither a reply nor a message of Slack itself does."""
    slack = office.slack
    root = slack.says(office.ann, office.ops, "one")
    reply = slack.says(office.ann, office.ops, "two", thread=root.ts)
    system = slack.joins(slack.person("eve"), office.ops)
    post = office.client.chat_postMessage
    await post(channel=office.ops, text="x", thread_ts=root.ts)
    assert await error_of(post(channel=office.ops, text="x", thread_ts=reply.ts)) == "thread_not_found"
    assert await error_of(post(channel=office.ops, text="x", thread_ts=system.ts)) == "cannot_reply_to_message"
    assert [message.text for message in slack.thread(office.ops, root.ts)] == ["two", "x"]


async def test_a_channel_may_be_closed_to_the_bot(office: Office) -> None:
    """SLF-04, SLF-05: not a member, archived, private or unknown; a name works for posting only."""
    slack, post = office.slack, office.client.chat_postMessage
    other, secret = slack.room("other", with_bot=False), slack.room("secret", private=True, with_bot=False)
    assert await error_of(post(channel=other, text="x")) == "not_in_channel"
    assert await error_of(post(channel=secret, text="x")) == "channel_not_found"
    assert await error_of(post(channel="C404", text="x")) == "channel_not_found"
    assert (await post(channel="#ops", text="x"))["channel"] == office.ops
    assert (await post(channel=office.ann, text="x"))["channel"] == slack.direct(office.ann)
    slack.world.channels[office.ops].is_archived = True
    assert await error_of(post(channel=office.ops, text="x")) == "is_archived"


async def test_an_edit_has_limits_of_its_own(office: Office) -> None:
    """SLL-01: 4,000; and old blocks stay unless new ones are sent."""
    client, ops = office.client, office.ops
    ts = (await client.chat_postMessage(channel=ops, text="x", blocks=[actions(button())]))["ts"]
    card = office.slack.messages(ops)[-1]
    assert await error_of(client.chat_update(channel=ops, ts=ts, text="x" * 4_001)) == "msg_too_long"
    assert await error_of(client.chat_update(channel=ops, ts="1.1", text="x")) == "message_not_found"
    request = office.slack.says(office.ann, ops, "hello")
    assert await error_of(client.chat_update(channel=ops, ts=request.ts, text="x")) == "cant_update_message"
    await client.chat_update(channel=ops, ts=ts, text="approved")
    assert card.buttons == ["Approve"]
    await client.chat_update(channel=ops, ts=ts, text="approved", blocks=[])
    assert (card.buttons, card.shown) == ([], "approved")


async def test_a_long_text_is_cut(office: Office) -> None:
    """SLL-03: chat.postMessage cuts at 40,000 characters and says so in a warning."""
    sent = await office.client.chat_postMessage(channel=office.ops, text="x" * 40_001)
    assert (len(office.slack.messages(office.ops)[0].text), sent["warning"]) == (40_000, "message_truncated")


async def test_tokens_and_scopes_are_checked(office: Office) -> None:
    """SLA-08 and the issue: revoked, unknown and wrong kinds of tokens; a missing scope is named."""
    slack, client = office.slack, office.client
    slack.api.scopes.discard("reactions:write")
    with pytest.raises(SlackApiError) as caught:
        await client.reactions_add(channel=office.ops, name="eyes", timestamp="1.1")
    response = caught.value.response
    assert (response["error"], response["needed"]) == ("missing_scope", "reactions:write")
    assert "chat:write" in response["provided"].split(",")
    assert await error_of(client.auth_test(token="xoxb-wrong")) == "invalid_auth"
    assert await error_of(client.auth_test(token=slack.app_token)) == "not_allowed_token_type"
    assert await error_of(client.apps_connections_open(app_token=slack.bot_token)) == "not_allowed_token_type"
    assert (await client.auth_test())["user_id"] == slack.bot_user
    slack.api.token_error = "token_revoked"
    assert await error_of(client.auth_test()) == "token_revoked"
    slack.api.scopes.discard("channels:history")
    slack.api.token_error = ""
    assert await error_of(client.conversations_history(channel=office.ops)) == "missing_scope"
    assert await error_of(client.api_call("files.upload")) == "unknown_method"


async def test_calls_go_wrong_on_order(office: Office) -> None:
    """SLA-09: 429 with Retry-After for one method and channel, a broken server, a page, a cut before and after."""
    slack, client, ops = office.slack, office.client, office.ops
    slack.api.order("chat.postMessage", Fault(kind="rate_limited", seconds=7), channel=ops)
    other = slack.room("other")
    await client.chat_postMessage(channel=other, text="not this one")
    with pytest.raises(SlackApiError) as caught:
        await client.chat_postMessage(channel=ops, text="x")
    assert (caught.value.response.status_code, caught.value.response.headers["Retry-After"]) == (429, "7")
    for fault in (Fault(kind="cut"), Fault(kind="cut", after=True)):
        slack.api.order("chat.postMessage", fault)
        with pytest.raises(aiohttp.ClientError):
            await client.chat_postMessage(channel=ops, text=f"after {fault.after}")
    assert [message.text for message in slack.messages(ops)] == ["after True"]
    slack.api.order("auth.test", Fault(kind="status", status=503), times=1)
    slack.api.order("auth.test", Fault(kind="html"))
    for _ in range(2):
        with pytest.raises(SlackApiError):
            await client.auth_test()
    await client.auth_test()
    answers = [call.answer for call in slack.api.calls]
    assert answers == ["", "http_429", "cut", "", "cut", "http_503", "html", ""]


async def test_rates_are_those_of_slack_when_asked_for(office: Office) -> None:
    """One message a second and channel; other channels have their own second."""
    slack, post = office.slack, office.client.chat_postMessage
    now = 1_000.0
    slack.world.now = lambda: now
    slack.api.has_rates = True
    for _ in range(3):
        await post(channel=office.ops, text="x")
    assert await error_of(post(channel=office.ops, text="x")) == "ratelimited"
    await post(channel=slack.room("other"), text="x")
    now += 1
    await post(channel=office.ops, text="x")
    assert await error_of(post(channel=office.ops, text="x")) == "ratelimited"
    for method, calls in (("reactions.remove", 20), ("reactions.add", 50), ("users.info", 100)):
        answers = [await error_of(office.client.api_call(method, json={"user": "U404"})) for _ in range(calls + 1)]
        assert (answers.count("ratelimited"), answers[-1]) == (1, "ratelimited")


async def test_metadata_and_pages_are_found_again(office: Office) -> None:
    """The way to see whether a message arrived: its metadata, only when asked for."""
    slack, client, ops = office.slack, office.client, office.ops
    root = slack.says(office.ann, ops, "request")
    metadata = {"event_type": "signoff_delivery", "event_payload": {"id": 7}}
    for number in range(3):
        await client.chat_postMessage(channel=ops, text=str(number), thread_ts=root.ts, metadata=metadata)
    plain = await client.conversations_replies(channel=ops, ts=root.ts)
    assert not any("metadata" in message for message in plain["messages"])
    first = await client.conversations_replies(channel=ops, ts=root.ts, include_all_metadata=True, limit=3)
    cursor = first["response_metadata"]["next_cursor"]
    rest = await client.conversations_replies(channel=ops, ts=root.ts, limit=3, cursor=cursor)
    assert [message["text"] for message in (*first["messages"], *rest["messages"])] == ["request", "0", "1", "2"]
    assert first["messages"][1]["metadata"] == metadata
    assert [message["text"] for message in (await client.conversations_history(channel=ops))["messages"]] == ["request"]


async def test_whoever_would_be_notified_is_known(office: Office) -> None:
    """SLT-07, SLT-08: a live token in text, mrkdwn or a markdown block counts; an escaped one does not."""
    post, ops = office.client.chat_postMessage, office.ops
    await post(channel=ops, text="&lt;!here&gt;", blocks=[section("&lt;@U1&gt;"), {"type": "markdown", "text": "`x`"}])
    assert office.slack.world.pings == []
    await post(channel=ops, text="<!here>", blocks=[section("<@U1>"), {"type": "markdown", "text": "`<!channel>`"}])
    assert office.slack.world.pings == ["<!here>", "<@U1>", "<!channel>"]


async def test_reactions_are_given_once(office: Office) -> None:
    """One of a kind from each."""
    request = office.slack.says(office.ann, office.ops, "hello")
    place = {"channel": office.ops, "timestamp": request.ts}
    await office.client.reactions_add(name="eyes", **place)
    assert await error_of(office.client.reactions_add(name="eyes", **place)) == "already_reacted"
    assert await error_of(office.client.reactions_add(name=":eyes:", **place)) == "invalid_name"
    assert await error_of(office.client.reactions_remove(name="tada", **place)) == "no_reaction"
    assert request.reactions == {"eyes": [office.slack.bot_user]}
    await office.client.reactions_remove(name="eyes", **place)
    assert request.reactions == {}


async def test_a_whisper_is_for_somebody_in_the_room(office: Office) -> None:
    """SLB-06, SLB-12: one person sees it, no edit reaches it."""
    say = office.client.chat_postEphemeral
    ts = (await say(channel=office.ops, user=office.ann, text="only you"))["message_ts"]
    assert [message.text for message in office.slack.whispers(office.ann)] == ["only you"]
    assert office.slack.whispers(office.bob) == office.slack.messages(office.ops) == []
    assert await error_of(say(channel=office.ops, user=office.slack.person("eve"), text="x")) == "user_not_in_channel"
    assert await error_of(office.client.chat_update(channel=office.ops, ts=ts, text="x")) == "message_not_found"


def test_every_limit_has_its_page() -> None:
    """A limit without a source is a guess."""
    assert all(limit.source.startswith("https://") and limit.value > 0 for limit in LIMITS.values())
