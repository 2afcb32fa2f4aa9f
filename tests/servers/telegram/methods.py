"""The methods that the server knows, with the parameters that it understands (core.telegram.org/bots/api)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from tests.servers.telegram import asking, changing, sending
from tests.servers.telegram.account import Account
from tests.servers.telegram.parameters import Parameters
from tests.servers.telegram.refusal import bad_request


class Method(NamedTuple):
    """What a call does, and what it may be given."""

    run: Callable[[Account, Parameters], Any]
    parameters: frozenset[str]

    def check(self, given: Parameters) -> None:
        """Refused when a parameter is unknown; Telegram ignores it, and then something else happens than was meant."""
        attached = {name for name in given.uploads if f"attach://{name}" in str(given.values)}
        if unknown := (set(given.values) | set(given.uploads)) - attached - self.parameters:
            raise bad_request(f"there are no parameters {sorted(unknown)}")


def _method(run: Callable[[Account, Parameters], Any], names: str = "") -> Method:
    return Method(run, frozenset(names.split()))


_SENT = "chat_id message_thread_id disable_notification protect_content reply_parameters"
_TEXT = "text parse_mode entities link_preview_options"
_CAPTION = "caption parse_mode caption_entities"
_EDITED = "chat_id message_id reply_markup"
_DRAFT = "chat_id message_thread_id draft_id can_stop keep_on_stop"

METHODS = {
    "getMe": _method(asking.get_me),
    "getUpdates": _method(asking.get_updates, "offset limit timeout allowed_updates"),
    "setWebhook": _method(asking.set_webhook, "url max_connections allowed_updates drop_pending_updates secret_token"),
    "deleteWebhook": _method(asking.delete_webhook, "drop_pending_updates"),
    "getWebhookInfo": _method(asking.get_webhook_info),
    "getChat": _method(asking.get_chat, "chat_id"),
    "getChatMember": _method(asking.get_chat_member, "chat_id user_id"),
    "getChatAdministrators": _method(asking.get_chat_administrators, "chat_id return_bots"),
    "getFile": _method(asking.get_file, "file_id"),
    "setMyCommands": _method(asking.set_my_commands, "commands scope language_code"),
    "sendChatAction": _method(asking.send_chat_action, "chat_id message_thread_id action"),
    "sendMessage": _method(sending.send_message, f"{_SENT} {_TEXT} reply_markup"),
    "sendRichMessage": _method(sending.send_rich_message, f"{_SENT} rich_message reply_markup"),
    "sendMessageDraft": _method(sending.send_message_draft, f"{_DRAFT} text parse_mode entities"),
    "sendRichMessageDraft": _method(sending.send_rich_message_draft, f"{_DRAFT} rich_message"),
    "sendDocument": _method(
        sending.send_document, f"{_SENT} {_CAPTION} document disable_content_type_detection reply_markup"
    ),
    "sendPhoto": _method(sending.send_photo, f"{_SENT} {_CAPTION} photo reply_markup"),
    "sendMediaGroup": _method(sending.send_media_group, f"{_SENT} media"),
    "editMessageText": _method(changing.edit_message_text, f"{_EDITED} {_TEXT} rich_message"),
    "editMessageReplyMarkup": _method(changing.edit_message_reply_markup, _EDITED),
    "deleteMessage": _method(changing.delete_message, "chat_id message_id"),
    "setMessageReaction": _method(changing.set_message_reaction, "chat_id message_id reaction is_big"),
    "answerCallbackQuery": _method(changing.answer_callback_query, "callback_query_id text show_alert cache_time"),
}
BY_LOWER_CASE = {name.lower(): name for name in METHODS}
"""Names are compared without case (core.telegram.org/bots/api#making-requests)."""
