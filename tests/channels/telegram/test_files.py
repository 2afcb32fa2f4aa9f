"""Files that people send: how they are named, and how their bytes are had."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from agent.domain import AwaitedFile
from agent.errors import ChannelUnavailable, DeliveryRefused
from channels.telegram.files import read
from tests.channels.telegram.conftest import Site
from tests.servers.telegram.people import Sent
from tests.servers.telegram.server import FakeTelegram, Fault


async def awaited(site: Site, sent: Sent) -> AwaitedFile:
    """What is known of a file when it comes in."""
    ann = site.tg.user("Ann")
    async with site.running():
        site.tg.sends(ann, site.tg.private(ann), sent)
        [message] = await site.ears.hears()
    [file] = message.awaited_files
    return file


@pytest.mark.parametrize(
    ("sent", "name"),
    [
        pytest.param(Sent(name="report.pdf"), "report.pdf", id="its own name"),
        pytest.param(Sent(name=None, mime_type="application/pdf"), "document-N.pdf", id="TGF-12 no name"),
        pytest.param(Sent(name=None, mime_type="x/unheard-of"), "document-N.bin", id="TGF-12 no name and no type"),
        pytest.param(Sent(name=None, kind="photo", mime_type="image/jpeg"), "photo-N.jpg", id="photo"),
        pytest.param(Sent(name=None, kind="voice", mime_type="audio/ogg"), "voice-N.ogg", id="voice"),
    ],
)
async def test_a_file_has_a_name(site: Site, sent: Sent, name: str) -> None:
    """Without one of its own, a name with its message's number, which no other file has."""
    file = await awaited(site, sent)
    assert file.name == name.replace("N", site.ears.heard[0].message_id or "")
    assert (file.channel, file.size_bytes) == ("telegram", len(sent.content))


async def test_the_largest_size_of_a_photo_is_taken(site: Site) -> None:
    """Telegram gives several."""
    ann = site.tg.user("Ann")
    site.tg.sends(ann, site.tg.private(ann), Sent(name=None, kind="photo"))
    photo = site.tg.account.updates.pending[0]["message"]["photo"]
    photo.insert(0, {**photo[0], "file_id": "larger", "width": 1280, "height": 960})
    photo.append({**photo[1], "file_id": "smaller", "width": 90, "height": 60})
    async with site.running():
        [message] = await site.ears.hears()
    assert [file.reference for file in message.awaited_files] == ["larger"]


async def test_a_caption_is_the_request(site: Site) -> None:
    """A file alone is one, too."""
    ann = site.tg.user("Ann")
    async with site.running():
        site.tg.sends(ann, site.tg.private(ann), Sent(caption="Sum it up"))
        site.tg.sends(ann, site.tg.private(ann), Sent(name="alone.csv"))
        first, second = await site.ears.hears(2)
    assert (first.text, second.text) == ("Sum it up", "")
    assert [len(message.awaited_files) for message in (first, second)] == [1, 1]


async def test_bytes_are_fetched(site: Site) -> None:
    """By the file's id, over the file's URL."""
    file = await awaited(site, Sent(content=b"a,b\n1,2\n"))
    channel = site.channel()
    assert await channel.download(file.reference) == b"a,b\n1,2\n"
    await channel.stop()
    assert site.tg.refusals == []


async def test_a_file_over_the_limit_says_what_to_do(site: Site) -> None:
    """TGF-01: refused once, in a sentence for whoever sent it; the caption is a request all the same."""
    file = await awaited(site, Sent(size_bytes=21_000_000, caption="Read it"))
    channel = site.channel()
    with pytest.raises(DeliveryRefused, match="larger than the 20 MB"):
        await channel.download(file.reference)
    await channel.stop()
    assert site.ears.heard[0].text == "Read it"
    assert len(site.tg.called("getFile")) == 1


@pytest.fixture
async def local(site: Site) -> AsyncIterator[FakeTelegram]:
    """A server run with --local, in place of the other."""
    site.tg = FakeTelegram(local=site.folder / "server")
    await site.tg.start()
    yield site.tg
    await site.tg.close()


async def test_a_server_of_ones_own_gives_large_files(site: Site, local: FakeTelegram) -> None:
    """TGF-01: it says where they lie on its disk, which we see, too."""
    file = await awaited(site, Sent(content=b"large", size_bytes=21_000_000))
    channel = site.channel()
    assert await channel.download(file.reference) == b"large"
    await channel.stop()


def test_a_disk_of_another_machine_is_named(tmp_path: Path) -> None:
    """With the path that both have to see."""
    with pytest.raises(DeliveryRefused, match=r"gone/file-1, which cannot be read here .* the same folder"):
        read(tmp_path / "gone" / "file-1")


async def test_a_server_that_does_not_answer_is_asked_again_later(site: Site) -> None:
    """Fetching may be tried again without harm."""
    file = await awaited(site, Sent())
    site.tg.will("getFile", Fault(cut="before"), Fault(status=429, retry_after=3))
    channel = site.channel()
    with pytest.raises(ChannelUnavailable):
        await channel.download(file.reference)
    with pytest.raises(ChannelUnavailable) as error:
        await channel.download(file.reference)
    assert error.value.retry_after == 3
    await channel.stop()
