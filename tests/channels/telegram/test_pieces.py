"""Albums and long texts: one request, whatever pieces they come in and whatever dies in between."""

from __future__ import annotations

import asyncio
import os
from dataclasses import replace

import pytest
from structlog.testing import capture_logs

from agent.errors import StorageError
from tests.channels.telegram.conftest import Site
from tests.servers.telegram.people import Sent


def photo(caption: str = "") -> Sent:
    return Sent(name=None, caption=caption, kind="photo", mime_type="image/jpeg", content=os.urandom(8))


async def test_an_album_is_one_request(site: Site) -> None:
    """TGF-08: five photos, in their order."""
    ann = site.tg.user("Ann")
    async with site.running():
        sent = site.tg.sends(ann, site.tg.private(ann), photo("Which is best?"), *[photo() for _ in range(4)])
        [message] = await site.ears.hears()
    assert message.text == "Which is best?"
    assert [file.name for file in message.awaited_files] == [f"photo-{one.message_id}.jpg" for one in sent]


async def test_captions_of_an_album_keep_their_places(site: Site) -> None:
    """TGF-09: the first and the third."""
    ann = site.tg.user("Ann")
    async with site.running():
        site.tg.sends(ann, site.tg.private(ann), photo("Before"), photo(), photo("After"))
        [message] = await site.ears.hears()
    assert message.text == "1. Before\n3. After"


async def test_a_full_album_waits_for_nothing(site: Site) -> None:
    """Ten are all there can be."""
    site.pace = type(site.pace)(quiet=60, poll=2)
    ann = site.tg.user("Ann")
    async with site.running():
        site.tg.sends(ann, site.tg.private(ann), *[photo() for _ in range(10)])
        [message] = await site.ears.hears()
    assert len(message.awaited_files) == 10


@pytest.mark.parametrize("text", ["x" * 5000, "ab🙂" * 2000, "word " * 2500], ids=["long", "emoji", "words"])
async def test_a_long_paste_is_one_request(site: Site, text: str) -> None:
    """TGL-12: the app cuts at 4096 UTF-16 units; the text comes out as it went in."""
    ann = site.tg.user("Ann")
    async with site.running():
        pieces = site.tg.pastes(ann, site.tg.private(ann), text)
        [message] = await site.ears.hears()
        await asyncio.sleep(site.pace.quiet * 2)
    assert len(pieces) > 1
    assert message.text == text.rstrip()
    assert len(site.ears.heard) == 1
    assert message.message_id == str(pieces[0].message_id)


async def test_a_long_text_alone_is_not_kept_waiting_for_ever(site: Site) -> None:
    """A text of just the limit has no second half."""
    ann = site.tg.user("Ann")
    async with site.running():
        site.tg.says(ann, site.tg.private(ann), "x" * 4096)
        [message] = await site.ears.hears()
    assert message.text == "x" * 4096


async def test_what_comes_behind_an_album_is_a_request_of_its_own(site: Site) -> None:
    """In order: the album first, though it was still waiting."""
    ann = site.tg.user("Ann")
    async with site.running():
        site.tg.sends(ann, site.tg.private(ann), photo("First"), photo())
        site.tg.says(ann, site.tg.private(ann), "Second")
        first, second = await site.ears.hears(2)
    assert (first.text, len(first.awaited_files)) == ("First", 2)
    assert (second.text, len(second.awaited_files)) == ("Second", 0)


async def test_two_people_do_not_finish_each_others_texts(site: Site) -> None:
    """Parts are of one person in one place."""
    ann, ben = site.tg.user("Ann"), site.tg.user("Ben")
    group = site.tg.group("Ops", ann, ben, bot="administrator")
    async with site.running(groups="all"):
        site.tg.says(ann, group, "a" * 4096)
        site.tg.says(ben, group, "no")
        site.tg.says(ann, group, "the end")
        heard = await site.ears.hears(2)
    assert [message.text for message in heard] == ["no", "a" * 4096 + "the end"]


async def test_a_word_does_not_end_a_text(site: Site) -> None:
    """Somebody who pastes and then stops wants both."""
    ann = site.tg.user("Ann")
    async with site.running():
        site.tg.says(ann, site.tg.private(ann), "a" * 4096)
        site.tg.says(ann, site.tg.private(ann), "/stop")
        first, second = await site.ears.hears(2)
    assert (first.text, second.text) == ("a" * 4096, "/stop")


async def test_the_parts_of_an_album_survive_a_crash(site: Site) -> None:
    """They are acknowledged, so they have to be on disk until the request is durable."""
    patient = site.pace
    site.pace = type(site.pace)(quiet=60, poll=2)
    ann = site.tg.user("Ann")
    async with site.running():
        sent = site.tg.sends(ann, site.tg.private(ann), photo("First"), photo())
        await site.confirmed()
    assert site.ears.heard == []
    site.pace = patient
    async with site.running():
        site.tg.sends(ann, site.tg.private(ann), photo("Another"), photo())
        before, after = await site.ears.hears(2)
    assert (before.text, len(before.awaited_files), before.message_id) == ("First", 2, str(sent[0].message_id))
    assert (after.text, len(after.awaited_files)) == ("Another", 2)
    assert list((site.folder / "telegram" / "held").iterdir()) == []


async def test_parts_are_kept_until_the_database_takes_them(site: Site) -> None:
    """It is tried again, with everything that came."""
    ann = site.tg.user("Ann")
    site.ears.failures.extend([StorageError("Gone."), StorageError("Gone.")])
    async with site.running():
        site.tg.sends(ann, site.tg.private(ann), photo("First"), photo())
        [message] = await site.ears.hears()
    assert len(message.awaited_files) == 2
    assert list((site.folder / "telegram" / "held").iterdir()) == []


async def test_a_part_that_comes_twice_counts_once(site: Site) -> None:
    """The confirmation may get lost between two parts."""
    ann = site.tg.user("Ann")
    site.tg.sends(ann, site.tg.private(ann), photo("First"), photo())
    first = dict(site.tg.account.updates.pending[0])
    site.tg.account.updates.again(first)
    async with site.running():
        [message] = await site.ears.hears()
    assert len(message.awaited_files) == 2


async def test_a_damaged_part_keeps_nothing_from_starting(site: Site) -> None:
    """It is logged and put away."""
    held = site.folder / "telegram" / "held"
    held.mkdir(parents=True)
    (held / "7.json").write_bytes(b"{")
    ann = site.tg.user("Ann")
    with capture_logs() as logs:
        async with site.running():
            site.tg.says(ann, site.tg.private(ann), "Hello")
            await site.ears.hears()
    assert "telegram_part_unreadable" in {entry["event"] for entry in logs}
    assert not (held / "7.json").exists()


async def test_a_crash_in_the_middle_tears_nothing_apart(site: Site) -> None:
    """TGL-12: the first half is confirmed when the process dies, the second one comes to the next."""
    ann = site.tg.user("Ann")
    chat = site.tg.private(ann)
    quick, site.pace = site.pace, replace(site.pace, quiet=60)
    async with site.running():
        site.tg.says(ann, chat, "a" * 4096)
        await site.confirmed()
    site.pace = replace(quick, rest=60)
    async with site.running():
        site.tg.says(ann, chat, "the end")
        [message] = await site.ears.hears()
    assert message.text == "a" * 4096 + "the end"


async def test_a_half_that_comes_again_is_no_request(site: Site) -> None:
    """TGU-02: the request was durable, its last part was not confirmed before the process died."""
    ann = site.tg.user("Ann")
    chat = site.tg.private(ann)
    site.tg.pastes(ann, chat, "a" * 5000)
    last = dict(site.tg.account.updates.pending[-1])
    async with site.running():
        await site.ears.hears()
        await site.confirmed()
    site.tg.account.updates.again(last)
    async with site.running():
        site.tg.says(ann, chat, "Next")
        await site.ears.until(lambda: "Next" in [message.text for message in site.ears.heard])
    assert [message.text for message in site.ears.heard] == ["a" * 5000, "Next"]


async def test_a_full_disk_loses_no_part(site: Site) -> None:
    """What cannot be kept is not confirmed."""
    ann = site.tg.user("Ann")
    held = site.folder / "telegram" / "held"
    async with site.running():
        held.parent.mkdir(exist_ok=True)
        held.write_bytes(b"in the way")
        site.tg.pastes(ann, site.tg.private(ann), "a" * 5000)
        await asyncio.sleep(0.1)
        assert site.ears.heard == []
        held.unlink()
        [message] = await site.ears.hears()
    assert message.text == "a" * 5000
