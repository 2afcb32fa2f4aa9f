"""The methods that ask, and those that set the bot up."""

from __future__ import annotations

import re
from typing import Any

from tests.servers.telegram import limits
from tests.servers.telegram.account import Account
from tests.servers.telegram.parameters import Parameters
from tests.servers.telegram.refusal import bad_request
from tests.servers.telegram.world import Standing, User

_RIGHTS = (
    "can_be_edited is_anonymous can_manage_chat can_delete_messages can_manage_video_chats can_restrict_members "
    "can_promote_members can_change_info can_invite_users can_post_stories can_edit_stories can_delete_stories"
)


def get_me(account: Account, parameters: Parameters) -> dict[str, Any]:
    return account.as_json()


async def get_updates(account: Account, parameters: Parameters) -> list[dict[str, Any]]:
    offset, limit = parameters.integer("offset", 0) or 0, parameters.integer("limit", 100) or 100
    if limit not in limits.UPDATES:
        limit = 100
    account.updates.allow(parameters.json("allowed_updates"))
    return await account.updates.poll(offset, limit, parameters.integer("timeout", 0) or 0)


async def set_webhook(account: Account, parameters: Parameters) -> bool:
    """Telegram takes https only; here it is the loopback, so http does."""
    url, secret = parameters.text("url"), parameters.text("secret_token")
    if secret and not re.fullmatch(limits.SECRET_TOKEN, secret):
        raise bad_request("secret token contains unallowed characters")
    if url and not url.startswith(("https://", "http://127.0.0.1")):
        raise bad_request("bad webhook: An HTTPS URL must be provided for webhook")
    account.updates.allow(parameters.json("allowed_updates"))
    _drop(account, parameters)
    await account.updates.set_webhook(url, secret)
    return True


async def delete_webhook(account: Account, parameters: Parameters) -> bool:
    _drop(account, parameters)
    await account.updates.set_webhook("", "")
    return True


def get_webhook_info(account: Account, parameters: Parameters) -> dict[str, Any]:
    updates = account.updates
    info = {
        "url": updates.url,
        "has_custom_certificate": False,
        "pending_update_count": len(updates.pending),
    }
    failed = {"last_error_date": 1_780_000_000, "last_error_message": updates.last_error}
    return {**info, **failed} if updates.last_error else info


def get_chat(account: Account, parameters: Parameters) -> dict[str, Any]:
    chat = account.chat(parameters)
    gifts = dict.fromkeys(
        ("unlimited_gifts", "limited_gifts", "unique_gifts", "premium_subscription", "gifts_from_channels"), False
    )
    return {**chat.as_json(), "accent_color_id": 0, "max_reaction_count": 11, "accepted_gift_types": gifts}


def get_chat_member(account: Account, parameters: Parameters) -> dict[str, Any]:
    chat = account.chat(parameters)
    user_id = parameters.number("user_id")
    user = account.bot if user_id == account.bot.user_id else chat.people.get(user_id)
    if user is None:
        raise bad_request("user not found")
    return member(user, chat.members.get(user_id, "left"))


def get_chat_administrators(account: Account, parameters: Parameters) -> list[dict[str, Any]]:
    chat = account.chat(parameters)
    if chat.kind == "private":
        raise bad_request("there are no administrators in the private chat")
    people = {account.bot.user_id: account.bot, **chat.people}
    return [
        member(people[user_id], standing)
        for user_id, standing in chat.members.items()
        if standing in {"creator", "administrator"}
    ]


def member(user: User, standing: Standing) -> dict[str, Any]:
    """A ChatMember (core.telegram.org/bots/api#chatmember)."""
    body: dict[str, Any] = {"status": standing, "user": user.as_json()}
    if standing == "administrator":
        body |= dict.fromkeys(_RIGHTS.split(), False) | {"can_manage_chat": True, "can_delete_messages": True}
    if standing == "creator":
        body |= {"is_anonymous": False}
    return body | ({"until_date": 0} if standing == "kicked" else {})


def get_file(account: Account, parameters: Parameters) -> dict[str, Any]:
    """A path below /file, or on the server's disk: core.telegram.org/bots/api#using-a-local-bot-api-server."""
    stored = account.files.get(parameters.text("file_id"))
    if stored is None:
        raise bad_request("invalid file_id")
    if account.local is None and stored.size_bytes > limits.DOWNLOAD_BYTES:
        raise bad_request("file is too big")
    path = f"{stored.kind}s/{stored.file_id}"
    if account.local is not None:
        place = account.local / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(stored.content)
        path = str(place)
    sent = stored.as_json()
    return {name: sent[name] for name in ("file_id", "file_unique_id", "file_size")} | {"file_path": path}


def set_my_commands(account: Account, parameters: Parameters) -> bool:
    commands, scope = parameters.json("commands"), parameters.json("scope") or {"type": "default"}
    language = parameters.text("language_code")
    if scope.get("type") not in limits.SCOPES or set(scope) - {"type"} != set(limits.SCOPES[scope["type"]]):
        raise bad_request("can't parse BotCommandScope")
    if not isinstance(commands, list) or len(commands) > limits.COMMANDS:
        raise bad_request("BOT_COMMANDS_TOO_MUCH")
    for command in commands:
        if not re.fullmatch(limits.COMMAND_NAME, command["command"]):
            raise bad_request("BOT_COMMAND_INVALID")
        if len(command["description"]) not in limits.COMMAND_DESCRIPTION:
            raise bad_request("BOT_COMMAND_DESCRIPTION_INVALID")
    key = ":".join([str(scope[name]) for name in ("type", *limits.SCOPES[scope["type"]])] + [language] * bool(language))
    account.commands[key] = commands
    return True


def send_chat_action(account: Account, parameters: Parameters) -> bool:
    chat = account.open_chat(parameters)
    action = parameters.text("action")
    if action not in limits.ACTIONS:
        raise bad_request("wrong parameter action in request")
    chat.actions.append((action, account.thread(chat, parameters)))
    return True


def _drop(account: Account, parameters: Parameters) -> None:
    if parameters.flag("drop_pending_updates"):
        account.updates.pending.clear()
