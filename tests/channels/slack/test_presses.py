"""Buttons and forms, from the press in Slack to what it hands in and what the person is told."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from agent.domain import Address
from agent.errors import StorageError
from agent.ports.channels import Button, ChannelPress, Form, FormField, Receipt
from channels.slack.actions import action_id, stop_id
from channels.slack.forms import CALLBACK_ID, sent
from channels.slack.presses import PRESSED_TOO_LATE
from tests.channels.slack.rig import Desk, Rig, rigged
from tests.servers.slack.web_api import Fault
from tests.servers.slack.world import Message
from tests.storage import given

APPROVE = Button(label="Approve", value="token:1:approve")
EDIT = Button(label="Edit…", value="token:1:edit:1", form=True)
FORM = Form(
    value=EDIT.value,
    title="Edit approval 4711, item 12",
    fields=(
        FormField(name="path", label="path", value="a.md"),
        FormField(name="count", label="count", value="3", required=False),
        FormField(name="content", label="content", value="one\ntwo", multiline=True),
    ),
    submit="Show the new card",
)


async def card(rig: Rig, *, channel: str | None = None, thread: str | None = None) -> Message:
    """A message with both buttons and one that stops task 1."""
    buttons = [_element(button.label, action_id(button), button.value) for button in (APPROVE, EDIT)]
    buttons.append(_element("Stop", stop_id(1), "1"))
    place = {"thread_ts": thread} if thread else {}
    await rig.channel._calls.call(  # noqa: SLF001 - what sends cards has tests of its own
        "chat.postMessage",
        channel=channel or rig.ops,
        text="May I?",
        blocks=[{"type": "actions", "elements": buttons}],
        **place,
    )
    return rig.slack.messages(channel or rig.ops)[-1]


def _element(label: str, action: str, value: str) -> dict[str, Any]:
    return {"type": "button", "text": {"type": "plain_text", "text": label}, "action_id": action, "value": value}


async def whisper(rig: Rig, user: str) -> Message:
    await rig.slack.until(lambda: bool(rig.slack.whispers(user)))
    return rig.slack.whispers(user)[-1]


@pytest.mark.parametrize("mode", ["socket", "http"])
async def test_a_press_says_who_where_and_what(tmp_path: Path, mode: str) -> None:
    """SLB-03: the value is a short token. The answer is for the presser alone, in the thread of the card."""
    chat = Desk(receipt=Receipt(outcome="refused:missing_role", said="<!here> may not decide.", private=True))
    async with rigged(tmp_path, chat, mode=mode) as rig:
        root = rig.slack.says(rig.ann, rig.ops, "hello")
        message = await card(rig, thread=root.ts)
        delivery = await rig.slack.press(rig.bob, message, "Approve")
        told = await whisper(rig, rig.bob)
        assert delivery.is_taken
        assert (told.text, told.thread) == ("&lt;!here&gt; may not decide.", root.ts)
        assert rig.slack.world.pings == []
    [press] = chat.pressed
    assert press.address == Address(channel="slack", conversation=rig.ops, thread=root.ts)
    assert (press.identity, press.value, press.fields) == (f"slack:{rig.bob}", APPROVE.value, {})


async def test_two_presses_are_two_events(tmp_path: Path) -> None:
    """And one that Slack brings twice is one."""
    chat = Desk()
    async with rigged(tmp_path, chat) as rig:
        message = await card(rig)
        first = await rig.slack.press(rig.ann, message, "Approve")
        await rig.slack.press(rig.ann, message, "Approve")
        rig.slack.again(first)
        await rig.slack.acked()
    one, other, again = (press.dedup_key for press in chat.pressed)
    assert one != other
    assert one == again


async def test_a_press_alone_goes_by_the_person(tmp_path: Path) -> None:
    """As their messages do."""
    chat = Desk()
    async with rigged(tmp_path, chat) as rig:
        await rig.slack.press(rig.ann, await card(rig, channel=rig.slack.direct(rig.ann)), "Approve")
    assert chat.pressed[0].address == Address(channel="slack", conversation=rig.ann)


async def test_presses_from_other_companies_are_marked(tmp_path: Path) -> None:
    """SLA-10, SLB-01, SLB-02: so that the same rule holds for them as for messages."""
    chat = Desk()
    async with rigged(tmp_path, chat) as rig:
        stranger = rig.slack.person("eve", team="T0EXT")
        rig.slack.world.channels[rig.ops].members.add(stranger)
        message = await card(rig)
        await rig.slack.press(stranger, message, "Approve")
        await rig.slack.press(rig.ann, message, "Approve")
    assert [press.company for press in chat.pressed] == ["T0EXT", None]


async def test_where_nobody_whispers_it_is_told_alone(tmp_path: Path) -> None:
    """SLB-06: the presser has left the channel, say; told they are."""
    chat = Desk(receipt=Receipt(outcome="refused:missing_role", said="You may not.", private=True))
    async with rigged(tmp_path, chat) as rig:
        message = await card(rig)
        rig.slack.api.order("chat.postEphemeral", Fault(kind="refused", error="user_not_in_channel"))
        await rig.slack.press(rig.bob, message, "Approve")
        await rig.slack.until(lambda: bool(rig.slack.answers(rig.slack.direct(rig.bob))))
        assert rig.slack.answers(rig.slack.direct(rig.bob))[-1].text == "You may not."


async def test_a_form_opens_and_comes_back(tmp_path: Path) -> None:
    """With what stands in it already; an empty field is an empty text. Its place is that of the card."""
    chat = Desk(forms={EDIT.value: FORM})
    async with rigged(tmp_path, chat) as rig:
        root = rig.slack.says(rig.ann, rig.ops, "hello")
        await rig.slack.press(rig.ann, await card(rig, thread=root.ts), "Edit…")
        modal = rig.slack.modal(rig.ann)
        assert modal.title == "Edit approval 4711, ite…"
        await rig.slack.submit(rig.ann, modal, {"path": "b.md", "count": None})
        assert not rig.slack.has_modal(rig.ann)
    [press] = chat.pressed
    assert press.value == EDIT.value
    assert press.fields == {"path": "b.md", "count": "", "content": "one\ntwo"}
    assert press.address == Address(channel="slack", conversation=rig.ops, thread=root.ts)


async def test_what_is_wrong_in_a_form_stands_in_it(tmp_path: Path) -> None:
    """Below the field that it is about, or the first; corrected, it is another event."""
    chat = Desk(forms={EDIT.value: FORM})
    async with rigged(tmp_path, chat) as rig:
        await rig.slack.press(rig.ann, await card(rig), "Edit…")
        modal = rig.slack.modal(rig.ann)
        for said, field in (("count: write the value as JSON.", "count"), ("Approval 1: decided.", "path")):
            chat.receipt = Receipt(outcome="refused:bad_arguments", said=said)
            await rig.slack.submit(rig.ann, modal, {"count": "three"})
            assert modal.errors == {field: said}
        chat.receipt = Receipt(outcome="edited", said="Shown again.")
        await rig.slack.submit(rig.ann, modal, {"count": "3"})
        assert not rig.slack.has_modal(rig.ann)
        assert (await whisper(rig, rig.ann)).text == "Shown again."
    first, same, corrected = (press.dedup_key for press in chat.pressed)
    assert first == same != corrected


async def test_a_form_that_cannot_open_says_why(tmp_path: Path) -> None:
    """It is unknown or decided, has more text than Slack's forms take, or opened too late."""
    long = Form(
        value="x", title="x", submit="x", fields=(FormField(name="content", label="content", value="x" * 3_001),)
    )
    chat = Desk()
    async with rigged(tmp_path, chat) as rig:
        message = await card(rig)
        await rig.slack.press(rig.ann, message, "Edit…")
        assert (await whisper(rig, rig.ann)).text == f"There is no form {EDIT.value}."
        chat.forms = {EDIT.value: long}
        await rig.slack.press(rig.bob, message, "Edit…")
        assert "3,001 characters" in (await whisper(rig, rig.bob)).text
        chat.forms = {EDIT.value: FORM}
        rig.slack.api.order("views.open", Fault(kind="refused", error="expired_trigger_id"))
        cid = rig.slack.person("cid")
        rig.slack.world.channels[rig.ops].members.add(cid)
        await rig.slack.press(cid, message, "Edit…")
        assert (await whisper(rig, cid)).text == PRESSED_TOO_LATE


async def test_the_stop_button_stops_its_task_alone(tmp_path: Path) -> None:
    """As the word does, where it is pressed; a task that has ended is not another one that runs by now."""
    chat = Desk()
    async with rigged(tmp_path, chat) as rig:
        message = await card(rig)
        state = await given.claimed(rig.store)
        await rig.slack.press(rig.ann, message, "Stop")
        assert [(one.text, one.address.conversation, one.identity) for one in chat.heard] == [
            ("/stop", rig.ops, f"slack:{rig.ann}")
        ]
        await given.finish(rig.store, state)
        await rig.slack.press(rig.ann, message, "Stop")
        assert (await whisper(rig, rig.ann)).text == "Task 1 has ended."
    assert len(chat.heard) == 1


class Failing(Desk):
    """Has no database."""

    async def press(self, press: ChannelPress) -> Receipt:
        raise StorageError("gone")


async def test_a_press_that_could_not_be_taken_is_not_acknowledged(tmp_path: Path) -> None:
    """So that the presser sees that nothing happened; everything else is acknowledged."""
    async with rigged(tmp_path, Failing()) as rig:
        rig.slack.sockets.redelivery_seconds = 0.2
        message = await card(rig)
        assert not (await rig.slack.press(rig.ann, message, "Approve")).is_taken
        strange = {"type": "block_actions", "actions": [{"action_id": "somebody's", "value": "x"}, {"action_id": 3}]}
        for payload in (
            strange,
            {"type": "view_submission", "view": {"callback_id": "x"}},
            {"type": "view_closed"},
            {},
        ):
            assert (await rig.slack.bring("interactive", payload)).is_taken


@pytest.mark.parametrize("kept", ["", "[]", "{}", '{"in": 1, "value": 2}', '{"in": ["C1"], "value": "x"}', '"x"'])
def test_a_view_that_is_not_ours_is_let_be(kept: str) -> None:
    """Whatever stands in it."""
    assert sent({"callback_id": CALLBACK_ID, "private_metadata": kept}) is None
