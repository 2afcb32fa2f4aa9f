"""The app that the link makes may do what the channel does, and no more."""

from __future__ import annotations

import json
import re
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from channels.slack.assistant import PROMPTS
from channels.slack.manifest import EVENTS, SCOPES, manifest, missing, new_app_link
from tests.servers.slack.methods import METHODS

CODE = Path(__file__).parents[3] / "channels" / "slack"
HEARD = {
    "app_mentions:read": "app_mention", "channels:history": "message.channels", "groups:history": "message.groups",
    "im:history": "message.im", "mpim:history": "message.mpim", "assistant:write": "assistant_thread_started",
}  # fmt: skip
"""Scopes that are needed to be told of something (docs.slack.dev/reference/events)."""


def called() -> set[str]:
    """Every method that the code names."""
    code = "".join(path.read_text() for path in CODE.glob("*.py") if path.name != "manifest.py")
    return {name for name in re.findall(r'"([a-z]+(?:\.[A-Za-z]+)+)"', code) if name in METHODS}


def test_every_scope_is_used_and_none_is_missing() -> None:
    """Each method that is called has one of its scopes, each scope is for a method, an event or the slash command."""
    used = {"commands", *(scope for scope, event in HEARD.items() if event in EVENTS)}
    for name in called():
        spec = METHODS[name]
        assert not spec.scopes or set(spec.scopes) & set(SCOPES), name
        used |= set(spec.scopes) | set(spec.by_channel)
        assert set(spec.by_channel) <= set(SCOPES), name
    assert set(SCOPES) <= used
    assert len(called()) > 15


def test_it_is_told_of_what_it_takes_in() -> None:
    """The events of the manifest are those that the channel has a place for."""
    taken = (CODE / "intake.py").read_text()
    plain = {event for event in EVENTS if "." not in event}
    assert [event for event in plain if f'"{event}"' not in taken] == []
    assert {event for event in EVENTS if event.startswith("message.")} == {
        "message.channels", "message.groups", "message.im", "message.mpim",
    }  # fmt: skip


def test_the_two_ways_in() -> None:
    """Without an address of ours over a socket; with one, Slack calls it for everything."""
    socket, http = manifest(), manifest("Ledger", "https://signoff.example.com/")
    assert socket["settings"]["socket_mode_enabled"] is True
    assert "request_url" not in json.dumps(socket)
    url = "https://signoff.example.com/channels/slack/events"
    settings = http["settings"]
    assert settings["socket_mode_enabled"] is False
    assert {settings["event_subscriptions"]["request_url"], settings["interactivity"]["request_url"]} == {url}
    assert http["features"]["slash_commands"][0]["url"] == url
    assert http["display_information"]["name"] == "Ledger"


def test_the_link_carries_the_whole_manifest() -> None:
    """As Slack reads it from the address."""
    link = new_app_link(manifest())
    given = parse_qs(urlsplit(link).query)
    assert given["new_app"] == ["1"]
    assert json.loads(given["manifest_json"][0]) == manifest()


def test_within_what_slack_takes() -> None:
    """Names of 35, descriptions of 140, prompts of 4 (docs.slack.dev/reference/app-manifest)."""
    made = manifest()
    about = made["display_information"]
    assert len(about["name"]) <= 35
    assert len(about["description"]) <= 140
    assert len(made["features"]["agent_view"]["agent_description"]) <= 300
    assert made["features"]["agent_view"]["suggested_prompts"] == list(PROMPTS)
    assert len(PROMPTS) <= 4


def test_what_a_token_lacks() -> None:
    """By name, in order."""
    assert missing(set(SCOPES) - {"users:read", "commands"}) == ["commands", "users:read"]
    assert missing({*SCOPES, "more:read"}) == []
