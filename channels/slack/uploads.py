"""Files that a task made, put into the thread in three steps.

docs.slack.dev/messaging/working-with-files: an address to send the bytes to, the bytes, and who may see them.
"""

from __future__ import annotations

from dataclasses import dataclass

import aiohttp

from agent.domain import Artifact
from agent.errors import ChannelUnavailable, DeliveryRefused, NotFound
from agent.ports.files import Blobs
from channels.slack.calls import Calls, Json, SlackRefused

UPLOAD_SECONDS = 600.0
"""For the bytes of one file."""
_INVITE = "I am not in this channel; invite me (/invite), then ask again"


@dataclass(frozen=True, kw_only=True, slots=True)
class Upload:
    """A file with all of its bytes, and the title that people see."""

    name: str
    content: bytes


class Uploads:
    """Sends files; what Slack will never take is a DeliveryRefused, of which `reason` says why in half a sentence."""

    def __init__(self, calls: Calls, blobs: Blobs) -> None:
        self._calls = calls
        self._blobs = blobs

    async def of(self, artifact: Artifact) -> Upload:
        """The bytes of an artifact."""
        try:
            return Upload(name=artifact.name, content=await self._blobs.get(artifact.sha256))
        except NotFound:
            raise DeliveryRefused("it is not kept any more") from None

    async def bring(self, upload: Upload) -> str:
        """The first two steps: the file's id, of which nobody sees anything yet."""
        if not upload.content:
            raise DeliveryRefused("it is empty, and Slack takes no empty files")
        place = await self._calls.call("files.getUploadURLExternal", filename=upload.name, length=len(upload.content))
        await self._post(str(place["upload_url"]), upload.content)
        return str(place["file_id"])

    async def share(self, files: list[tuple[str, str]], channel: str, thread: str | None) -> None:
        """The last step, for files by id and title: one message with all of them."""
        place: Json = {"channel_id": channel, **({"thread_ts": thread} if thread else {})}
        shown = [{"id": file_id, "title": title} for file_id, title in files]
        await self._calls.call("files.completeUploadExternal", files=shown, **place)

    async def _post(self, url: str, content: bytes) -> None:
        headers = {"Content-Type": "application/octet-stream"}
        timeout = aiohttp.ClientTimeout(total=UPLOAD_SECONDS)
        try:
            async with self._calls.session.post(url, data=content, headers=headers, timeout=timeout) as answer:
                status = answer.status
        except (aiohttp.ClientError, OSError, TimeoutError) as error:
            raise ChannelUnavailable(f"Slack did not take the file ({type(error).__name__}).") from None
        if status == 429 or status >= 500:
            raise ChannelUnavailable(f"Slack did not take the file (HTTP {status}).")
        if status != 200:
            raise DeliveryRefused(f"Slack did not take it (HTTP {status})")


def reason(error: DeliveryRefused) -> str:
    """Why a file could not be put there, and what to do."""
    is_outside = isinstance(error, SlackRefused) and error.code in {"not_in_channel", "channel_not_found"}
    return _INVITE if is_outside else str(error).rstrip(".")
