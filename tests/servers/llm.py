"""A strict provider of the OpenAI chat protocol on a real socket: it refuses what a strict provider refuses.

    fake = FakeLLM()
    await fake.start()
    fake.will("hello", Reply(calls=[("read_file", {"path": "a.txt"})]), Reply(status=429, headers={"Retry-After": "2"}))
    ...                                  # fake.base_url is the api_base
    fake.requests                        # the bodies it got, in order
    fake.refusals                        # why it refused some of them with 400
    await fake.close()

The replies are played in order; without one left it answers 400, or `default` when that is set.
"""

from __future__ import annotations

import asyncio
import json
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from tests.servers.llm_rules import Reasoning, refuse

Arguments = Mapping[str, Any] | str


@dataclass(frozen=True, kw_only=True)
class Reply:
    """One answer.

    `calls` are (name, arguments as object or raw text). `chunks` replaces the chunks made from the fields above, `raw`
    the whole body, piece by piece. `cut_after` closes the connection after so many chunks. `usage` None sends none.
    """

    text: str = ""
    calls: Sequence[tuple[str, Arguments]] = ()
    reasoning: str = ""
    finish_reason: str | None = None
    usage: tuple[int, int] | None = (100, 20)
    cached_tokens: int = 0
    pieces: int = 3
    chunks: Sequence[Mapping[str, Any]] | None = None
    raw: Sequence[bytes] | None = None
    content_type: str = "text/event-stream"
    cut_after: int | None = None
    delay_seconds: float = 0
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    error: Any = "Provider returned error"


class FakeLLM:
    """The server. `key` set: only that bearer token is let in. `knows_stream_options` False refuses that field.

    `idle` is set while no answer is being streamed. `peers` has one address for each connection it got.
    `reasoning`: what happens to `reasoning_content` in the history; a strict host refuses it, DeepSeek requires it in
    turns with calls (api-docs.deepseek.com/guides/thinking_mode).
    """

    def __init__(
        self,
        *,
        key: str | None = None,
        reasoning: Reasoning = "refused",
        knows_stream_options: bool = True,
        default: Reply | None = None,
    ) -> None:
        self.requests: list[dict[str, Any]] = []
        self.refusals: list[str] = []
        self.peers: set[tuple[str, int]] = set()
        self.base_url = ""
        self.default = default
        self.idle = asyncio.Event()
        self.idle.set()
        self._key = key
        self.reasoning: Reasoning = reasoning
        self._knows_stream_options = knows_stream_options
        self._replies: deque[Reply] = deque()
        self._made_ids = 0
        self._runner: web.AppRunner | None = None

    def will(self, *replies: str | Reply) -> None:
        """Queue answers; a str is one of that text."""
        self._replies.extend(Reply(text=reply) if isinstance(reply, str) else reply for reply in replies)

    async def start(self) -> None:
        """Listen on a free port of the loopback."""
        app = web.Application(client_max_size=64 * 1024 * 1024)
        app.router.add_post("/v1/chat/completions", self._complete)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        port = self._runner.addresses[0][1]
        self.base_url = f"http://127.0.0.1:{port}/v1"

    async def close(self) -> None:
        """Stop listening and drop every connection."""
        if self._runner is not None:
            await self._runner.cleanup()

    async def _complete(self, request: web.Request) -> web.StreamResponse:
        if self._key is not None and request.headers.get("Authorization") != f"Bearer {self._key}":
            given = request.headers.get("Authorization", "").removeprefix("Bearer ")
            return _error(401, f"Incorrect API key provided: {given}", "authentication_error")
        assert request.transport is not None
        self.peers.add(request.transport.get_extra_info("peername"))
        raw = await request.read()
        reason = self._refuse(raw)
        if reason is not None:
            self.refusals.append(reason)
            return _error(400, reason, "invalid_request_error")
        self.requests.append(json.loads(raw))
        reply = self._replies.popleft() if self._replies else self.default
        if reply is None:
            self.refusals.append("nothing was queued")
            return _error(400, "nothing was queued", "invalid_request_error")
        if reply.status != 200:
            return _error(reply.status, reply.error, None, reply.headers)
        return await self._play(request, reply)

    def _refuse(self, raw: bytes) -> str | None:
        try:
            body = json.loads(raw.decode("utf-8"))
        except ValueError as error:
            return f"the body is not JSON in UTF-8: {error}"
        if "stream_options" in body and not self._knows_stream_options:
            return "unknown field stream_options"
        return refuse(body, self.reasoning)

    async def _play(self, request: web.Request, reply: Reply) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": reply.content_type, **reply.headers})
        await response.prepare(request)
        self.idle.clear()
        try:
            for count, piece in enumerate(self._pieces(reply)):
                if count == reply.cut_after:
                    break
                await asyncio.sleep(reply.delay_seconds)
                await response.write(piece)
            if reply.cut_after is not None:
                assert request.transport is not None
                request.transport.abort()  # no last chunk of the transfer encoding: a cut, not an end
                return response
            await response.write_eof()
        finally:
            self.idle.set()
        return response

    def _pieces(self, reply: Reply) -> Iterable[bytes]:
        if reply.raw is not None:
            return reply.raw
        chunks = self._chunks(reply) if reply.chunks is None else iter(reply.chunks)
        return [*(f"data: {json.dumps(chunk)}\n\n".encode() for chunk in chunks), b"data: [DONE]\n\n"]

    def _chunks(self, reply: Reply) -> Iterator[Mapping[str, Any]]:
        yield chunk({"role": "assistant", "content": ""})
        if reply.reasoning:
            yield chunk({"reasoning_content": reply.reasoning})
        size = -(-len(reply.text) // reply.pieces) or 1
        for start in range(0, len(reply.text), size):
            yield chunk({"content": reply.text[start : start + size]})
        for index, (name, arguments) in enumerate(reply.calls):
            yield from self._call_chunks(index, name, arguments)
        reason = reply.finish_reason or ("tool_calls" if reply.calls else "stop")
        yield chunk({}, finish_reason=reason)
        if reply.usage is not None:
            prompt, completion = reply.usage
            details = {"cached_tokens": reply.cached_tokens}
            usage = {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}
            yield {**chunk({}), "choices": [], "usage": {**usage, "prompt_tokens_details": details}}

    def _call_chunks(self, index: int, name: str, arguments: Arguments) -> Iterator[Mapping[str, Any]]:
        """First id and name, then the arguments in two pieces, as OpenAI streams them."""
        self._made_ids += 1
        text = arguments if isinstance(arguments, str) else json.dumps(arguments)
        head = {"name": name, "arguments": ""}
        yield piece({"index": index, "id": f"call{self._made_ids:05}", "type": "function", "function": head})
        half = len(text) // 2
        for part in (text[:half], text[half:]):
            yield piece({"index": index, "function": {"arguments": part}})


def chunk(delta: Mapping[str, Any], finish_reason: str | None = None) -> dict[str, Any]:
    """One chunk of a stream."""
    choice = {"index": 0, "delta": dict(delta), "finish_reason": finish_reason}
    return {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "fake", "choices": [choice]}


def piece(*calls: Mapping[str, Any]) -> dict[str, Any]:
    """A chunk with pieces of tool calls."""
    return chunk({"tool_calls": [dict(call) for call in calls]})


def _error(status: int, error: Any, kind: str | None, headers: Mapping[str, str] | None = None) -> web.Response:
    body = (
        error if isinstance(error, dict) else {"error": {"message": error, "type": kind, "param": None, "code": None}}
    )
    return web.json_response(body, status=status, headers=dict(headers or {}))
