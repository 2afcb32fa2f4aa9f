"""HTTP to a Bot API server, in place of the library's own: it tells what surely had no effect from what may have."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from io import BytesIO
from typing import IO, Any

import aiohttp
from telegram.error import TelegramError
from telegram.request import BaseRequest, RequestData

from channels.telegram.settings import Pace

CONNECTIONS = 64
# A file's name stands in a header.
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


class Answered(TelegramError):
    """The server said no. `retry_after` and `moved_to` are its ResponseParameters
    (core.telegram.org/bots/api#responseparameters)."""

    def __init__(self, status: int, description: str, parameters: dict[str, Any]) -> None:
        super().__init__(description)
        self.status = status
        self.description = description
        self.retry_after: float | None = parameters.get("retry_after")
        self.moved_to: int | None = parameters.get("migrate_to_chat_id")


class Unanswered(TelegramError):
    """No answer came. `sent`: the server may have had the whole call."""

    def __init__(self, reason: str, *, sent: bool) -> None:
        super().__init__(reason)
        self.sent = sent


class Http(BaseRequest):
    """One pool of connections, opened by the first call and again after `shutdown`."""

    def __init__(self, pace: Pace) -> None:
        self._pace = pace
        self._session: aiohttp.ClientSession | None = None

    @property
    def read_timeout(self) -> float:
        """Seconds that an answer may take."""
        return self._pace.answer

    async def initialize(self) -> None:
        """Nothing: the first call opens the pool."""

    async def shutdown(self) -> None:
        """Close every connection; a call under way fails."""
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    async def do_request(
        self, url: str, method: str, request_data: RequestData | None = None, *args: Any, **kwargs: Any
    ) -> tuple[int, bytes]:
        """The status and body of a success; everything else is Answered or Unanswered."""
        wanted = kwargs.get("read_timeout")
        seconds = wanted if isinstance(wanted, int | float) else self.read_timeout
        if request_data is not None and request_data.contains_files:
            seconds = self._pace.upload
        async with self._called(method, url, seconds, data=_form(request_data)) as answer:
            body = await answer.read()
        if answer.status >= 300:
            raise _no(answer.status, body)
        return answer.status, body

    @staticmethod
    def parse_json_payload(payload: bytes) -> dict[str, Any]:
        """What a success holds, `result` among it; the library's own would log the body."""
        try:
            body = json.loads(payload)
            return {"result": body["result"]}
        except (ValueError, TypeError, KeyError):
            raise Unanswered("What came back is no answer of a Bot API server", sent=True) from None

    async def fetch(self, url: str) -> bytes:
        """A file."""
        async with self._called("GET", url, self._pace.upload) as answer:
            content = await answer.read()
        if answer.status != 200:
            raise _no(answer.status, content)
        return content

    @asynccontextmanager
    async def _called(
        self, method: str, url: str, seconds: float, **more: Any
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        """What aiohttp raises names the URL, and with it the token: its words go no further."""
        timeout = aiohttp.ClientTimeout(total=seconds + self._pace.connect, sock_connect=self._pace.connect)
        try:
            async with self._opened().request(method, url, timeout=timeout, allow_redirects=False, **more) as answer:
                yield answer
        except (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError) as error:
            raise Unanswered(f"Telegram cannot be reached: {_named(error)}", sent=False) from None
        except aiohttp.InvalidURL:
            raise Unanswered("The address of the Bot API server is no URL", sent=False) from None
        except TimeoutError:
            raise Unanswered("Telegram did not answer in time", sent=True) from None
        except aiohttp.ClientError as error:
            raise Unanswered(f"The connection to Telegram broke: {_named(error)}", sent=True) from None

    def _opened(self) -> aiohttp.ClientSession:
        if self._session is None:
            connector = aiohttp.TCPConnector(limit=CONNECTIONS)
            self._session = aiohttp.ClientSession(connector=connector, trust_env=True)
        return self._session


def _named(error: aiohttp.ClientError) -> str:
    return type(error.__cause__ or error).__name__


def _no(status: int, body: bytes) -> Answered:
    """A proxy in between answers with a page of its own, which says no more than its status."""
    try:
        said = json.loads(body)
        return Answered(status, str(said["description"]), said.get("parameters") or {})
    except (ValueError, TypeError, KeyError):
        return Answered(status, f"HTTP {status}", {})


def _body(content: bytes | IO[bytes]) -> IO[bytes]:
    """aiohttp sends bytes in one piece, which holds up the loop, and a file in many."""
    return BytesIO(content) if isinstance(content, bytes) else content


def _sound(value: str) -> str:
    """Halves of surrogate pairs cannot be sent as UTF-8; what replaces them is as long, so entities stay in place."""
    return value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _form(data: RequestData | None) -> aiohttp.FormData | None:
    if data is None or not (data.json_parameters or data.contains_files):
        return None
    form = aiohttp.FormData(default_to_multipart=data.contains_files)
    for name, value in data.json_parameters.items():
        form.add_field(name, _sound(value))
    for name, (file_name, content, media_type) in data.multipart_data.items() if data.contains_files else ():
        form.add_field(name, _body(content), filename=_CONTROL.sub("_", _sound(file_name)), content_type=media_type)
    return form
