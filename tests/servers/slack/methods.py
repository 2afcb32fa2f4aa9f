"""The methods that we use: their arguments, scopes and rates. Any other method and any other argument is refused.

Each has its page: https://docs.slack.dev/reference/methods/<name>.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Tier = Literal["tier.2", "tier.3", "tier.4", "tier.channel", "special"]

READ = ("channels:read", "groups:read", "im:read", "mpim:read")
HISTORY = ("channels:history", "groups:history", "im:history", "mpim:history")
KINDS = ("channel", "group", "im", "mpim")
"""The kinds of conversation, in the order of the scopes above."""

BOT_SCOPES = frozenset(
    {"app_mentions:read", "assistant:write", "chat:write", "commands", "files:read", "files:write", "im:write",
     "reactions:read", "reactions:write", "users:read", *READ, *HISTORY}
)  # fmt: skip


@dataclass(frozen=True, kw_only=True, slots=True)
class Method:
    """`scopes`: one is needed; those of `by_channel` are chosen by the kind of the conversation."""

    required: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()
    scopes: tuple[str, ...] = ()
    by_channel: tuple[str, ...] = ()
    tier: Tier = "tier.3"
    is_read: bool = False


_LOOK = ("icon_emoji", "icon_url", "username")
_WORDS = ("text", "blocks", "markdown_text", "attachments", "parse", "link_names")
_WRITE = ("chat:write",)
_PAGES = ("cursor", "inclusive", "include_all_metadata", "latest", "limit", "oldest")

METHODS = {
    "auth.test": Method(tier="special"),
    "apps.connections.open": Method(),
    "chat.postMessage": Method(
        required=("channel",),
        optional=(
            *_WORDS,
            *_LOOK,
            "thread_ts",
            "reply_broadcast",
            "unfurl_links",
            "unfurl_media",
            "mrkdwn",
            "metadata",
        ),
        scopes=_WRITE,
        tier="tier.channel",
    ),
    "chat.update": Method(
        required=("channel", "ts"), optional=(*_WORDS, "file_ids", "reply_broadcast", "metadata"), scopes=_WRITE
    ),
    "chat.postEphemeral": Method(
        required=("channel", "user"), optional=(*_WORDS, *_LOOK, "thread_ts"), scopes=_WRITE, tier="tier.4"
    ),
    "chat.delete": Method(required=("channel", "ts"), scopes=_WRITE),
    "chat.getPermalink": Method(required=("channel", "message_ts"), tier="special", is_read=True),
    "chat.startStream": Method(
        required=("channel", "thread_ts"),
        optional=(*_LOOK, "markdown_text", "chunks", "recipient_team_id", "recipient_user_id", "task_display_mode"),
        scopes=_WRITE,
        tier="tier.2",
    ),
    "chat.appendStream": Method(
        required=("channel", "ts"), optional=("markdown_text", "chunks"), scopes=_WRITE, tier="tier.4"
    ),
    "chat.stopStream": Method(
        required=("channel", "ts"),
        optional=("markdown_text", "chunks", "blocks", "metadata", "session_status"),
        scopes=_WRITE,
        tier="tier.2",
    ),
    "reactions.add": Method(required=("channel", "name", "timestamp"), scopes=("reactions:write",)),
    "reactions.remove": Method(required=("channel", "name", "timestamp"), scopes=("reactions:write",), tier="tier.2"),
    "views.open": Method(required=("view", "trigger_id"), tier="tier.4"),
    "views.push": Method(required=("view", "trigger_id"), tier="tier.4"),
    "views.update": Method(required=("view",), optional=("view_id", "external_id", "hash"), tier="tier.4"),
    "users.info": Method(
        required=("user",), optional=("include_locale",), scopes=("users:read",), tier="tier.4", is_read=True
    ),
    "conversations.info": Method(
        required=("channel",), optional=("include_locale", "include_num_members"), by_channel=READ, is_read=True
    ),
    "conversations.replies": Method(required=("channel", "ts"), optional=_PAGES, by_channel=HISTORY, is_read=True),
    "conversations.history": Method(required=("channel",), optional=_PAGES, by_channel=HISTORY, is_read=True),
    "conversations.open": Method(
        required=("users",), optional=("return_im", "prevent_creation"), scopes=("im:write", "mpim:write")
    ),
    "files.getUploadURLExternal": Method(
        required=("filename", "length"), optional=("alt_txt", "snippet_type"), scopes=("files:write",), tier="tier.4"
    ),
    "files.completeUploadExternal": Method(
        required=("files",),
        optional=("channel_id", "channels", "initial_comment", "thread_ts"),
        scopes=("files:write",),
        tier="tier.4",
    ),
    "files.info": Method(required=("file",), scopes=("files:read",), tier="tier.4", is_read=True),
    "agents.sessions.setStatus": Method(
        required=("channel_id", "status"),
        optional=("thread_ts", "title", "initiator_user_id", *_LOOK),
        scopes=_WRITE,
    ),
    "assistant.threads.setStatus": Method(
        required=("channel_id", "thread_ts", "status"),
        optional=("loading_messages", *_LOOK),
        scopes=("assistant:write", "chat:write"),
        tier="special",
    ),
    "assistant.threads.setSuggestedPrompts": Method(
        required=("channel_id", "prompts"), optional=("thread_ts", "title"), scopes=("assistant:write",), tier="tier.4"
    ),
    "assistant.threads.setTitle": Method(
        required=("channel_id", "thread_ts", "title"), scopes=("assistant:write",), tier="tier.4"
    ),
}
