"""What Slack's events mean: tables, Slack's own samples, and anything at all."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.domain import Address
from channels.slack import events
from channels.slack.events import Me
from tests.channels.slack.rig import Desk, rigged
from tests.servers.slack.deliveries import Kind

SAMPLES = Path(__file__).parents[4] / "shared/data/slack"
NO_SAMPLES = "Slack's sample payloads are not part of the repository"
ME = Me(user="U0BOT", bot="B0BOT", team="T0HOME", enterprise="E0HOME")
EVENT = {"type": "message", "user": "U1", "text": "hello", "ts": "10.5", "channel": "C1", "channel_type": "channel"}


def payload(**event: Any) -> dict[str, Any]:
    """An event that differs from EVENT; None takes a field away."""
    merged = {name: value for name, value in {**EVENT, **event}.items() if value is not None}
    return {"type": "event_callback", "team_id": "T0HOME", "api_app_id": "A1", "event": merged}


@pytest.mark.parametrize(
    "event",
    [
        {"subtype": "message_changed"},
        {"subtype": "message_deleted", "user": None, "text": None},
        {"subtype": "message_replied", "hidden": True},
        {"subtype": "channel_join"},
        {"subtype": "bot_message", "bot_id": "B1", "user": None},
        {"subtype": "a_new_one"},
        {"hidden": True},
        {"edited": {"user": "U1", "ts": "11.0"}},
        {"user": None},
        {"user": "U0BOT"},
        {"user": "USLACKBOT"},
        {"bot_id": "B0BOT"},
        {"bot_id": "B1"},
        {"app_id": "A1"},
        {"channel": None},
        {"ts": None},
        {"type": "reaction_added"},
        {"type": "app_mention", "edited": {"user": "U1", "ts": "11.0"}},
    ],
)
def test_what_is_no_request(event: dict[str, Any]) -> None:
    """SLE-09, SLE-13, SLE-14: own words, other robots', what Slack writes, hidden and edited messages."""
    assert events.said(payload(**event), ME) is None


@pytest.mark.parametrize("subtype", [None, "file_share", "thread_broadcast", "me_message"])
def test_what_people_write(subtype: str | None) -> None:
    """SLE-15: with files, broadcast to the channel, or as /me."""
    found = events.said(payload(subtype=subtype), ME)
    assert found is not None
    assert (found.user, found.text, found.key) == ("U1", "hello", "slack:A1:T0HOME:C1:10.5")


@pytest.mark.parametrize(
    ("event", "address", "threaded"),
    [
        ({}, Address(channel="slack", conversation="C1", thread="10.5"), False),
        ({"thread_ts": "10.5"}, Address(channel="slack", conversation="C1", thread="10.5"), False),
        ({"thread_ts": "9.0"}, Address(channel="slack", conversation="C1", thread="9.0"), True),
        ({"channel": "G1", "channel_type": "mpim"}, Address(channel="slack", conversation="G1", thread="10.5"), False),
        ({"channel": "D1", "channel_type": "im"}, Address(channel="slack", conversation="U1"), False),
        ({"channel": "D1", "thread_ts": "9.0"}, Address(channel="slack", conversation="U1", thread="9.0"), True),
        ({"channel": "D1", "user": "W1"}, Address(channel="slack", conversation="W1"), False),
    ],
)
def test_where_a_message_belongs(event: dict[str, Any], address: Address, threaded: bool) -> None:
    """SLE-17: to its thread's first message; alone, to the person, and to the thread they began, if any."""
    found = events.said(payload(**event), ME)
    assert found is not None
    assert (found.address, found.threaded, found.direct) == (address, threaded, address.conversation[0] in "UW")


@pytest.mark.parametrize(
    ("event", "company"),
    [
        ({}, None),
        ({"team": "T0HOME"}, None),
        ({"team": "E0HOME"}, None),
        ({"team": "T0HOME", "user_team": "T0EXT"}, "T0EXT"),
        ({"team": "T0HOME", "source_team": "T0EXT"}, "T0EXT"),
        ({"team": "T0EXT"}, "T0EXT"),
        ({"user_team": "T0HOME", "source_team": "T0EXT"}, None),
        ({"user_team": "E0HOME"}, None),
    ],
)
def test_whose_company(event: dict[str, Any], company: str | None) -> None:
    """SLA-10: the sender's team, unless it is the bot's own workspace or organisation."""
    found = events.said(payload(**event), ME)
    assert found is not None
    assert found.company == company


def change(**fields: Any) -> dict[str, Any]:
    """An edit of a message that differs from this one."""
    edited = {"user": "U1", "ts": "40.0"}
    message = {"user": "U1", "text": "new", "ts": "10.5", "edited": edited, **fields}
    before = {"user": "U1", "text": "old", "ts": "10.5"}
    return payload(subtype="message_changed", hidden=True, message=message, previous_message=before, user=None)


@pytest.mark.parametrize(
    "fields",
    [
        {"text": "old"},
        {"edited": None},
        {"edited": {"user": "U1", "ts": "71.5"}},
        {"user": "U0BOT"},
        {"bot_id": "B1"},
        {"user": "U0BOT", "bot_id": "B0BOT"},
        {"ts": ""},
    ],
)
def test_what_is_no_edit_of_a_request(fields: dict[str, Any]) -> None:
    """SLE-16: a link's preview, one that comes late, those of robots; the author is that of the message inside."""
    assert events.edited(change(**fields), ME) is None


def test_an_edit_of_a_request() -> None:
    """It names the message by the key of its first event."""
    found = events.edited(change(), ME)
    assert found is not None
    assert (found.key, found.user, found.newly_mentions) == ("slack:A1:T0HOME:C1:10.5", "U1", False)
    assert found.address == Address(channel="slack", conversation="C1", thread="10.5")
    mentioning = events.edited(change(text="new <@U0BOT>"), ME)
    assert mentioning is not None
    assert mentioning.newly_mentions


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
FIELDS = ["user", "channel", "ts", "text", "thread_ts", "team", "subtype", "files", "attachments", "message", "edited",
          "previous_message", "bot_id", "app_id", "assistant_thread", "hidden"]  # fmt: skip


@given(
    st.sampled_from(["message", "app_mention", "assistant_thread_started"]),
    st.dictionaries(st.sampled_from(FIELDS), anything),
)
def test_no_event_stumbles(kind: str, event: dict[str, Any]) -> None:
    """Whatever is missing or of another type."""
    for found in ({"event": {"type": kind, **event}}, payload(**event), {"event": event}, {"event": kind}, {}):
        events.said(found, ME)
        events.edited(found, ME)
        events.opened(found)


def samples(folder: str) -> list[Path]:
    return sorted((SAMPLES / folder).glob("*.json"))


def filled(value: Any, name: str = "") -> Any:
    """A sample with its blanked texts filled in, as far as an event needs it."""
    values = {"user": "U1", "user_id": "U1", "channel": "C1", "channel_id": "C1", "ts": "10.5", "text": "hello"}
    match value:
        case dict():
            return {
                key: filled(inner, key) for key, inner in value.items() if key not in {"bot_id", "app_id", "edited"}
            }
        case list():
            return [filled(inner) for inner in value]
        case "":
            return values.get(name, "")
        case _:
            return value


REQUESTS = {
    "AppMentionPayload",
    "MessageFileSharePayload",
    "MessageMePayload",
    "MessagePayload",
    "MessageThreadBroadcastPayload",
}


@pytest.mark.skipif(not SAMPLES.exists(), reason=NO_SAMPLES)
@pytest.mark.parametrize("mode", ["socket", "http"])
@pytest.mark.parametrize("is_filled", [False, True], ids=["blank", "filled"])
async def test_every_sample_passes_through(tmp_path: Path, mode: str, is_filled: bool) -> None:
    """All of Slack's events, as they come and with their blanks filled in: each is acknowledged at the first try, and
    only what is said to the bot becomes a message. The interactions do, too, and press nothing."""
    chat = Desk()
    made: set[str] = set()
    async with rigged(tmp_path, chat, mode=mode, groups="all") as rig:
        found = samples("events")
        assert len(found) == 96
        for path in found:
            sample = json.loads(path.read_text())
            delivery = await rig.slack.bring("events_api", filled(sample) if is_filled else sample)
            assert (delivery.is_taken, delivery.attempts) == (True, 1), path.name
            made |= {path.stem} if chat.heard else set()
            chat.heard.clear()
        for path in samples("interactive"):
            sample = json.loads(path.read_text())
            kind: Kind = "slash_commands" if path.stem.startswith("slash") else "interactive"
            delivery = await rig.slack.bring(kind, filled(sample) if is_filled else sample)
            assert delivery.is_taken, path.name
    assert made == (REQUESTS if is_filled else set())
    assert chat.pressed == []
