"""The methods that send: messages, rich messages, drafts, files, albums."""

from __future__ import annotations

import struct
from typing import Any

from tests.servers.telegram import limits
from tests.servers.telegram.account import Account
from tests.servers.telegram.formats import Entity, checked, detected, message_text, units
from tests.servers.telegram.keyboards import markup
from tests.servers.telegram.markup import parse
from tests.servers.telegram.parameters import Parameters, Upload
from tests.servers.telegram.refusal import Refused, bad_request
from tests.servers.telegram.rich import read_rich
from tests.servers.telegram.world import Chat, Draft, Message, StoredFile


def send_message(account: Account, parameters: Parameters) -> dict[str, Any]:
    text, entities = formatted(parameters, "text", "entities")
    shown, kept = message_text(text, entities)
    message = _new(account, parameters)
    message.text, message.entities = shown, detected(shown, kept)
    return _sent(account, message)


def send_rich_message(account: Account, parameters: Parameters) -> dict[str, Any]:
    given = parameters.json("rich_message")
    read = read_rich(given)
    message = _new(account, parameters)
    set_rich(message, given, read.text)
    return _sent(account, message)


def send_document(account: Account, parameters: Parameters) -> dict[str, Any]:
    return _send_file(account, parameters, "document")


def send_photo(account: Account, parameters: Parameters) -> dict[str, Any]:
    return _send_file(account, parameters, "photo")


def send_media_group(account: Account, parameters: Parameters) -> list[dict[str, Any]]:
    media = parameters.json("media")
    if not isinstance(media, list) or len(media) not in limits.ALBUM:
        raise bad_request("an album must include 2-10 items")
    kinds = {item.get("type") for item in media}
    if not kinds <= {"photo", "document"} or len(kinds) > 1:
        raise bad_request("documents can't be mixed with other media types in an album")
    album = f"album-{next(account.numbers)}"
    prepared = []
    for item in media:
        message = _new(account, parameters)
        message.file = _stored(account, parameters, item["type"], str(item.get("media", "")))
        inner = Parameters(item, {})
        _caption(message, *formatted(inner, "caption", "caption_entities"))
        message.album = album
        prepared.append(message)
    account.flood.count(prepared[0].chat, len(prepared))
    return [account.add(message).as_json() for message in prepared]


def send_message_draft(account: Account, parameters: Parameters) -> bool:
    text, entities = formatted(parameters, "text", "entities")
    if text:
        text, _ = message_text(text, entities)
    return _draft(account, parameters, text)


def send_rich_message_draft(account: Account, parameters: Parameters) -> bool:
    return _draft(account, parameters, read_rich(parameters.json("rich_message")).text)


def formatted(parameters: Parameters, name: str, entities_name: str) -> tuple[str, list[Entity]]:
    """A text by its parse mode or with its entities."""
    text, mode = parameters.text(name), parameters.text("parse_mode")
    entities = parameters.json(entities_name)
    if mode:
        shown, found = parse(text, mode)
        return shown, found[: limits.ENTITIES]
    return text, checked(text, entities) if entities is not None else []


def set_rich(message: Message, given: dict[str, Any], text: str) -> None:
    """A message becomes a rich one; its blocks are simplified to one paragraph for each line."""
    message.text, message.entities, message.rich_html = text, [], given["html"]
    message.rich = {"blocks": [{"type": "paragraph", "text": line} for line in text.split("\n")]}


def _new(account: Account, parameters: Parameters) -> Message:
    chat = account.open_chat(parameters)
    thread_id = account.thread(chat, parameters)
    keys, force_reply = markup(parameters, chat)
    return Message(
        message_id=0,
        chat=chat,
        sender=None if chat.kind == "channel" else account.bot,
        thread_id=thread_id,
        in_topic=thread_id is not None,
        reply_to=_answered(chat, parameters),
        keyboard=keys,
        force_reply=force_reply,
    )


def _answered(chat: Chat, parameters: Parameters) -> Message | None:
    given = parameters.json("reply_parameters")
    if given is None:
        return None
    found = chat.messages.get(int(given["message_id"]))
    if found is not None and not found.deleted:
        return found
    if given.get("allow_sending_without_reply"):
        return None
    raise bad_request("message to be replied not found")


def _sent(account: Account, message: Message) -> dict[str, Any]:
    account.flood.count(message.chat)
    drafts = message.chat.drafts
    for draft_id in [draft_id for draft_id, draft in drafts.items() if draft.thread_id == message.thread_id]:
        del drafts[draft_id]
    return account.add(message).as_json()


def _send_file(account: Account, parameters: Parameters, kind: str) -> dict[str, Any]:
    message = _new(account, parameters)
    message.file = _stored(account, parameters, kind, parameters.text(kind))
    _caption(message, *formatted(parameters, "caption", "caption_entities"))
    return _sent(account, message)


def _caption(message: Message, text: str, entities: list[Entity]) -> None:
    if units(text) > limits.CAPTION_UNITS:
        raise bad_request("message caption is too long")
    if text.strip():
        shown, kept = message_text(text, entities, limits.CAPTION_UNITS)
        message.text, message.entities = shown, detected(shown, kept)


def _stored(account: Account, parameters: Parameters, kind: str, reference: str) -> StoredFile:
    """An upload, or a file that was sent before."""
    upload = parameters.file(reference or kind)
    if upload is None:
        if reference not in account.files:
            raise bad_request("wrong remote file identifier specified: Wrong string length")
        return account.files[reference]
    if not upload.content:
        raise bad_request("file must be non-empty")
    if len(upload.content) > account.upload_bytes:
        raise Refused(413, "Request Entity Too Large")
    width, height = _photo_sides(upload) if kind == "photo" else (0, 0)
    return account.keep(
        StoredFile(
            file_id="",
            name=upload.name,
            content=upload.content,
            size_bytes=len(upload.content),
            mime_type=upload.mime_type,
            kind="photo" if kind == "photo" else "document",
            width=width,
            height=height,
        )
    )


def _photo_sides(upload: Upload) -> tuple[int, int]:
    """Width and height of a PNG, held against core.telegram.org/bots/api#sendphoto."""
    if len(upload.content) > limits.PHOTO_BYTES:
        raise bad_request("file is too big for a photo")
    if upload.content[:8] != b"\x89PNG\r\n\x1a\n":
        raise bad_request("IMAGE_PROCESS_FAILED")
    width, height = struct.unpack(">II", upload.content[16:24])
    if width + height > limits.PHOTO_SIDES or max(width, height) > limits.PHOTO_RATIO * min(width, height):
        raise bad_request("PHOTO_INVALID_DIMENSIONS")
    return width, height


def _draft(account: Account, parameters: Parameters, text: str) -> bool:
    """It is shown for 30 seconds, in private chats only (core.telegram.org/bots/api#sendmessagedraft)."""
    chat = account.open_chat(parameters)
    if chat.kind != "private":
        raise bad_request("drafts can be sent to private chats only")
    draft_id = parameters.number("draft_id")
    if draft_id == 0:
        raise bad_request("draft_id must be non-zero")
    thread_id = account.thread(chat, parameters)
    can_stop = parameters.flag("can_stop")
    draft = chat.drafts.get(draft_id)
    if draft is None:
        draft = Draft(draft_id=draft_id, thread_id=thread_id, shown_at=0, can_stop=can_stop)
        chat.drafts[draft_id] = draft
    draft.shown_at, draft.can_stop = account.now(), can_stop
    draft.texts.append(text)
    return True
