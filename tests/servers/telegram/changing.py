"""The methods that change what was sent, and answer presses."""

from __future__ import annotations

from typing import Any

from tests.servers.telegram import limits
from tests.servers.telegram.account import Account
from tests.servers.telegram.formats import detected, message_text
from tests.servers.telegram.keyboards import markup
from tests.servers.telegram.parameters import Parameters
from tests.servers.telegram.refusal import bad_request
from tests.servers.telegram.rich import read_rich
from tests.servers.telegram.sending import formatted, set_rich
from tests.servers.telegram.world import Answer, Message

UNCHANGED = (
    "message is not modified: specified new message content and reply markup are exactly the same as a current "
    "content and reply markup of the message"
)


def edit_message_text(account: Account, parameters: Parameters) -> dict[str, Any]:
    message = _own(account, parameters)
    before = _state(message)
    given = parameters.json("rich_message") if account.newer else None
    if (given is not None) == parameters.given("text"):
        raise bad_request("exactly one of the parameters text and rich_message must be used")
    if message.file is not None:
        raise bad_request("there is no text in the message to edit")
    keys, _ = markup(parameters, message.chat)
    if given is not None:
        text, rich = read_rich(given).text, given
        changed: tuple[Any, ...] = (given["html"], keys)
        if changed == (message.rich_html, message.keyboard):
            raise bad_request(UNCHANGED)
        account.flood.count(message.chat)
        set_rich(message, rich, text)
    else:
        shown, entities = message_text(*formatted(parameters, "text", "entities"))
        entities = detected(shown, entities)
        if (shown, entities, "", keys) == before:
            raise bad_request(UNCHANGED)
        account.flood.count(message.chat)
        message.text, message.entities, message.rich, message.rich_html = shown, entities, None, ""
    message.keyboard = keys
    message.edited += 1
    return message.as_json()


def edit_message_reply_markup(account: Account, parameters: Parameters) -> dict[str, Any]:
    message = _own(account, parameters)
    keys, _ = markup(parameters, message.chat)
    if keys == message.keyboard:
        raise bad_request(UNCHANGED)
    account.flood.count(message.chat)
    message.keyboard = keys
    message.edited += 1
    return message.as_json()


def delete_message(account: Account, parameters: Parameters) -> bool:
    chat = account.open_chat(parameters)
    message = account.message(chat, parameters.number("message_id"), "delete")
    administers = chat.members.get(account.bot.user_id) == "administrator"
    if message.sender is not account.bot and chat.kind != "private" and not administers:
        raise bad_request("message can't be deleted")
    message.deleted = True
    return True


def set_message_reaction(account: Account, parameters: Parameters) -> bool:
    chat = account.open_chat(parameters)
    message = account.message(chat, parameters.number("message_id"), "react")
    reactions = parameters.json("reaction") or []
    if len(reactions) > 1:
        raise bad_request("REACTIONS_TOO_MANY")
    chosen = [str(reaction.get("emoji")) for reaction in reactions]
    if not set(chosen) <= limits.REACTIONS:
        raise bad_request("REACTION_INVALID")
    message.reactions = chosen
    return True


def answer_callback_query(account: Account, parameters: Parameters) -> bool:
    text, alert = parameters.text("text"), parameters.flag("show_alert")
    query = account.queries.pop(parameters.text("callback_query_id"), None)
    if query is None or account.now() - query.pressed_at > limits.ANSWER_SECONDS:
        raise bad_request("query is too old and response timeout expired or query ID is invalid")
    if len(text) > limits.ANSWER_CHARACTERS:
        account.queries[query.query_id] = query
        raise bad_request("MESSAGE_TOO_LONG")
    if not query.answer.done():
        query.answer.set_result(Answer(text=text, alert=alert))
    return True


def _own(account: Account, parameters: Parameters) -> Message:
    """A message the bot has sent (core.telegram.org/bots/api#updating-messages)."""
    chat = account.open_chat(parameters)
    message = account.message(chat, parameters.number("message_id"), "edit")
    if message.sender is not account.bot and chat.kind != "channel":
        raise bad_request("message can't be edited")
    return message


def _state(message: Message) -> tuple[Any, ...]:
    return message.text, message.entities, message.rich_html, message.keyboard
