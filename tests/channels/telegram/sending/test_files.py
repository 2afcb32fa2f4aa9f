"""Files that a task made: photos, documents, albums, and those that cannot be sent."""

from __future__ import annotations

import struct

import pytest

from agent.domain import Artifact
from agent.errors import ChannelUnavailable, DeliveryRefused, DeliveryUnsure
from channels.telegram.uploads import UPLOAD_BYTES, Upload, albums, is_photo, most_bytes, sides, titled
from tests.channels.telegram.sending.office import Office
from tests.servers.telegram.formats import units
from tests.servers.telegram.server import Fault


def png(width: int = 640, height: int = 480, size: int = 100) -> bytes:
    """The beginning of a picture."""
    return (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + struct.pack(">II", width, height)).ljust(size, b"\0")


def jpeg(width: int, height: int) -> bytes:
    """The same with segments in front of its size."""
    first = b"\xff\xe0\0\x10" + b"JFIF".ljust(14, b"\0")
    return b"\xff\xd8" + first + b"\xff\xc2\0\x11\x08" + struct.pack(">HH", height, width)


async def pictures(office: Office, count: int) -> list[Artifact]:
    """So many photos."""
    return [await office.artifact(f"{n}.png", png(size=100 + n), n, "image/png") for n in range(1, count + 1)]


async def test_a_file_follows_the_answer(office: Office) -> None:
    """With its name and bytes as they are; the answer comes first."""
    sent_as = await office.sending.send(office.reply("Here.", artifacts=(await office.artifact("a.csv", b"a;b"),)))
    text, file = office.answers
    assert text.text == "Here."
    assert file.file is not None
    assert (file.file.name, file.file.content, file.file.kind) == ("a.csv", b"a;b", "document")
    assert sent_as == str(file.message_id)
    assert office.tg.refusals == []


async def test_several_of_a_kind_are_albums(office: Office) -> None:
    """TGF-10: eleven photos and a document are ten together and two alone, in order."""
    files = [*await pictures(office, 11), await office.artifact("a.pdf", b"%PDF", 12, "application/pdf")]
    await office.sending.send(office.reply(artifacts=tuple(files)))
    _, *sent = office.answers
    assert [message.album is not None for message in sent] == [True] * 10 + [False] * 2
    assert [message.file.kind for message in sent if message.file] == ["photo"] * 11 + ["document"]
    assert [message.text for message in sent[:11]] == [f"{number}.png" for number in range(1, 12)]
    assert office.tg.refusals == []


async def test_documents_of_one_album_fit_into_one_call(office: Office) -> None:
    """Together they have no more bytes than one file may."""
    files = [await office.artifact(f"{n}.zip", bytes([n]), n, "application/zip", size=20_000_000) for n in range(1, 6)]
    found = albums([Upload(artifact=file, kind="document") for file in files], UPLOAD_BYTES)
    assert [len(album) for album in found] == [2, 2, 1]


async def test_a_file_that_is_too_large_is_explained(office: Office) -> None:
    """TGF-03: before it is sent, with name, size and where it is; the others come."""
    large = await office.artifact("big.zip", b"x", 1, "application/zip", size=60_000_000)
    await office.sending.send(office.reply(artifacts=(large, await office.artifact("a.csv", b"a", 2))))
    _, file, problem = office.answers
    assert file.file is not None
    assert problem.text == (
        "I could not attach big.zip: it has 60 MB, more than the 50 MB a bot may send. It is in the workspace as "
        "out/big.zip, and in the console with task 5."
    )
    assert len(office.tg.called("sendDocument")) == 1


def test_a_server_of_ones_own_takes_more() -> None:
    """2 GB, where Telegram's own takes 50 MB."""
    assert most_bytes("https://api.telegram.org/bot") == 50_000_000
    assert most_bytes("http://bots.example:8081/bot") == 2_000_000_000


async def test_what_telegram_finds_too_large_is_explained(office: Office) -> None:
    """TGF-03: a proxy's page is no reason to lose the answer."""
    office.tg.will("sendDocument", Fault(status=413, description="<html>"))
    await office.sending.send(office.reply(artifacts=(await office.artifact("a.csv", b"a"),)))
    assert office.texts[-1].startswith("I could not attach a.csv: The Bot API server takes nothing of this size.")


async def test_an_empty_and_a_missing_file_are_explained(office: Office) -> None:
    """With the answer in its place."""
    empty, gone = await office.artifact("e.csv", b"", 1), await office.artifact("g.csv", b"g", 2)
    office.blobs.kept.pop(gone.sha256)
    await office.sending.send(office.reply(artifacts=(empty, gone)))
    assert "e.csv: it is empty" in office.texts[-1]
    assert "g.csv: it is not kept any more" in office.texts[-1]


@pytest.mark.parametrize(
    ("content", "photo"),
    [
        (png(), True),
        (png(7000, 5400), False),
        (png(3000, 100), False),
        (png(2000, 100), True),
        (png(0, 10), False),
        (png()[:18], False),
        (jpeg(640, 480), True),
        (jpeg(9000, 1001), False),
        (jpeg(640, 480)[:24], False),
        (b"GIF89a", False),
        (b"", False),
    ],
)
def test_what_is_a_photo(content: bytes, photo: bool) -> None:
    """TGF-05: width plus height up to 10,000, a ratio up to 20."""
    assert is_photo(content) is photo


def test_the_sides_of_pictures() -> None:
    """Behind whatever segments there are."""
    assert sides(jpeg(640, 480)) == (640, 480)
    assert sides(png(3, 4)) == (3, 4)


async def test_a_picture_that_is_no_photo_is_a_document(office: Office) -> None:
    """TGF-05: one that is too large, and one that Telegram refuses for a reason of its own."""
    wide = await office.artifact("wide.png", png(7000, 5400), 1, "image/png")
    await office.sending.send(office.reply(artifacts=(wide,)))
    assert not office.tg.called("sendPhoto")
    office.tg.will("sendPhoto", Fault(status=400, description="Bad Request: PHOTO_INVALID_DIMENSIONS"))
    odd = await office.artifact("odd.png", png(), 2, "image/png")
    await office.sending.send(office.reply(artifacts=(odd,), delivery_id=2))
    assert [message.file.kind for message in office.answers if message.file] == ["document", "document"]


async def test_an_album_that_is_refused_comes_one_by_one(office: Office) -> None:
    """One odd file takes no other along."""
    office.tg.will("sendMediaGroup", Fault(status=400, description="Bad Request: IMAGE_PROCESS_FAILED"))
    await office.sending.send(office.reply(artifacts=tuple(await pictures(office, 3))))
    assert len([message for message in office.answers if message.file]) == 3


async def test_files_are_gone_on_with_where_they_stopped(office: Office) -> None:
    """Neither the answer nor an album comes twice."""
    files = (*await pictures(office, 2), await office.artifact("a.csv", b"a", 3))
    outgoing = office.reply("Here.", artifacts=files)
    office.tg.will("sendDocument", Fault(status=502))
    with pytest.raises(ChannelUnavailable):
        await office.sending.send(outgoing)
    office.restarted()
    await office.sending.send(office.again(outgoing))
    assert len(office.answers) == 4


async def test_an_upload_without_an_answer_is_not_repeated(office: Office) -> None:
    """TGE-09: the file behind it comes, and the delivery is unsure."""
    office.tg.will("sendDocument", Fault(cut="after"))
    files = (await office.artifact("a.csv", b"a", 1), await office.artifact("b.png", png(), 2, "image/png"))
    with pytest.raises(DeliveryUnsure):
        await office.sending.send(office.reply(artifacts=files))
    assert len([message for message in office.answers if message.file]) == 2


async def test_nothing_more_is_tried_when_the_chat_is_closed(office: Office) -> None:
    """TGU-10: a refusal that is about the chat is not one about each file."""
    office.tg.will("sendMediaGroup", Fault(status=403, description="Forbidden: bot was blocked by the user"))
    with pytest.raises(DeliveryRefused):
        await office.sending.send(office.reply(artifacts=tuple(await pictures(office, 3))))
    assert not office.tg.called("sendPhoto")


def test_a_long_name_is_cut_between_characters() -> None:
    """TGF-07: 1024 UTF-16 units, and no emoji torn."""
    cut = titled("🙂" * 600 + ".png").text
    assert units(cut) <= 1024
    assert cut == "🙂" * 512


async def test_any_name_and_many_bytes_are_sent(office: Office) -> None:
    """A photo is named by its caption, too; a body of more than a megabyte keeps nobody else waiting."""
    names = ["a\ud83d.png", "a\r\nX-Y: z.png", "\u202egnp.exe", "報告 🙂.png", "x" * 255 + ".png"]
    for number, name in enumerate(names):
        file = await office.artifact(name, png(size=1_100_000 + number), number, "image/png")
        await office.sending.send(office.reply("", artifacts=(file,), delivery_id=20 + number))
    sent = [message.file for message in office.answers if message.file]
    assert [len(file.content) for file in sent] == [1_100_000 + n for n in range(len(names))]
    assert office.tg.refusals == []
