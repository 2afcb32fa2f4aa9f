"""Files that people send: fetched from Slack by their id, with the bot's token, which no other host ever sees."""

from __future__ import annotations

from urllib.parse import urljoin, urlsplit

import aiohttp

from agent.errors import ChannelUnavailable, DeliveryRefused
from channels.slack.calls import Calls, Json

SLACK_HOSTS = ("slack.com", "slack-gov.com")
REDIRECTS = 3
FILE_SECONDS = 300.0
_PIECE = 64 * 1024
_NO_PERMISSION = (
    "Slack showed its login page instead of the file: the app lacks the scope files:read, or was not installed again "
    "since it was added."
)
_GONE = {"tombstone": "it was deleted", "hidden_by_limit": "the workspace's plan hides it", "external": "it is a link"}


class Downloads:
    """Fetches files of at most `max_bytes`."""

    def __init__(self, calls: Calls, max_bytes: int) -> None:
        self._calls = calls
        self._max_bytes = max_bytes
        self._api_host = urlsplit(calls.base_url).netloc

    async def fetch(self, file_id: str) -> bytes:
        """The bytes of a file. What an event tells of a file may be a stub without an address, so Slack is asked
        (docs.slack.dev/reference/objects/file-object). ChannelUnavailable, DeliveryRefused."""
        file: Json = (await self._calls.call("files.info", file=file_id))["file"]
        reason = _GONE.get(str(file.get("mode")))
        url = str(file.get("url_private_download") or file.get("url_private") or "")
        if reason or file.get("is_external") or not url:
            raise DeliveryRefused(f"Slack does not have the file: {reason or _GONE['external']}.")
        if int(file.get("size") or 0) > self._max_bytes:
            raise self._too_large()
        try:
            return await self._got(url, file)
        except (aiohttp.ClientError, OSError, TimeoutError) as error:
            raise ChannelUnavailable(f"Slack did not send the file ({type(error).__name__}).") from None

    async def _got(self, url: str, file: Json) -> bytes:
        timeout = aiohttp.ClientTimeout(total=FILE_SECONDS)
        for _ in range(REDIRECTS + 1):
            if not slacks(url, self._api_host):
                raise DeliveryRefused("Slack sent the bot elsewhere for the file, which it does not follow.")
            async with self._calls.session.get(
                url, headers=self._calls.authorization, allow_redirects=False, timeout=timeout
            ) as answer:
                if answer.status not in {301, 302, 303, 307, 308}:
                    return await self._content(answer, file)
                url = urljoin(url, answer.headers.get("Location", ""))
        raise DeliveryRefused("Slack sent the bot in circles for the file.")

    async def _content(self, answer: aiohttp.ClientResponse, file: Json) -> bytes:
        if answer.status == 429 or answer.status >= 500:
            said = answer.headers.get("Retry-After", "")
            raise ChannelUnavailable(
                f"Slack did not send the file (HTTP {answer.status}).",
                retry_after=float(said) if said.isdecimal() else None,
            )
        if answer.status != 200:
            raise DeliveryRefused(f"Slack does not give the file to the bot (HTTP {answer.status}).")
        content = bytearray()
        async for piece in answer.content.iter_chunked(_PIECE):
            content += piece
            if len(content) > self._max_bytes:
                raise self._too_large()
        if _is_login_page(answer.content_type, bytes(content), file):
            raise DeliveryRefused(_NO_PERMISSION)
        return bytes(content)

    def _too_large(self) -> DeliveryRefused:
        return DeliveryRefused(f"It is larger than {self._max_bytes / 2**20:.0f} MiB.")


def slacks(url: str, api_host: str) -> bool:
    """Whether an address is one that may see the token: Slack's own over TLS, or on the host that the configuration
    names for the API (`host:port`)."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    is_own = any(host == one or host.endswith(f".{one}") for one in SLACK_HOSTS)
    return (is_own and parts.scheme == "https") or (parts.netloc == api_host and not is_own)


def _is_login_page(content_type: str, content: bytes, file: Json) -> bool:
    """What a token that may not have the file gets, with status 200; a page that somebody sent has the file's size."""
    start = content[:200].lstrip().lower()
    is_page = content_type == "text/html" or start.startswith((b"<!doctype html", b"<html"))
    is_file = str(file.get("mimetype")).startswith("text/html") and file.get("size") == len(content)
    return is_page and not is_file
