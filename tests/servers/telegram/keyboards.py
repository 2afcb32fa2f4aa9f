"""reply_markup, as far as a bot of this kind sends it."""

from __future__ import annotations

from typing import Any

from tests.servers.telegram import limits
from tests.servers.telegram.parameters import Parameters
from tests.servers.telegram.refusal import bad_request
from tests.servers.telegram.world import Chat, Key

Keyboard = list[list[Key]]


def markup(parameters: Parameters, chat: Chat) -> tuple[Keyboard, dict[str, Any] | None]:
    """An inline keyboard, or a ForceReply; Refused as core.telegram.org/bots/api#inlinekeyboardmarkup says."""
    given = parameters.json("reply_markup")
    if given is None:
        return [], None
    if not isinstance(given, dict):
        raise bad_request("object expected as reply markup")
    if "inline_keyboard" in given:
        return keyboard(given["inline_keyboard"]), None
    if given.get("force_reply") is True:
        if chat.kind == "channel":
            raise bad_request("reply keyboards can't be sent to channels")
        placeholder = given.get("input_field_placeholder")
        if placeholder is not None and not 1 <= len(placeholder) <= limits.PLACEHOLDER_CHARACTERS:
            raise bad_request("input_field_placeholder must be of 1 to 64 characters")
        return [], given
    raise bad_request("can't parse reply keyboard markup")


def keyboard(rows: Any) -> Keyboard:
    """The rows of an inline keyboard."""
    if not isinstance(rows, list) or not all(isinstance(row, list) for row in rows):
        raise bad_request('field "inline_keyboard" must be an Array of Arrays')
    if sum(map(len, rows)) > limits.BUTTONS or any(len(row) > limits.BUTTONS_PER_ROW for row in rows):
        raise bad_request("reply markup is too long")
    return [[_key(button) for button in row] for row in rows if row]


def _key(button: Any) -> Key:
    label, data, url = button.get("text", ""), button.get("callback_data"), button.get("url")
    if not str(label).strip():
        raise bad_request("can't parse inline keyboard button: text must be non-empty")
    if (data is None) == (url is None):
        raise bad_request("can't parse inline keyboard button: text buttons are allowed in reply keyboards only")
    if data is not None and not 1 <= len(str(data).encode()) <= limits.CALLBACK_DATA_BYTES:
        raise bad_request("BUTTON_DATA_INVALID")
    if url is not None and not str(url).startswith(("https://", "http://", "tg://")):
        raise bad_request("BUTTON_URL_INVALID")
    return Key(label=label, data=data or "", url=url or "")
