"""files.*: three steps to send one, and what the address of a file answers."""

from __future__ import annotations

from typing import Any

from aiohttp import web

from tests.servers.slack.world import Channel, File, Json, Message, Refused, World

LOGIN_PAGE = "<!DOCTYPE html><html><head><title>Sign in to Home | Slack</title></head><body>Sign in</body></html>"


def get_upload_url(world: World, given: Json) -> Json:
    length = int(given["length"])
    if length <= 0:
        raise Refused("missing_argument")
    file = File(file_id=world.new_id("F"), name=given["filename"], owner=world.bot_user, length=length)
    world.files[file.file_id] = file
    return {"upload_url": f"{world.url}/upload/v1/{file.file_id}", "file_id": file.file_id}


def receive(world: World, file_id: str, content: bytes) -> web.Response:
    """The second step; not a method, so the answer is text."""
    file = world.files.get(file_id)
    if file is None or len(content) != file.length:
        return web.Response(status=400, text="invalid upload")
    file.content = content
    return web.Response(text=f"OK - {len(content)}")


def complete(world: World, given: Json) -> Json:
    """The third step. Without a channel nobody sees the file."""
    files = [_uploaded(world, entry) for entry in given["files"]]
    names = [given["channel_id"]] if given.get("channel_id") else str(given.get("channels") or "").split(",")
    channels = [_shareable(world, name) for name in names if name]
    threads = [
        world.thread_root(channel, given["thread_ts"]) if given.get("thread_ts") else None for channel in channels
    ]
    for channel, thread in zip(channels, threads, strict=True):
        text = str(given.get("initial_comment") or "")
        message = Message(channel=channel.channel_id, ts=world.new_ts(), user=world.bot_user, text=text, files=files)
        message.thread, message.is_bot = thread, True
        for file in files:
            file.shared_in.add(channel.channel_id)
        world.post(channel, message)
    return {"files": [{"id": file.file_id, "title": file.title} for file in files]}


def _uploaded(world: World, entry: Any) -> File:
    if not isinstance(entry, dict) or entry.keys() - {"id", "title", "highlight_type"}:
        raise Refused("invalid_arguments")
    file = world.files.get(str(entry.get("id")))
    if file is None or not file.content:
        raise Refused("file_not_found")
    file.title = entry.get("title") or file.name
    return file


def _shareable(world: World, name: str) -> Channel:
    """By id only: a name is not a channel here."""
    channel = world.channel(name)
    if world.bot_user not in channel.members:
        raise Refused("not_in_channel")
    if channel.is_archived:
        raise Refused("posting_to_channel_denied")
    return channel


def info(world: World, given: Json) -> Json:
    file = world.files.get(given["file"])
    if file is None:
        raise Refused("file_not_found")
    return {"file": world.describe_file(file, whole=True)}


def download(world: World, file_id: str, *, is_allowed: bool) -> web.Response:
    """The bytes; whoever may not have them gets Slack's login page, with status 200."""
    file = world.files.get(file_id)
    if file is None:
        return web.Response(status=404, text="not found")
    if not is_allowed:
        return web.Response(text=LOGIN_PAGE, content_type="text/html")
    return web.Response(body=file.content, content_type=file.media_type)
