"""chat.postMessage, update, postEphemeral, delete, getPermalink; chat.startStream, appendStream, stopStream."""

from __future__ import annotations

import json
import re
from typing import Any

from tests.servers.slack.block_kit import message_problems, strings, too_long
from tests.servers.slack.limits import maximum
from tests.servers.slack.shapes import array, one_of, record, string, variant
from tests.servers.slack.world import Channel, Json, Message, Refused, Stream, World

_TASK = maximum("task.text")
_CHUNK = variant(
    {
        "markdown_text": record({"text": string(maximum("stream.text"), shortest=1)}),
        "task_update": record(
            {
                "id": string(shortest=1),
                "title": string(_TASK, shortest=1),
                "status": one_of("pending", "in_progress", "complete", "error"),
            },
            {
                "details": string(_TASK),
                "output": string(_TASK),
                "sources": array(record({"url": string(), "text": string(shortest=1)}), 100, least=0),
            },
        ),
        "plan_update": record({"title": string(_TASK, shortest=1)}),
        "blocks": record({"blocks": lambda value, _pointer: iter(message_problems(value))}),
    }
)
_CHUNKS = array(_CHUNK, 100)


# --- messages ---------------------------------------------------------------------------------------------------------


def post_message(world: World, given: Json) -> Json:
    channel = world.writable(_named(world, given["channel"]))
    text, blocks = _content(given)
    cut = text[: maximum("postMessage.text")]
    thread = world.thread_root(channel, given["thread_ts"]) if given.get("thread_ts") else None
    message = Message(channel=channel.channel_id, ts=world.new_ts(), user=world.bot_user, text=cut, blocks=blocks)
    message.thread, message.is_bot, message.metadata = thread, True, _metadata(given)
    message.is_broadcast = _is_true(given.get("reply_broadcast"))
    world.post(channel, message)
    warning = {"warning": "message_truncated"} if cut != text else {}
    return {"channel": channel.channel_id, "ts": message.ts, "message": world.describe(message), **warning}


def update(world: World, given: Json) -> Json:
    channel = world.channel(given["channel"])
    if channel.is_archived:
        raise Refused("is_inactive")
    message = _own(world, channel, given["ts"], "cant_update_message")
    if message.stream and is_open(world, message.stream):
        raise Refused("streaming_state_conflict")
    if len(str(given.get("text", "")).encode()) > maximum("update.text_bytes"):
        raise Refused("msg_too_long")
    # Without `blocks` the old ones stay, buttons included; sources differ, and this is the reading that hurts.
    keeps = "blocks" not in given and "markdown_text" not in given
    text, blocks = _content(given if not keeps else {**given, "blocks": message.blocks})
    previous = world.describe(message)
    message.before.append(message.shown)
    message.text, message.blocks, message.edited_by = text, blocks, world.bot_user
    message.metadata = _metadata(given) or message.metadata
    world.note_pings(message)
    world.changed(channel, message, previous)
    described = world.describe(message)
    shown = {name: value for name, value in described.items() if name not in {"ts", "thread_ts"}}
    return {"channel": channel.channel_id, "ts": message.ts, "text": message.text, "message": shown}


def post_ephemeral(world: World, given: Json) -> Json:
    channel = world.writable(given["channel"])
    text, blocks = _content(given)
    if len(text) > maximum("postMessage.text"):
        raise Refused("msg_too_long")
    if given["user"] not in channel.members:
        raise Refused("user_not_in_channel")
    thread = world.thread_root(channel, given["thread_ts"]) if given.get("thread_ts") else None
    message = Message(channel=channel.channel_id, ts=world.new_ts(), user=world.bot_user, text=text, blocks=blocks)
    message.thread, message.is_bot, message.only_for = thread, True, given["user"]
    world.ephemerals.append(message)
    return {"message_ts": message.ts}


def delete(world: World, given: Json) -> Json:
    channel = world.channel(given["channel"])
    message = _own(world, channel, given["ts"], "cant_delete_message")
    world.remove(channel, message)
    return {"channel": channel.channel_id, "ts": message.ts}


def get_permalink(world: World, given: Json) -> Json:
    channel = world.channel(given["channel"])
    message = world.message(channel, given["message_ts"])
    address = f"https://home.slack.com/archives/{channel.channel_id}/p{message.ts.replace('.', '')}"
    thread = f"?thread_ts={message.thread}&cid={channel.channel_id}" if message.thread else ""
    return {"channel": channel.channel_id, "permalink": address + thread}


def _own(world: World, channel: Channel, ts: Any, error: str) -> Message:
    message = world.message(channel, ts)
    if message.user != world.bot_user:
        raise Refused(error)
    return message


def _named(world: World, name: Any) -> Any:
    """Only chat.postMessage takes a name."""
    bare = str(name).removeprefix("#")
    return next((channel.channel_id for channel in world.channels.values() if channel.name == bare), name)


def _content(given: Json) -> tuple[str, list[Json]]:
    """Text and blocks, checked; `markdown_text` is a markdown block."""
    text = str(given.get("text") or "")
    blocks = given.get("blocks") or []
    if "markdown_text" in given:
        if text or "blocks" in given:
            raise Refused("markdown_text_conflict")
        if len(given["markdown_text"]) > maximum("markdown_text"):
            raise Refused("msg_too_long")
        blocks = [{"type": "markdown", "text": given["markdown_text"]}] if given["markdown_text"] else []
    checked(blocks)
    if not blocks and not text.strip():
        raise Refused("no_text")
    return text, blocks


def checked(blocks: Any) -> None:
    """Refuse what Slack refuses of a message's blocks."""
    if problems := message_problems(blocks):
        raise Refused("invalid_blocks", errors=problems, response_metadata={"messages": problems})
    if too_long(blocks):
        raise Refused("msg_blocks_too_long")
    for number, block in enumerate(blocks):
        if block["type"] != "markdown":
            block.setdefault("block_id", f"b{number}")
        for position, element in enumerate(block.get("elements", [])):
            if element.get("type") in {"button", "static_select", "overflow", "checkboxes", "radio_buttons"}:
                element.setdefault("action_id", f"a{number}.{position}")


def _metadata(given: Json) -> Json | None:
    metadata: Any = given.get("metadata")
    if metadata is None:
        return None
    if not isinstance(metadata, dict) or metadata.keys() != {"event_type", "event_payload"}:
        raise Refused("invalid_metadata_format")
    if not isinstance(metadata["event_payload"], dict):
        raise Refused("invalid_metadata_format")
    if not re.fullmatch(r"\w{1,255}", str(metadata["event_type"])):
        raise Refused("invalid_metadata_schema")
    if len(json.dumps(metadata).encode()) > maximum("metadata_bytes"):
        raise Refused("metadata_too_large")
    return metadata


def _is_true(value: Any) -> bool:
    return value in {True, "1", "true"}


# --- streams ----------------------------------------------------------------------------------------------------------


def start_stream(world: World, given: Json) -> Json:
    channel = world.writable(given["channel"])
    thread = world.thread_root(channel, given["thread_ts"])
    if channel.kind != "im":
        if given.get("recipient_team_id") is None:
            raise Refused("missing_recipient_team_id")
        if given.get("recipient_user_id") is None:
            raise Refused("missing_recipient_user_id")
        if given["recipient_user_id"] not in world.users:
            raise Refused("user_not_found")
    mode = given.get("task_display_mode", "timeline")
    if mode not in {"timeline", "plan", "dense"}:
        raise Refused("invalid_arguments")
    chunks = _chunks(given)
    stream = Stream(started=world.now(), recipient=given.get("recipient_user_id"), display_mode=mode)
    message = Message(channel=channel.channel_id, ts=world.new_ts(), user=world.bot_user, thread=thread)
    message.is_bot, message.stream = True, stream
    _write(message, stream, chunks)
    world.assistant(channel, thread).session = "processing"
    world.post(channel, message)
    return {"channel": channel.channel_id, "ts": message.ts}


def append_stream(world: World, given: Json) -> Json:
    channel, message, stream = _streaming(world, given)
    chunks = _chunks(given)
    if not chunks:
        raise Refused("no_text")
    _write(message, stream, chunks)
    world.note_pings(message)
    return {"channel": channel.channel_id, "ts": message.ts}


def stop_stream(world: World, given: Json) -> Json:
    channel, message, stream = _streaming(world, given)
    chunks = _chunks(given)
    blocks = given.get("blocks") or []
    checked(blocks)
    metadata = _metadata(given)
    previous = world.describe(message)
    _write(message, stream, chunks)
    stream.is_open, stream.status_after = False, given.get("session_status")
    world.assistant(channel, message.thread or message.ts).session = given.get("session_status", "active")
    message.blocks = [*message.blocks, *blocks]
    message.metadata, message.text = metadata, stream.written
    world.note_pings(message)
    world.changed(channel, message, previous)
    return {"channel": channel.channel_id, "ts": message.ts, "message": world.describe(message)}


def is_open(world: World, stream: Stream) -> bool:
    """It closes by itself: after a time, and when it is long."""
    is_late = world.now() - stream.started > maximum("stream.seconds")
    if is_late or len(stream.written.encode()) > maximum("stream.bytes"):
        stream.is_open = False
    return stream.is_open


def _streaming(world: World, given: Json) -> tuple[Channel, Message, Stream]:
    channel = world.writable(given["channel"])
    message = world.message(channel, given["ts"])
    if message.user != world.bot_user:
        raise Refused("message_not_owned_by_app")
    if message.stream is None or not is_open(world, message.stream):
        raise Refused("message_not_in_streaming_state")
    return channel, message, message.stream


def _chunks(given: Json) -> list[Json]:
    chunks = given.get("chunks")
    text = given.get("markdown_text")
    if chunks is not None and (problems := list(_CHUNKS(chunks, "/chunks"))):
        raise Refused("invalid_chunks", response_metadata={"messages": problems})
    if text is not None and len(str(text)) > maximum("stream.text"):
        raise Refused("msg_too_long")
    return [*([{"type": "markdown_text", "text": str(text)}] if text else []), *(chunks or [])]


def _write(message: Message, stream: Stream, chunks: list[Json]) -> None:
    blocks = [*message.blocks, *(block for chunk in chunks if chunk["type"] == "blocks" for block in chunk["blocks"])]
    if len(blocks) > maximum("message.blocks"):
        raise Refused("msg_blocks_too_many")
    if sum(map(len, strings(blocks))) > maximum("message.all_text"):
        raise Refused("msg_blocks_too_long")
    message.blocks = blocks
    for chunk in chunks:
        match chunk["type"]:
            case "markdown_text":
                stream.written += chunk["text"]
            case "task_update":
                stream.tasks[chunk["id"]] = stream.tasks.get(chunk["id"], {}) | chunk
            case "plan_update":
                stream.plan = chunk["title"]
