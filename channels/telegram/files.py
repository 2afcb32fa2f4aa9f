"""Files that people send: which of them a message holds, and how their bytes are had."""

from __future__ import annotations

import mimetypes
from pathlib import Path

from telegram import Animation, Audio, Document, Message, PhotoSize, Video, VideoNote, Voice

from agent.domain import AwaitedFile
from agent.errors import DeliveryRefused, NotFound
from agent.tool import in_thread
from channels.telegram.calls import Calls, Refused

TOO_BIG = (
    "it is larger than the 20 MB that Telegram lets a bot download. Send a smaller file or a part of it, put it into "
    "the workspace another way, or have an admin set up a Bot API server of your own (channels.telegram.base_url)."
)
"""core.telegram.org/bots/api#getfile, core.telegram.org/bots/api#using-a-local-bot-api-server"""

_ENDINGS = {
    "audio": ".mp3", "animation": ".mp4", "photo": ".jpg", "video": ".mp4", "video-note": ".mp4", "voice": ".ogg",
}  # fmt: skip
"""Of what has no name of its own (core.telegram.org/bots/api#voice, #photosize, #videonote)."""

Sent = Animation | Audio | Document | PhotoSize | Video | VideoNote | Voice


def awaited(message: Message) -> tuple[AwaitedFile, ...]:
    """The file of a message, of a photo the largest size."""
    found: tuple[tuple[str, Sent | None], ...] = (
        ("photo", max(message.photo, key=lambda size: size.width * size.height, default=None)),
        ("animation", message.animation),  # which is a document, too: core.telegram.org/bots/api#message
        ("document", message.document),
        ("audio", message.audio),
        ("video", message.video),
        ("video-note", message.video_note),
        ("voice", message.voice),
    )
    return next(((_awaited(message, kind, file),) for kind, file in found if file), ())


class Files:
    """Fetches what people sent."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls

    async def download(self, reference: str) -> bytes:
        """The bytes of a file id; NotFound, DeliveryRefused, ChannelUnavailable."""
        try:
            file = await self._calls.ask(lambda: self._calls.bot.raw("getFile", {"file_id": reference}))
            return await self._content(str(file.get("file_path")))
        except Refused as refusal:
            if refusal.kind == "no_such_file":
                raise NotFound(f"There is no file {reference}; send it again.") from None
            raise DeliveryRefused(TOO_BIG if refusal.kind == "file_too_big" else str(refusal)) from None

    async def _content(self, path: str) -> bytes:
        if path.startswith("/"):  # the server runs with --local and says where the file lies
            return await in_thread(read, Path(path))
        return await self._calls.fetch(path)


def _awaited(message: Message, kind: str, file: Sent) -> AwaitedFile:
    media_type = getattr(file, "mime_type", None)
    ending = _ENDINGS.get(kind) or mimetypes.guess_extension(media_type or "") or ".bin"
    name = getattr(file, "file_name", None) or f"{kind}-{message.message_id}{ending}"
    return AwaitedFile(channel="telegram", reference=file.file_id, name=name, size_bytes=file.file_size)


def read(path: Path) -> bytes:
    """A file that the server keeps on its own disk."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise DeliveryRefused(
            f"the Bot API server keeps it at {path}, which cannot be read here ({error.strerror}); "
            "let both see the same folder."
        ) from None
