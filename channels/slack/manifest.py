"""The Slack app as Slack makes it from a link: what it may do, what it is told, what it shows. Pure.

docs.slack.dev/reference/app-manifest names every field.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from typing import Any
from urllib.parse import quote

from channels.slack.assistant import PROMPTS

NEW_APP = "https://api.slack.com/apps?new_app=1&manifest_json="
EVENTS_PATH = "/channels/slack/events"
COMMAND = "/signoff"

SCOPES: Mapping[str, str] = {
    "app_mentions:read": "hear when it is mentioned",
    "assistant:write": "show in an agent's thread what it is doing",
    "channels:history": "hear replies in threads of public channels, and look whether a message has arrived",
    "channels:read": "see whether it is in a public channel",
    "chat:write": "answer",
    "commands": f"hear {COMMAND}",
    "files:read": "fetch files that people send",
    "files:write": "send the files it made",
    "groups:history": "the same in private channels",
    "groups:read": "the same in private channels",
    "im:history": "hear direct messages",
    "im:read": "hear direct messages",
    "im:write": "write to people alone",
    "mpim:history": "the same in group messages",
    "mpim:read": "the same in group messages",
    "reactions:write": "mark a request as seen and done",
    "users:read": "know what mentioned people are called",
}
"""Every scope of the bot token, and what it is for."""

APP_SCOPE = "connections:write"
"""The scope of the app token of Socket Mode (docs.slack.dev/apis/events-api/using-socket-mode)."""

EVENTS = (
    "agent_session_stopped", "app_mention", "app_uninstalled", "assistant_thread_started", "message.channels",
    "message.groups", "message.im", "message.mpim", "tokens_revoked",
)  # fmt: skip
"""What the app is told of."""


def manifest(name: str = "Signoff", public_url: str | None = None) -> dict[str, Any]:
    """The app. With `public_url` Slack calls us there; without, Socket Mode is on and no address is needed."""
    url = f"{public_url.rstrip('/')}{EVENTS_PATH}" if public_url else None
    at = {"request_url": url} if url else {}
    command = {
        "command": COMMAND,
        "description": "Ask for something, or /signoff help",
        "usage_hint": "help | status | stop | approve 12 | what should be done",
        "should_escape": True,
    }
    return {
        "display_information": {
            "name": name,
            "description": "Works on your files and asks before it changes anything",
            "background_color": "#1f3a5f",
        },
        "features": {
            "app_home": {
                "home_tab_enabled": False,
                "messages_tab_enabled": True,
                "messages_tab_read_only_enabled": False,
            },
            "bot_user": {"display_name": name, "always_online": True},
            "agent_view": {
                "agent_description": "Works on the files of a workspace and asks before it changes anything",
                "suggested_prompts": list(PROMPTS),
            },
            "slash_commands": [command | ({"url": url} if url else {})],
        },
        "oauth_config": {"scopes": {"bot": sorted(SCOPES)}},
        "settings": {
            "event_subscriptions": {"bot_events": list(EVENTS), **at},
            "interactivity": {"is_enabled": True, **at},
            "org_deploy_enabled": False,
            "socket_mode_enabled": url is None,
            "token_rotation_enabled": False,
        },
    }


def new_app_link(made: Mapping[str, Any]) -> str:
    """The page on which Slack makes the app of a manifest."""
    return NEW_APP + quote(json.dumps(made, separators=(",", ":")), safe="")


def missing(given: Collection[str]) -> list[str]:
    """The scopes that a token does not have."""
    return sorted(set(SCOPES) - set(given))
