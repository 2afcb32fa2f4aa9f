"""What Telegram enforces, each with where it says so; PTB: telegram.constants of python-telegram-bot 22.8."""

from __future__ import annotations

TEXT_UNITS = 4096  # core.telegram.org/bots/api#sendmessage, after entities parsing; UTF-16: tdlib
CAPTION_UNITS = 1024  # core.telegram.org/bots/api#senddocument, after entities parsing
ENTITIES = 100  # PTB MessageLimit.MESSAGE_ENTITIES: the others are ignored without a word
CALLBACK_DATA_BYTES = 64  # core.telegram.org/bots/api#inlinekeyboardbutton
BUTTONS = 100  # PTB InlineKeyboardMarkupLimit
BUTTONS_PER_ROW = 8  # PTB InlineKeyboardMarkupLimit
ANSWER_CHARACTERS = 200  # core.telegram.org/bots/api#answercallbackquery
ANSWER_SECONDS = 15.0  # reported: github.com/openclaw/openclaw/issues/42156
PLACEHOLDER_CHARACTERS = 64  # core.telegram.org/bots/api#forcereply
ALBUM = range(2, 11)  # core.telegram.org/bots/api#sendmediagroup
PHOTO_BYTES = 10_000_000  # core.telegram.org/bots/api#sendphoto
PHOTO_SIDES = 10_000  # width plus height; core.telegram.org/bots/api#sendphoto
PHOTO_RATIO = 20  # core.telegram.org/bots/api#sendphoto
DOWNLOAD_BYTES = 20_000_000  # core.telegram.org/bots/api#getfile
UPLOAD_BYTES = 50_000_000  # core.telegram.org/bots/api#sending-files
LOCAL_UPLOAD_BYTES = 2_000_000_000  # core.telegram.org/bots/api#using-a-local-bot-api-server
COMMANDS = 100  # core.telegram.org/bots/api#setmycommands
COMMAND_NAME = r"[a-z0-9_]{1,32}"  # core.telegram.org/bots/api#botcommand
COMMAND_DESCRIPTION = range(1, 257)  # core.telegram.org/bots/api#botcommand
UPDATES = range(1, 101)  # core.telegram.org/bots/api#getupdates
SECRET_TOKEN = r"[A-Za-z0-9_-]{1,256}"  # core.telegram.org/bots/api#setwebhook
DRAFT_SECONDS = 30.0  # core.telegram.org/bots/api#sendmessagedraft
RICH_CHARACTERS = 32_768  # core.telegram.org/bots/api#rich-message-limits, all of them
RICH_BLOCKS = 500
RICH_DEPTH = 16
RICH_COLUMNS = 20
GROUP_PER_MINUTE = 20  # core.telegram.org/bots/faq#my-bot-is-hitting-limits-how-do-i-avoid-this
CHAT_PER_SECOND = 1  # the same; short bursts are let through
CHAT_BURST = 20  # our reading of "short bursts"
ALL_PER_SECOND = 30  # the same

ACTIONS = frozenset(
    {"typing", "upload_photo", "record_video", "upload_video", "record_voice", "upload_voice", "upload_document"}
    | {"choose_sticker", "find_location", "record_video_note", "upload_video_note"}
)  # core.telegram.org/bots/api#sendchataction
REACTIONS = frozenset(
    "👍👎❤🔥🥰👏😁🤔🤯😱🤬😢🎉🤩🤮💩🙏👌🕊🤡🥱🥴😍🐳🌚🌭💯🤣⚡🍌🏆💔🤨😐🍓🍾💋🖕😈😴😭🤓👻👀🎃🙈😇😨🤝✍🤗🫡"
)
# core.telegram.org/bots/api#reactiontypeemoji, the better part of them
SCOPES = {
    "default": (),
    "all_private_chats": (),
    "all_group_chats": (),
    "all_chat_administrators": (),
    "chat": ("chat_id",),
    "chat_administrators": ("chat_id",),
    "chat_member": ("chat_id", "user_id"),
}  # core.telegram.org/bots/api#botcommandscope
UPDATE_KINDS = frozenset({"message", "edited_message", "channel_post", "callback_query", "my_chat_member"}) | {
    "stopped_message_generation"
}  # core.telegram.org/bots/api#update, those that the server makes
NEWER_METHODS = frozenset({"sendRichMessage", "sendMessageDraft", "sendRichMessageDraft"})
"""Unknown to a self-hosted server from before Bot API 9.3 (drafts) and 10.1 (rich messages)."""
