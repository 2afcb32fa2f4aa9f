"""conversations.*, users.info, reactions.*, assistant.threads.*, views.*, auth.test."""

from __future__ import annotations

import re
from typing import Any

from tests.servers.slack.limits import maximum
from tests.servers.slack.modals import is_too_large, view_problems
from tests.servers.slack.world import Assistant, Channel, Json, Message, Modal, Refused, World


def auth_test(world: World, _given: Json) -> Json:
    return {
        "url": "https://home.slack.com/",
        "team": "Home",
        "team_id": world.team,
        "user": "signoff",
        "user_id": world.bot_user,
        "bot_id": world.bot_id,
        "is_enterprise_install": False,
    }


def user_info(world: World, given: Json) -> Json:
    user = world.users.get(given["user"])
    if user is None:
        raise Refused("user_not_found")
    return {"user": world.describe_user(user)}


# --- conversations ----------------------------------------------------------------------------------------------------


def conversation_info(world: World, given: Json) -> Json:
    return {"channel": world.describe_channel(world.channel(given["channel"]))}


def conversation_open(world: World, given: Json) -> Json:
    users = str(given["users"]).split(",")
    if any(user not in world.users for user in users):
        raise Refused("user_not_found")
    if len(users) > 1:
        raise Refused("method_not_supported_for_channel_type")
    channel = world.direct(users[0])
    whole = {"is_im": True, "user": users[0]} if given.get("return_im") else {}
    return {"channel": {"id": channel.channel_id, **whole}}


def replies(world: World, given: Json) -> Json:
    channel = world.channel(given["channel"])
    root = world.message(channel, given["ts"], "thread_not_found")
    found = [message for message in channel.messages.values() if root.ts in {message.ts, message.thread}]
    return _page(world, found, given)


def history(world: World, given: Json) -> Json:
    channel = world.channel(given["channel"])
    if world.bot_user not in channel.members:
        raise Refused("not_in_channel")
    found = [message for message in channel.messages.values() if _is_in_channel(message)]
    return _page(world, found[::-1], given)


def _is_in_channel(message: Message) -> bool:
    return message.thread in {None, message.ts} or message.is_broadcast


def _page(world: World, messages: list[Message], given: Json) -> Json:
    """`oldest` and `latest` are outside unless `inclusive`."""
    oldest, latest = str(given.get("oldest", "")), str(given.get("latest", "9"))
    is_inclusive = _is_true(given.get("inclusive"))
    within = [
        message
        for message in messages
        if oldest < message.ts < latest or (is_inclusive and message.ts in {oldest, latest})
    ]
    start, size = int(given.get("cursor") or 0), int(given.get("limit") or 100)
    has_more = start + size < len(within)
    with_metadata = _is_true(given.get("include_all_metadata"))
    shown = [world.describe(message, with_metadata=with_metadata) for message in within[start : start + size]]
    cursor = str(start + size) if has_more else ""
    return {"messages": shown, "has_more": has_more, "response_metadata": {"next_cursor": cursor}}


def _is_true(value: Any) -> bool:
    return value in {True, "1", "true"}


# --- reactions --------------------------------------------------------------------------------------------------------


def add_reaction(world: World, given: Json) -> Json:
    message = _reacted(world, given)
    who = message.reactions.setdefault(given["name"], [])
    if world.bot_user in who:
        raise Refused("already_reacted")
    who.append(world.bot_user)
    return {}


def remove_reaction(world: World, given: Json) -> Json:
    message = _reacted(world, given)
    who = message.reactions.get(given["name"], [])
    if world.bot_user not in who:
        raise Refused("no_reaction")
    who.remove(world.bot_user)
    if not who:
        del message.reactions[given["name"]]
    return {}


def _reacted(world: World, given: Json) -> Message:
    channel = world.channel(given["channel"])
    if channel.is_archived:
        raise Refused("is_archived")
    if not re.fullmatch(r"[a-z0-9_+'-]+", given["name"]):
        raise Refused("invalid_name")
    return world.message(channel, given["timestamp"])


# --- assistant threads ------------------------------------------------------------------------------------------------


def set_status(world: World, given: Json) -> Json:
    if len(given.get("loading_messages") or []) > maximum("loading_messages"):
        raise Refused("invalid_arguments")
    assistant = _assistant(world, given)
    assistant.status = given["status"]
    assistant.statuses.append(given["status"])
    return {}


def set_session(world: World, given: Json) -> Json:
    if given["status"] not in {"active", "processing", "suspended", "closed"}:
        raise Refused("invalid_arguments")
    _assistant(world, given).session = given["status"]
    return {}


def set_prompts(world: World, given: Json) -> Json:
    prompts = given["prompts"]
    is_legal = isinstance(prompts, list) and 0 < len(prompts) <= maximum("prompts")
    if not is_legal or any(prompt.keys() != {"title", "message"} for prompt in prompts):
        raise Refused("invalid_arguments")
    _assistant(world, given).prompts = prompts
    return {}


def set_title(world: World, given: Json) -> Json:
    _assistant(world, given).title = given["title"]
    return {}


def _assistant(world: World, given: Json) -> Assistant:
    channel = world.channel(given["channel_id"])
    root = world.message(channel, given.get("thread_ts"), "invalid_thread_ts")
    return world.assistant(channel, root.ts)


# --- modals -----------------------------------------------------------------------------------------------------------


def open_view(world: World, given: Json) -> Json:
    view = shown_view(world, given["view"])
    user = world.take_trigger(given["trigger_id"])
    modal = Modal(view=view, user=user)
    world.modals[modal.view_id] = modal
    return {"view": view}


def update_view(world: World, given: Json) -> Json:
    modal = world.modals.get(str(given.get("view_id")))
    if modal is None:
        raise Refused("not_found")
    if given.get("hash") not in {None, modal.view["hash"]}:
        raise Refused("hash_conflict")
    modal.view = shown_view(world, given["view"], view_id=modal.view_id)
    modal.errors = {}
    return {"view": modal.view}


def shown_view(world: World, view: Json, *, view_id: str | None = None) -> Json:
    """The view as Slack keeps it, with ids and a hash; Refused when it is not one."""
    if is_too_large(view):
        raise Refused("view_too_large")
    if problems := view_problems(view):
        raise Refused("invalid_arguments", response_metadata={"messages": problems})
    for number, block in enumerate(view["blocks"]):
        block.setdefault("block_id", f"b{number}")
        if "element" in block:
            block["element"].setdefault("action_id", f"a{number}")
    identity = view_id or world.new_id("V")
    kept = {"private_metadata": "", "callback_id": "", "external_id": "", "clear_on_close": False, **view}
    owner = {"team_id": world.team, "app_id": world.app_id, "bot_id": world.bot_id, "root_view_id": identity}
    return {**kept, **owner, "id": identity, "hash": f"{world.number()}.hash", "state": {"values": {}}}


def channel_of(world: World, given: Json) -> Channel | None:
    """The conversation that a call is about, for its scope; None when it is about none that exists."""
    return world.channels.get(str(given.get("channel") or given.get("channel_id")))
