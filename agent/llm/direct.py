"""The client for endpoints that speak the OpenAI chat protocol: one aiohttp session, server-sent events, orjson."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import suppress
from io import BytesIO
from typing import Any

import aiohttp
import orjson

from agent.errors import ModelError, ModelUnavailable
from agent.llm.dialects import for_provider
from agent.llm.providers import endpoint
from agent.llm.refusals import error_words, refusal
from agent.llm.settings import ModelSettings
from agent.llm.transport import Chunk, Request

# A reasoning model may think for minutes before the first word; providers that send keep-alives end the silence.
# The hour is for a stream that never ends.
_TIMEOUT = aiohttp.ClientTimeout(total=3600, sock_connect=15, sock_read=300)
_END_SECONDS = 0.5
"""How long the end of a body is waited for behind its last event: only with it the connection can be used again."""
_HEAD = b"data:"
_DONE = b"[DONE]"


class DirectTransport:
    """Streams over plain HTTP. Connections are not limited: the number of workers is the limit."""

    def __init__(self) -> None:
        self._session: aiohttp.ClientSession | None = None
        self._without_usage: set[str] = set()

    async def stream(self, request: Request) -> AsyncGenerator[list[Chunk], None]:
        """Yield the chunks of each network read."""
        settings = request.settings
        try:
            async with await self._post(request) as response:
                if response.content_type == "application/json":  # a server that does not stream
                    if isinstance(chunk := _loads(await response.read()), dict):
                        yield [chunk]
                    return
                events = EventLines()
                async for data in response.content.iter_any():
                    if chunks := events.feed(data):
                        yield chunks
                    if events.done:
                        await _read_on(response)
                        return
                if chunks := events.close():
                    yield chunks
        except (aiohttp.ClientError, TimeoutError, ValueError) as error:
            reason = str(error) or type(error).__name__
            raise ModelUnavailable(f"{settings.model} could not be read to the end: {reason}.") from error
        raise ModelUnavailable(f"{settings.model} closed the connection before its answer was complete.")

    async def close(self) -> None:
        """Close the session."""
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def _post(self, request: Request) -> aiohttp.ClientResponse:
        """The accepted answer; a server that does not know `stream_options` is asked without, now and ever after."""
        settings = request.settings
        url = endpoint(settings) or ""  # a model without one is refused at the start
        response = await self._send(url, request)
        if response.status == 400 and url not in self._without_usage:
            text = await response.text(errors="replace")
            if "stream_options" not in text and "include_usage" not in text:
                raise _refused(settings, response, text)
            self._without_usage.add(url)
            response = await self._send(url, request)
        if response.status != 200:
            raise _refused(settings, response, await response.text(errors="replace"))
        return response

    async def _send(self, url: str, request: Request) -> aiohttp.ClientResponse:
        if self._session is None:
            self._session = aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0), timeout=_TIMEOUT)
        settings = request.settings
        headers = {"Content-Type": "application/json", "Accept": "text/event-stream"}
        if settings.api_key is not None:
            headers["Authorization"] = f"Bearer {settings.api_key.get_secret_value()}"
        data = BytesIO(orjson.dumps(_body(request, with_usage=url not in self._without_usage)))  # sent in pieces
        return await self._session.post(url, data=data, headers=headers, allow_redirects=False)


class EventLines:
    """Server-sent events cut into chunks: split anywhere, LF or CRLF, comments and other fields passed over."""

    def __init__(self) -> None:
        self.done = False
        self._tail = b""

    def feed(self, data: bytes) -> list[Chunk]:
        """The chunks that are complete with these bytes; ValueError when one is not JSON."""
        lines = (self._tail + data).split(b"\n")
        self._tail = lines.pop()
        return self._chunks(lines)

    def close(self) -> list[Chunk]:
        """The chunk of a last line without a line end."""
        tail, self._tail = self._tail, b""
        return self._chunks([tail])

    def _chunks(self, lines: list[bytes]) -> list[Chunk]:
        chunks: list[Chunk] = []
        for line in lines:
            if not line.startswith(_HEAD):
                continue
            payload = line[5:].strip()
            if payload == _DONE:
                self.done = True
                break
            if payload and isinstance(chunk := _loads(payload), dict):
                chunks.append(chunk)
        return chunks


async def _read_on(response: aiohttp.ClientResponse) -> None:
    """To the end of the body, which says nothing any more; when it does not come, the connection is given up."""
    with suppress(TimeoutError, aiohttp.ClientError):
        async with asyncio.timeout(_END_SECONDS):
            async for _ in response.content.iter_any():
                pass


def _body(request: Request, *, with_usage: bool) -> dict[str, Any]:
    body: dict[str, Any] = {
        "model": request.settings.model_id,
        "messages": for_provider(request.messages, request.settings.provider),
        "stream": True,
    }
    if request.tools:  # an empty list is refused by some
        body["tools"] = request.tools
    if with_usage:
        body["stream_options"] = {"include_usage": True}
    return body


def _loads(payload: bytes) -> Any:
    try:
        return orjson.loads(payload)
    except orjson.JSONDecodeError:  # half an emoji in an escape, which is legal JSON and cleaned later
        return json.loads(payload)


def _refused(settings: ModelSettings, response: aiohttp.ClientResponse, text: str) -> ModelError:
    try:
        words = error_words(text, orjson.loads(text))
    except orjson.JSONDecodeError:
        words = text
    return refusal(settings.model, response.status, settings.without_key(words), response.headers)
