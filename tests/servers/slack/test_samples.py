"""What the fake sends has the fields of Slack's own samples, and no others."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.servers.slack.conftest import Office
from tests.servers.slack.test_deliveries import MODAL, receiving
from tests.servers.slack.test_web_api import actions, button

SAMPLES = Path(__file__).parents[4] / "shared/data/slack"
pytestmark = pytest.mark.skipif(not SAMPLES.exists(), reason="Slack's sample payloads are not part of the repository")
# Newer than the samples, or a part of them that they show elsewhere.
KNOWN = {
    "app_id",
    "blocks",
    "channel_type",
    "client_msg_id",
    "context_team_id",
    "edited",
    "reactions",
    "response_urls",
    "source_team",
    "subtype",
    "team",
    "user_team",
}
OPEN = {"metadata", "state", "blocks", "view", "authorizations"}
"""What is inside is the app's own, or a table."""


def sample(name: str) -> Any:
    return json.loads((SAMPLES / name).read_text())


def strange(found: Any, known: Any, path: str = "") -> Iterator[str]:
    """Fields that the sample does not have."""
    if isinstance(found, dict) and isinstance(known, dict):
        for name, value in found.items():
            if name not in known:
                yield from [] if name in KNOWN else [f"{path}/{name}"]
            elif name not in OPEN:
                yield from strange(value, known[name], f"{path}/{name}")
    elif isinstance(found, list) and isinstance(known, list) and known:
        for value in found:
            yield from strange(value, known[0], f"{path}/0")


async def test_events_have_the_fields_of_the_samples(office: Office) -> None:
    """Messages, mentions, edits, deletions, files and reactions."""
    slack = office.slack
    request = slack.says(office.ann, office.ops, f"<@{slack.bot_user}> hello")
    slack.says(office.ann, office.ops, "see", thread=request.ts, files=[slack.file(office.ann, "a.csv", b"1")])
    slack.reacts(office.ann, request, "eyes")
    slack.edits(office.ann, request, "bye")
    slack.deletes(request)
    slack.broadcasts(office.ann, office.ops, "to all", thread=slack.says(office.ann, office.ops, "one").ts)
    slack.says(slack.robot("ci"), slack.room("builds", *slack.world.users), "built")
    slack.archives(office.ann, office.ops)
    slack.removes_bot(office.ann, office.ops)
    names = ["Message", "AppMention", "MessageFileShare", "ReactionAdded", "MessageChanged", "MessageDeleted"]
    names += ["Message", "MessageThreadBroadcast", "Message", "ChannelArchive", "ChannelLeft"]
    for name, delivery in zip(names, slack.deliveries, strict=True):
        assert list(strange(delivery.payload, sample(f"events/{name}Payload.json"))) == [], name


async def test_interactions_have_the_fields_of_the_samples(office: Office) -> None:
    """Presses, submissions and commands."""
    slack = office.slack
    await office.client.chat_postMessage(channel=office.ops, text="x", blocks=[actions(button(value="v"))])
    async with receiving(slack):
        press = await slack.press(office.ann, slack.messages(office.ops)[0], "Approve")
        await office.client.views_open(trigger_id=press.payload["trigger_id"], view=MODAL)
        submission = await slack.submit(office.ann, slack.modal(office.ann), {"Reason": "x"})
        command = await slack.command(office.ann, office.ops, "/signoff", "help")
    for name, delivery in (
        ("interactive-components_BlockAction", press),
        ("views_ViewSubmission", submission),
        ("slash-commands_SlashCommand", command),
    ):
        assert list(strange(delivery.payload, sample(f"interactive/{name}Payload.json"))) == [], name


async def test_answers_have_the_fields_of_the_samples(office: Office) -> None:
    """Every method that has a sample and is called here."""
    client, ops = office.client, office.ops
    root = office.slack.says(office.ann, ops, "hello", files=[office.slack.file(office.ann, "a.csv", b"1")])
    posted = await client.chat_postMessage(channel=ops, text="x", thread_ts=root.ts)
    place = {"channel": ops, "ts": posted["ts"]}
    recipient: dict[str, Any] = {"recipient_user_id": office.ann, "recipient_team_id": office.slack.world.team}
    stream = await client.chat_startStream(channel=ops, thread_ts=root.ts, **recipient)
    answers = {
        "auth.test": await client.auth_test(),
        "chat.postMessage": posted,
        "chat.update": await client.chat_update(text="y", **place),
        "chat.postEphemeral": await client.chat_postEphemeral(channel=ops, user=office.ann, text="x"),
        "chat.getPermalink": await client.chat_getPermalink(channel=ops, message_ts=posted["ts"]),
        "chat.startStream": stream,
        "chat.appendStream": await client.chat_appendStream(channel=ops, ts=stream["ts"], markdown_text="x"),
        "chat.delete": await client.chat_delete(**place),
        "conversations.info": await client.conversations_info(channel=ops),
        "conversations.history": await client.conversations_history(channel=ops),
        "conversations.replies": await client.conversations_replies(channel=ops, ts=root.ts),
        "conversations.open": await client.conversations_open(users=office.ann, return_im=True),
        "users.info": await client.users_info(user=office.ann),
        "files.getUploadURLExternal": await client.files_getUploadURLExternal(filename="x", length=1),
        "files.info": await client.files_info(file=root.files[0].file_id),
        "views.open": await client.views_open(trigger_id=office.slack.world.trigger(office.ann), view=MODAL),
    }
    for name, answer in answers.items():
        assert list(strange(answer.data, sample(f"api/{name}.json"))) == [], name
