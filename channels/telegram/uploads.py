"""Files that a task made, as photos and documents, several of a kind in one album."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from telegram import InputFile, InputMediaDocument, InputMediaPhoto

from agent.domain import Artifact
from agent.errors import DeliveryRefused, NotFound
from agent.ports.files import Blobs
from channels.telegram.attempt import HOPELESS, Attempt, Place
from channels.telegram.calls import Calls, Refused
from channels.telegram.text import Part, Rendered, caption

UPLOAD_BYTES = 50_000_000
"""The most that a bot may send (core.telegram.org/bots/api#sending-files), unless a self-hosted server takes more."""
SELF_HOSTED_BYTES = 2_000_000_000
"""The most that there is (core.telegram.org/bots/api#using-a-local-bot-api-server)."""
ALBUM = 10
"""Files of one album, which has two at least (core.telegram.org/bots/api#sendmediagroup)."""
PHOTO_BYTES, PHOTO_SIDES, PHOTO_RATIO = 10_000_000, 10_000, 20
"""Size, width plus height, and one through the other (core.telegram.org/bots/api#sendphoto)."""

Kind = Literal["photo", "document"]
_FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
"""The segments of a JPEG that say how large it is."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Upload:
    """A file to be sent, as what."""

    artifact: Artifact
    kind: Kind


class Uploads:
    """Sends files; what cannot be sent is said."""

    def __init__(self, calls: Calls, blobs: Blobs, most_bytes: int) -> None:
        self._calls = calls
        self._blobs = blobs
        self._most = most_bytes

    async def send(self, begun: Attempt, artifacts: Sequence[Artifact]) -> None:
        """Send what is in no album yet, then say what could not be sent, and where it is."""
        uploads: list[Upload] = []
        problems: list[str] = []
        for artifact in artifacts:
            problem = self._problem(artifact)
            try:
                uploads += [] if problem else [Upload(artifact=artifact, kind=await self._kind(artifact))]
            except NotFound:
                problem = "it is not kept any more"
            problems += [_said(artifact, problem)] if problem else []
        for album in albums(uploads, self._most):
            problems += await self._album(begun, album)
        if problems:
            await begun.markdown("\n".join(problems), "problem-")

    def _problem(self, artifact: Artifact) -> str:
        """Why a file cannot be sent; empty when it can."""
        if artifact.size_bytes == 0:
            return "it is empty, and Telegram takes no empty files"
        if artifact.size_bytes > self._most:
            return f"it has {_megabytes(artifact.size_bytes)}, more than the {_megabytes(self._most)} a bot may send"
        return ""

    async def _kind(self, artifact: Artifact) -> Kind:
        may_be = artifact.media_type in {"image/png", "image/jpeg"} and artifact.size_bytes <= PHOTO_BYTES
        return "photo" if may_be and is_photo(await self._blobs.get(artifact.sha256)) else "document"

    async def _album(self, begun: Attempt, album: Sequence[Upload]) -> list[str]:
        """Send files together, else one by one; what went wrong with which."""
        name = f"album-{album[0].artifact.artifact_id}"
        if name in begun.arrived:
            return []
        if len(album) > 1:
            try:
                media = [_medium(upload, await self._content(upload)) for upload in album]
                await begun.post(name, lambda place: self._send_album(begun, place, media), len(album))
            except DeliveryRefused as refusal:
                _raise_hopeless(refusal)
            else:
                return []
        return [problem for upload in album if (problem := await self._single(begun, upload))]

    async def _single(self, begun: Attempt, upload: Upload) -> str:
        """Send a file, a photo that is none for Telegram as a document; what went wrong."""
        name = f"file-{upload.artifact.artifact_id}"
        if name in begun.arrived:
            return ""
        try:
            file = InputFile(await self._content(upload), filename=upload.artifact.name)
            await begun.post(name, lambda place: self._send_file(begun, place, upload, file))
        except DeliveryRefused as refusal:
            _raise_hopeless(refusal)
            if upload.kind == "photo":
                return await self._single(begun, replace(upload, kind="document"))
            return _said(upload.artifact, str(refusal).rstrip("."))
        return ""

    async def _content(self, upload: Upload) -> bytes:
        try:
            return await self._blobs.get(upload.artifact.sha256)
        except NotFound:
            raise DeliveryRefused("it is not kept any more") from None

    async def _send_album(
        self, begun: Attempt, place: Place, media: Sequence[InputMediaPhoto | InputMediaDocument]
    ) -> Any:
        return await self._calls.to_chat(
            begun.conversation, lambda chat_id: self._calls.bot.send_media_group(chat_id, media, **place)
        )

    async def _send_file(self, begun: Attempt, place: Place, upload: Upload, file: InputFile) -> Any:
        bot = self._calls.bot
        if upload.kind == "photo":
            named = titled(upload.artifact.name).text
            return await self._calls.to_chat(
                begun.conversation, lambda chat_id: bot.send_photo(chat_id, file, caption=named, **place)
            )
        return await self._calls.to_chat(
            begun.conversation,
            lambda chat_id: bot.send_document(chat_id, file, disable_content_type_detection=True, **place),
        )


def most_bytes(base_url: str) -> int:
    """How large a file may be that goes to this server."""
    return UPLOAD_BYTES if base_url.startswith("https://api.telegram.org/") else SELF_HOSTED_BYTES


def albums(uploads: Sequence[Upload], most_bytes: int) -> Iterator[tuple[Upload, ...]]:
    """Photos, then documents, as many together as may be; also a single one."""
    for kind in ("photo", "document"):
        album: list[Upload] = []
        for upload in uploads:
            if upload.kind != kind:
                continue
            size = sum(one.artifact.size_bytes for one in album) + upload.artifact.size_bytes
            if album and (len(album) == ALBUM or size > most_bytes):
                yield tuple(album)
                album = []
            album.append(upload)
        if album:
            yield tuple(album)


def is_photo(content: bytes) -> bool:
    """Whether Telegram shows a file of at most `PHOTO_BYTES` as a photo: a PNG or JPEG not too large or thin."""
    width, height = sides(content)
    smaller, larger = sorted((width, height))
    return smaller > 0 and width + height <= PHOTO_SIDES and larger <= PHOTO_RATIO * smaller


def sides(content: bytes) -> tuple[int, int]:
    """Width and height of a PNG or a JPEG; zeros for anything else."""
    try:
        if content.startswith(b"\x89PNG\r\n\x1a\n"):
            width, height = struct.unpack_from(">II", content, 16)
            return width, height
        return _jpeg_sides(content) if content.startswith(b"\xff\xd8") else (0, 0)
    except (struct.error, IndexError):
        return 0, 0


def titled(name: str) -> Part:
    """A file's name as a caption, cut where no character is torn."""
    first, _ = caption(Rendered(text=name))
    return first


def _jpeg_sides(content: bytes) -> tuple[int, int]:
    """From segment to segment (www.w3.org/Graphics/JPEG/itu-t81.pdf, B.1)."""
    at = 2
    while content[at] == 0xFF:
        if content[at + 1] in _FRAMES:
            height, width = struct.unpack_from(">HH", content, at + 5)
            return width, height
        at += 2 + int(struct.unpack_from(">H", content, at + 2)[0])
    return 0, 0


def _medium(upload: Upload, content: bytes) -> InputMediaPhoto | InputMediaDocument:
    name = upload.artifact.name
    if upload.kind == "photo":
        return InputMediaPhoto(content, caption=titled(name).text, filename=name)
    return InputMediaDocument(content, filename=name)


def _raise_hopeless(refusal: DeliveryRefused) -> None:
    if isinstance(refusal, Refused) and refusal.kind in HOPELESS:
        raise refusal


def _said(artifact: Artifact, problem: str) -> str:
    return (
        f"I could not attach `{artifact.name}`: {problem}. It is in the workspace as `{artifact.path}`, and in the "
        f"console with task {artifact.task_id}."
    )


def _megabytes(size_bytes: int) -> str:
    return f"{size_bytes / 1_000_000:,.0f} MB"
