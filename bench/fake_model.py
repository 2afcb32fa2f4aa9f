"""A fast stand-in for a model: the OpenAI chat protocol on loopback, with a record of what it was asked.

`python -m bench.fake_model --port 9100`

A message carries a marker, `marker-1`, which the answer repeats in its first piece, so a lost, doubled or swapped one
shows. `TOOL:name:path` in a message is answered with a call of that tool first. `-c1000` at the end of the model's name
asks for 1,000 pieces of text.

- POST /v1/chat/completions, streamed or not
- POST /set?latency=50&chunks=20&pause=0: milliseconds before the first byte, pieces of text in an answer, milliseconds
  between its writes
- POST /reset, GET /record: `{"requests", "tool_calls", "last_bytes", "markers": {marker: times asked}}`
"""

from __future__ import annotations

import argparse
import asyncio
import functools
import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

import orjson
from aiohttp import web

_MARKER = re.compile(r"\bmarker-\d+\b")
_TOOL = re.compile(r"TOOL:(\w+):([\w./-]+)")
_CHUNKS = re.compile(r"-c(\d+)$")
# A fast model behind a proxy: several events arrive in one network read.
_EVENTS_PER_WRITE = 8
# What English in JSON comes to. A server that learns from the reported usage how long a history may be must not be told
# that every request is short.
_BYTES_PER_TOKEN = 4


class FakeModel:
    """Answers at once, or after `latency` milliseconds, with `pause` milliseconds between the writes of an answer."""

    def __init__(self) -> None:
        self.latency = 0.0
        self.chunks = 20
        self.pause = 0.0
        self._clear()

    def app(self) -> web.Application:
        """The server."""
        app = web.Application(client_max_size=2**28)
        app.add_routes(
            [
                web.post("/v1/chat/completions", self._complete),
                web.post("/set", self._set),
                web.post("/reset", self._reset),
                web.get("/record", self._record),
            ]
        )
        return app

    def _clear(self) -> None:
        self._requests = 0
        self._tool_calls = 0
        self._last_bytes = 0
        self._markers: Counter[str] = Counter()

    async def _complete(self, request: web.Request) -> web.StreamResponse:
        body = await request.read()
        asked = orjson.loads(body)
        self._requests += 1
        self._last_bytes = len(body)
        if self.latency:
            await asyncio.sleep(self.latency / 1000)
        tokens = len(body) // _BYTES_PER_TOKEN
        text, answered = _question(asked["messages"])
        wanted = None if answered else _TOOL.search(text)
        found = _MARKER.search(text)
        marker = found[0] if found else "none"
        if wanted:
            self._tool_calls += 1
            call = {"name": wanted[1], "arguments": orjson.dumps({"path": wanted[2]}).decode()}
            events = _tool_events(f"call{self._requests:05}", call, tokens)
        else:
            self._markers[marker] += 1
            named = _CHUNKS.search(asked["model"])
            count = int(named[1]) if named else self.chunks
            if not asked.get("stream"):
                return _json(_whole(marker, count, tokens))
            first = _piece({"role": "assistant", "content": f"{marker} "})
            events = [first, *_text_events(count), *_ending("stop", tokens, count)]
        return await _stream(request, events, self.pause / 1000)

    async def _set(self, request: web.Request) -> web.Response:
        self.latency = float(request.query.get("latency", self.latency))
        self.chunks = int(request.query.get("chunks", self.chunks))
        self.pause = float(request.query.get("pause", self.pause))
        return _json({})

    async def _reset(self, _: web.Request) -> web.Response:
        self._clear()
        return _json({})

    async def _record(self, _: web.Request) -> web.Response:
        return _json(
            {
                "requests": self._requests,
                "tool_calls": self._tool_calls,
                "last_bytes": self._last_bytes,
                "markers": self._markers,
            }
        )


def _question(messages: Sequence[dict[str, Any]]) -> tuple[str, bool]:
    """The last message of the user, and whether a tool has answered since."""
    answered = False
    for message in reversed(messages):
        answered = answered or message["role"] == "tool"
        if message["role"] == "user":
            content = message["content"]
            return content if isinstance(content, str) else orjson.dumps(content).decode(), answered
    return "", answered


def _event(value: dict[str, Any]) -> bytes:
    chunk = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1700000000, "model": "fake", **value}
    return b"data: " + orjson.dumps(chunk) + b"\n\n"


def _piece(delta: dict[str, Any], finish_reason: str | None = None) -> bytes:
    return _event({"choices": [{"index": 0, "delta": delta, "finish_reason": finish_reason}]})


@functools.cache
def _text_events(count: int) -> tuple[bytes, ...]:
    """The words of an answer behind the marker."""
    return tuple(_piece({"content": "lorem " if index % 2 else "ipsum "}) for index in range(1, count))


def _tool_events(call_id: str, function: dict[str, str], tokens: int) -> list[bytes]:
    call = {"index": 0, "id": call_id, "type": "function", "function": function}
    delta = {"role": "assistant", "content": None, "tool_calls": [call]}
    return [_piece(delta), *_ending("tool_calls", tokens, 5)]


def _ending(reason: str, sent_tokens: int, got_tokens: int) -> list[bytes]:
    usage = _event({"choices": [], "usage": _usage(sent_tokens, got_tokens)})
    return [_piece({}, reason), usage, b"data: [DONE]\n\n"]


def _usage(sent_tokens: int, got_tokens: int) -> dict[str, int]:
    total = sent_tokens + got_tokens
    return {"prompt_tokens": sent_tokens, "completion_tokens": got_tokens, "total_tokens": total}


def _whole(marker: str, count: int, tokens: int) -> dict[str, Any]:
    message = {"role": "assistant", "content": f"{marker} " + "lorem " * (count - 1)}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    return {"id": "chatcmpl-1", "object": "chat.completion", "created": 1700000000, "model": "fake"} | {
        "choices": [choice],
        "usage": _usage(tokens, count),
    }


async def _stream(request: web.Request, events: Sequence[bytes], pause_seconds: float) -> web.StreamResponse:
    response = web.StreamResponse(headers={"Content-Type": "text/event-stream", "Cache-Control": "no-cache"})
    await response.prepare(request)
    for start in range(0, len(events), _EVENTS_PER_WRITE):
        if start and pause_seconds:
            await asyncio.sleep(pause_seconds)
        await response.write(b"".join(events[start : start + _EVENTS_PER_WRITE]))
    await response.write_eof()
    return response


def _json(value: Any) -> web.Response:
    return web.Response(body=orjson.dumps(value), content_type="application/json")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, required=True)
    web.run_app(FakeModel().app(), host="127.0.0.1", port=parser.parse_args().port, access_log=None, print=None)
