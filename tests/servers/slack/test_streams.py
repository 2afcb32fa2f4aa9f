"""Streams, assistant threads and files: in order, within limits, and closed by themselves."""

from __future__ import annotations

from typing import Any

import aiohttp
import pytest

from tests.servers.slack.conftest import Office
from tests.servers.slack.test_web_api import error_of


def task(status: str = "in_progress", **more: Any) -> dict[str, Any]:
    return {"type": "task_update", "id": "t1", "title": "Reading", "status": status, **more}


async def test_a_stream_is_written_and_closed(office: Office) -> None:
    """Text and one card per task, the card as last updated; nothing after the end; no edit before it."""
    slack, client, ops = office.slack, office.client, office.ops
    root = slack.says(office.ann, ops, "request")
    people = {"recipient_user_id": office.ann, "recipient_team_id": slack.world.team}
    ts = (await client.chat_startStream(channel=ops, thread_ts=root.ts, chunks=[task()], **people))["ts"]
    await client.chat_appendStream(channel=ops, ts=ts, markdown_text="**so** ")
    assert await error_of(client.chat_update(channel=ops, ts=ts, text="x")) == "streaming_state_conflict"
    await client.chat_appendStream(channel=ops, ts=ts, markdown_text="far", chunks=[task("complete", output="2 files")])
    await client.chat_stopStream(channel=ops, ts=ts, blocks=[{"type": "divider"}])
    [message] = slack.thread(ops, root.ts)
    assert message.stream is not None
    assert (message.stream.written, message.stream.tasks["t1"]["output"]) == ("**so** far", "2 files")
    error = await error_of(client.chat_appendStream(channel=ops, ts=ts, markdown_text="x"))
    assert error == "message_not_in_streaming_state"


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ({"recipient_user_id": None}, "missing_recipient_user_id"),
        ({"recipient_team_id": None}, "missing_recipient_team_id"),
        ({"thread_ts": None}, "invalid_arguments"),
        ({"thread_ts": "1.1"}, "thread_not_found"),
        ({"markdown_text": "x" * 12_001}, "msg_too_long"),
        ({"chunks": [task("almost")]}, "invalid_chunks"),
        ({"chunks": [task(details="x" * 257)]}, "invalid_chunks"),
        ({"chunks": [{"type": "markdown_text", "text": ""}]}, "invalid_chunks"),
        ({"chunks": [{"type": "thought", "text": "x"}]}, "invalid_chunks"),
        ({"task_display_mode": "table"}, "invalid_arguments"),
    ],
)
async def test_illegal_streams_are_refused(office: Office, given: dict[str, Any], error: str) -> None:
    """Recipients in channels, a thread, lengths, kinds of chunks."""
    root = office.slack.says(office.ann, office.ops, "request")
    legal = {
        "channel": office.ops,
        "thread_ts": root.ts,
        "recipient_user_id": office.ann,
        "recipient_team_id": "T0HOME",
    }
    arguments = {name: value for name, value in {**legal, **given}.items() if value is not None}
    assert await error_of(office.client.api_call("chat.startStream", json=arguments)) == error


@pytest.mark.parametrize("why", ["late", "long"])
async def test_a_stream_closes_by_itself(office: Office, why: str) -> None:
    """After some five minutes, and near nine kilobytes."""
    slack, client = office.slack, office.client
    now = 1_000.0
    slack.world.now = lambda: now
    root = slack.writes(office.ann, "request")
    channel = slack.direct(office.ann)
    ts = (await client.chat_startStream(channel=channel, thread_ts=root.ts))["ts"]
    if why == "late":
        now += 301
    else:
        await client.chat_appendStream(channel=channel, ts=ts, markdown_text="x" * 9_001)
    error = await error_of(client.chat_appendStream(channel=channel, ts=ts, markdown_text="y"))
    assert error == "message_not_in_streaming_state"


async def test_an_assistant_thread_has_status_title_and_prompts(office: Office) -> None:
    """At most four prompts and ten loading messages; in a thread that exists."""
    slack, client = office.slack, office.client
    root = slack.opens_assistant(office.ann)
    place: dict[str, Any] = {"channel_id": slack.direct(office.ann), "thread_ts": root.ts}
    prompt = {"title": "Check", "message": "Check the invoices"}
    await client.assistant_threads_setStatus(status="is reading", **place)
    await client.assistant_threads_setTitle(title="Invoices", **place)
    await client.assistant_threads_setSuggestedPrompts(prompts=[prompt] * 4, **place)
    seen = slack.assistant(slack.direct(office.ann), root.ts)
    assert (seen.status, seen.title, len(seen.prompts)) == ("is reading", "Invoices", 4)
    five = client.assistant_threads_setSuggestedPrompts(prompts=[prompt] * 5, **place)
    assert await error_of(five) == "invalid_arguments"
    eleven = client.assistant_threads_setStatus(status="x", loading_messages=["x"] * 11, **place)
    assert await error_of(eleven) == "invalid_arguments"
    place["thread_ts"] = "1.1"
    assert await error_of(client.assistant_threads_setStatus(status="x", **place)) == "invalid_thread_ts"


async def test_a_file_is_sent_in_three_steps(office: Office) -> None:
    """SLF-01, -04, -05, -06: by id, as a member; without a channel nobody sees it; a promised length is kept."""
    slack, client = office.slack, office.client
    root = slack.says(office.ann, office.ops, "request")
    await client.files_upload_v2(
        content="a,b", filename="sum.csv", title="Sum", channel=office.ops, thread_ts=root.ts, initial_comment="Here"
    )
    [message] = slack.thread(office.ops, root.ts)
    assert [(file.name, file.title, file.content) for file in message.files] == [("sum.csv", "Sum", b"a,b")]
    await client.files_upload_v2(content="x", filename="hidden.txt")
    assert [file.name for file in slack.world.files.values() if not file.shared_in] == ["hidden.txt"]
    other = slack.room("other", with_bot=False)
    for channel, error in ((other, "not_in_channel"), ("#ops", "channel_not_found"), ("ops", "channel_not_found")):
        assert await error_of(client.files_upload_v2(content="x", filename="x", channel=channel)) == error
    ticket = await client.files_getUploadURLExternal(filename="x", length=3)
    async with aiohttp.ClientSession() as session, session.post(ticket["upload_url"], data=b"1234") as response:
        assert response.status == 400
    unfinished = client.files_completeUploadExternal(files=[{"id": ticket["file_id"], "title": "x"}])
    assert await error_of(unfinished) == "file_not_found"


async def test_a_file_is_fetched_with_the_token_only(office: Office) -> None:
    """SLF-02, SLF-08: without token or scope the login page comes with status 200; a stub has no address."""
    slack = office.slack
    file = slack.file(office.ann, "a.csv", b"1,2", stub=True)
    message = slack.says(office.ann, office.ops, "", files=[file])
    assert slack.world.describe(message)["files"] == [
        {"id": file.file_id, "mode": "file_access", "file_access": "check_file_info"}
    ]
    url = (await office.client.files_info(file=file.file_id))["file"]["url_private_download"]
    async with aiohttp.ClientSession() as session:
        headers = {"Authorization": f"Bearer {slack.bot_token}"}
        async with session.get(url, headers=headers) as response:
            assert await response.read() == b"1,2"
        async with session.get(url) as response:
            assert (response.status, response.content_type) == (200, "text/html")
        slack.api.scopes.discard("files:read")
        async with session.get(url, headers=headers) as response:
            assert (await response.text()).startswith("<!DOCTYPE html>")
