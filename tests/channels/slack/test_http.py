"""The HTTP mode: only what Slack signed is heard."""

from __future__ import annotations

import json
from pathlib import Path
from urllib.parse import urlencode

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from agent.errors import NotAuthentic
from agent.ports.channels import ChannelMessage, Receipt
from channels.slack.http import decoded, signed
from channels.slack.settings import SlackSettings
from tests.channels.slack.rig import Desk, Rig, rigged
from tests.servers.slack.deliveries import Delivery, encoded

SECRET = b"8f742231b10e8888abcd99yyyzzz85a5"


def event(rig: Rig, text: str = "hello") -> bytes:
    said = {"type": "message", "user": rig.ann, "text": text, "ts": "1.0", "channel": rig.slack.direct(rig.ann)}
    payload = {"type": "event_callback", "team_id": "T0HOME", "api_app_id": "A0SIGNOFF", "event": said}
    return json.dumps(payload, indent=1).encode()


JSON = {"Content-Type": "application/json"}
FORM = {"Content-Type": "application/x-www-form-urlencoded"}


async def test_nothing_unsigned_is_heard(tmp_path: Path) -> None:
    """SLA-01: events, interactions and commands alike."""
    chat = Desk()
    async with rigged(tmp_path, chat, mode="http") as rig:
        press = urlencode(
            {"payload": json.dumps({"type": "block_actions", "actions": [{"action_id": "press:a:1:deny"}]})}
        )
        command = urlencode({"command": "/signoff", "text": "help", "user_id": rig.ann, "channel_id": "D1"})
        for body, headers in ((event(rig), JSON), (press.encode(), FORM), (command.encode(), FORM)):
            assert (await rig.slack.http.post(body, headers))[0] == 401
    assert (chat.heard, chat.pressed) == ([], [])


async def test_the_bytes_are_what_is_signed(tmp_path: Path) -> None:
    """SLA-04: odd spacing and forms are fine; other bytes that mean the same are not."""
    chat = Desk()
    async with rigged(tmp_path, chat, mode="http") as rig:
        body = event(rig, "größer \U0001f600")
        headers = JSON | rig.slack.http.signature(body)
        assert (await rig.slack.http.post(body, headers))[0] == 200
        assert (await rig.slack.http.post(json.dumps(json.loads(body)).encode(), headers))[0] == 401
        form, _ = encoded(
            Delivery(kind="slash_commands", payload={"command": "/signoff", "text": "a +&= ü", "channel_id": "D1"})
        )
        assert (await rig.slack.http.post(form, FORM | rig.slack.http.signature(form)))[0] == 200
    assert [message.text for message in chat.heard] == ["größer \U0001f600", "a +&= ü"]


@pytest.mark.parametrize(
    "changed",
    [
        {"X-Slack-Request-Timestamp": "abc"},
        {"X-Slack-Request-Timestamp": "١٢٣"},
        {"X-Slack-Request-Timestamp": "-1"},
        {"X-Slack-Request-Timestamp": ""},
        {"X-Slack-Signature": "v0=é"},
        {"X-Slack-Signature": ""},
        {"X-Slack-Signature": "v0=0000"},
    ],
)
async def test_a_malformed_signature_is_refused(tmp_path: Path, changed: dict[str, str]) -> None:
    """SLA-03: with 401 and no error of ours."""
    chat = Desk()
    async with rigged(tmp_path, chat, mode="http") as rig:
        body = event(rig)
        status, text = await rig.slack.http.post(body, JSON | rig.slack.http.signature(body) | changed)
    assert (status, json.loads(text)["error"]["code"], chat.heard) == (401, "unauthorized", [])


@pytest.mark.parametrize("body", [b"\xff", b"[]", b"{", b'{"a": "\xff"}', b"payload=%7B", b"payload=1", b"=&"])
async def test_what_slack_would_not_send_is_refused_even_signed(tmp_path: Path, body: bytes) -> None:
    """SLA-03: not UTF-8, not JSON, no object; as JSON and as a form."""
    chat = Desk()
    async with rigged(tmp_path, chat, mode="http") as rig:
        for headers in (JSON, FORM):
            assert (await rig.slack.http.post(body, headers | rig.slack.http.signature(body)))[0] == 401


async def test_an_old_request_is_refused(tmp_path: Path) -> None:
    """Somebody may have copied it."""
    chat = Desk()
    async with rigged(tmp_path, chat, mode="http") as rig:
        body = event(rig)
        for age, status in ((301, 401), (-301, 401), (290, 200)):
            headers = JSON | rig.slack.http.signature(body, age_seconds=age)
            assert (await rig.slack.http.post(body, headers))[0] == status


async def test_a_challenge_is_answered_only_when_signed(tmp_path: Path) -> None:
    """SLA-06: else it would tell anybody what is here."""
    async with rigged(tmp_path, Desk(), mode="http") as rig:
        body = json.dumps({"type": "url_verification", "challenge": "3eZbrw1aB"}).encode()
        assert (await rig.slack.http.post(body, JSON))[0] == 401
        status, text = await rig.slack.http.post(body, JSON | rig.slack.http.signature(body))
    assert (status, json.loads(text)) == (200, {"challenge": "3eZbrw1aB"})


def test_without_a_secret_it_does_not_start() -> None:
    """SLA-05: nor without a token."""
    with pytest.raises(ValidationError, match="mode http needs signing_secret"):
        SlackSettings.model_validate({"enabled": True, "mode": "http", "bot_token": "xoxb-1", "signing_secret": " "})
    with pytest.raises(ValidationError, match="mode socket needs app_token"):
        SlackSettings.model_validate({"enabled": True, "bot_token": "xoxb-1", "signing_secret": "x"})
    assert not signed(b"", {"X-Slack-Request-Timestamp": "1", "X-Slack-Signature": "v0="}, b"", 1)


class Refusing(Desk):
    """Is stopping."""

    def __init__(self) -> None:
        super().__init__(draining=True)


async def test_while_it_stops_slack_is_asked_to_come_again(tmp_path: Path) -> None:
    """A repetition is marked as such, and counts like a first copy."""
    chat = Refusing()
    async with rigged(tmp_path, chat, mode="http") as rig:
        rig.slack.http.retry_seconds = (0.0, 0.0, 0.0)
        rig.slack.writes(rig.ann, "hello")
        await rig.slack.acked()
        assert rig.slack.deliveries[0].statuses == [503] * 4
        chat.draining = False
        rig.slack.again(rig.slack.deliveries[0])
        await rig.slack.acked()
    assert [message.text for message in chat.heard] == ["hello"]


async def test_a_late_repetition_has_the_same_key(tmp_path: Path) -> None:
    """SLE-03, SLE-04: what was taken is known for weeks by it, not for minutes by Slack's id of the event."""
    chat = Desk()
    async with rigged(tmp_path, chat, mode="http") as rig:
        body = event(rig)
        for number in ("1", "3"):
            headers = JSON | {"X-Slack-Retry-Num": number, "X-Slack-Retry-Reason": "http_timeout"}
            assert (await rig.slack.http.post(body, headers | rig.slack.http.signature(body)))[0] == 200
    first, second = chat.heard
    assert first.dedup_key == second.dedup_key


async def test_in_socket_mode_there_is_no_address(tmp_path: Path) -> None:
    """Nobody can call what is not there."""
    async with rigged(tmp_path, Desk()) as rig:
        assert list(rig.channel.routes()) == []


@given(body=st.binary(max_size=200), moment=st.text(max_size=20), signature=st.text(max_size=80))
def test_no_forged_request_passes_or_stumbles(body: bytes, moment: str, signature: str) -> None:
    """Whatever bytes and headers somebody makes up."""
    headers = {"X-Slack-Request-Timestamp": moment, "X-Slack-Signature": signature}
    assert not signed(body, headers, SECRET, 1_700_000_000)


@given(
    body=st.binary(max_size=200), kind=st.sampled_from(["application/json", "application/x-www-form-urlencoded", ""])
)
def test_no_body_stumbles(body: bytes, kind: str) -> None:
    """It is an object, or not Slack's."""
    try:
        _, payload = decoded(body, kind)
    except NotAuthentic:
        return
    assert isinstance(payload, dict)


class Broken(Desk):
    """Has a mistake in it."""

    async def receive(self, message: ChannelMessage) -> Receipt:
        raise RuntimeError("a mistake")


async def test_a_mistake_of_ours_is_not_acknowledged(tmp_path: Path) -> None:
    """SLE-06: Slack gets an error and comes again."""
    async with rigged(tmp_path, Broken(), mode="http") as rig:
        body = event(rig)
        assert (await rig.slack.http.post(body, JSON | rig.slack.http.signature(body)))[0] == 500
