"""Files into the thread: in three steps, with their titles, once; and what is said when that does not work."""

from __future__ import annotations

from dataclasses import replace

import pytest

from agent.domain import Address
from agent.errors import ChannelUnavailable
from channels.slack.messages import written
from tests.channels.slack.sending.office import Office
from tests.servers.slack.web_api import Fault

CSV = b"a,b\n1,2\n"


async def test_files_stand_in_the_thread(office: Office) -> None:
    """SLF-01 SLF-06: asked for a place, brought, shared in the thread's channel; all of them in one message."""
    made = (await office.artifact("totals.csv", CSV, 1), await office.artifact("Übersicht Q1.csv", b"x,y\n", 2))
    await office.sender.send(office.outgoing("reply", "Done.", artifacts=made))
    answer, shared = office.thread
    assert answer.shown == "Done."
    assert [(file.title, file.content) for file in shared.files] == [
        ("totals.csv", CSV),
        ("Übersicht Q1.csv", b"x,y\n"),
    ]
    assert [call.method for call in office.slack.api.calls if call.method.startswith("files.")] == [
        "files.getUploadURLExternal",
        "files.getUploadURLExternal",
        "files.completeUploadExternal",
    ]


async def test_a_reply_may_be_files_alone(office: Office) -> None:
    """Nothing is said when there is nothing to say."""
    await office.sender.send(office.outgoing("reply", "", artifacts=(await office.artifact("totals.csv", CSV),)))
    (shared,) = office.thread
    assert [file.name for file in shared.files] == ["totals.csv"]


async def test_files_go_to_a_channel_that_is_named(office: Office) -> None:
    """SLF-04: sharing needs the channel's id, which the message before it tells."""
    to = Address(channel="slack", conversation="#ops")
    made = (await office.artifact("totals.csv", CSV),)
    await office.sender.send(office.outgoing("reply", "Done.", to=to, artifacts=made))
    assert [len(message.files) for message in office.slack.answers(office.ops)] == [0, 1]


async def test_a_file_that_may_not_be_shared_is_told(office: Office) -> None:
    """SLF-05: the text stands, once; a line says what to do; the delivery is done."""
    office.slack.api.order("files.completeUploadExternal", Fault(kind="refused", error="not_in_channel"))
    made = (await office.artifact("totals.csv", CSV),)
    assert await office.sender.send(office.outgoing("reply", "Done.", artifacts=made))
    assert [message.shown for message in office.thread] == [
        "Done.",
        "totals.csv could not be attached: I am not in this channel; invite me (/invite), then ask again.",
    ]


async def test_a_missing_scope_is_told(office: Office) -> None:
    """SLF-05: the text stands, and the line names the scope."""
    office.slack.api.scopes.discard("files:write")
    await office.sender.send(office.outgoing("reply", "Done.", artifacts=(await office.artifact("totals.csv", CSV),)))
    assert "files:write" in office.thread[1].shown


async def test_one_bad_file_does_not_hold_up_the_others(office: Office) -> None:
    """An empty file and one that retention removed are named; the rest is shared."""
    good = await office.artifact("totals.csv", CSV, 1)
    empty = await office.artifact("empty.csv", b"", 2)
    gone = replace(await office.artifact("old.csv", b"old", 3), sha256="gone")
    await office.sender.send(office.outgoing("reply", "Done.", artifacts=(empty, gone, good)))
    _, shared, told = office.thread
    assert [file.name for file in shared.files] == ["totals.csv"]
    assert told.shown == (
        "empty.csv could not be attached: it is empty, and Slack takes no empty files.\n"
        "old.csv could not be attached: it is not kept any more."
    )


async def test_a_failed_upload_does_not_double_the_text(office: Office) -> None:
    """The next attempt goes on with the files."""
    office.slack.api.order("files.getUploadURLExternal", Fault(kind="status", status=503))
    outgoing = office.outgoing("reply", "Done.", artifacts=(await office.artifact("totals.csv", CSV),))
    with pytest.raises(ChannelUnavailable):
        await office.sender.send(outgoing)
    await office.sender.send(office.again(outgoing))
    assert [len(message.files) for message in office.thread] == [0, 1]


@pytest.mark.parametrize("after", [True, False])
async def test_a_share_whose_fate_is_unknown_is_looked_for(office: Office, after: bool) -> None:
    """The files are there once, whether the first attempt arrived or not, and their bytes are brought once."""
    office.slack.api.order("files.completeUploadExternal", Fault(kind="cut", after=after))
    outgoing = office.outgoing("reply", "Done.", artifacts=(await office.artifact("totals.csv", CSV),))
    with pytest.raises(ChannelUnavailable):
        await office.sender.send(outgoing)
    await office.sender.send(office.again(outgoing))
    assert [len(message.files) for message in office.thread] == [0, 1]
    assert len(office.made("files.getUploadURLExternal")) == 1


async def test_files_of_a_gone_thread_go_to_the_channel(office: Office) -> None:
    """SLE-19: like the answer, not lost."""
    to = Address(channel="slack", conversation=office.ops, thread="1.2")
    made = (await office.artifact("totals.csv", CSV),)
    await office.sender.send(office.outgoing("reply", "", to=to, artifacts=made))
    (shared,) = office.slack.answers(office.ops)
    assert [file.name for file in shared.files] == ["totals.csv"]


def test_a_part_is_half_of_what_slack_takes() -> None:
    """SLL-04: whatever stands in it."""
    assert all(len(part.blocks[0]["text"]) <= 6_000 for part in written("🙂" * 20_000))
