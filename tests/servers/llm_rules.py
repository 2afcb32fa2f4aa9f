"""What a strict provider demands of a request; the reason for which it would answer 400."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator
from itertools import takewhile
from typing import Any, Literal

Reasoning = Literal["refused", "required", "ignored"]
_FIELDS = {"model", "messages", "tools", "stream", "stream_options", "max_tokens", "temperature"}
_MESSAGE_FIELDS = {
    "system": {"role", "content"},
    "user": {"role", "content"},
    "assistant": {"role", "content", "tool_calls", "reasoning_content"},
    "tool": {"role", "content", "tool_call_id"},
}
_PICTURES = {"data:image/png": b"\x89PNG\r\n\x1a\n", "data:image/jpeg": b"\xff\xd8\xff", "data:image/gif": b"GIF8"}
_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")


def refuse(body: Any, reasoning: Reasoning = "ignored") -> str | None:
    """Why the request is refused; None when it is legal."""
    if not isinstance(body, dict):
        return "the body is not an object"
    return next(_complaints(body, reasoning), None)


def _complaints(body: dict[str, Any], reasoning: Reasoning) -> Iterator[str]:
    if unknown := body.keys() - _FIELDS:
        yield f"unknown field {min(unknown)}"
    if not isinstance(body.get("model"), str) or not body["model"]:
        yield "model is missing"
    if body.get("stream") is not True:
        yield "stream must be true"
    if re.search(r"[\ud800-\udfff]", json.dumps(body, ensure_ascii=False)):
        yield "a lone surrogate is not text"
    yield from _tools(body)
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages:
        yield "messages is empty"
        return
    for position, message in enumerate(messages):
        yield from (f"messages[{position}]: {reason}" for reason in _message(message, reasoning))
    yield from _order(messages)


def _tools(body: dict[str, Any]) -> Iterator[str]:
    if "tools" not in body:
        return
    tools = body["tools"]
    if not isinstance(tools, list) or not tools:
        yield "tools must be a list that is not empty"
        return
    names = [tool.get("function", {}).get("name", "") for tool in tools]
    if len(set(names)) != len(names):
        yield "two tools have one name"
    for tool, name in zip(tools, names, strict=True):
        function = tool.get("function", {})
        if tool.get("type") != "function" or tool.keys() != {"type", "function"}:
            yield f"tool {name}: it must have type function and a function"
        if not _NAME.fullmatch(name) or function.keys() - {"name", "description", "parameters", "strict"}:
            yield f"tool {name!r}: bad name or unknown field"
        if not function.get("description") or function.get("parameters", {}).get("type") != "object":
            yield f"tool {name}: description missing, or parameters are not an object schema"


def _message(message: Any, reasoning: Reasoning) -> Iterator[str]:
    role = message.get("role") if isinstance(message, dict) else None
    if role not in _MESSAGE_FIELDS:
        yield f"unknown role {role!r}"
        return
    if unknown := message.keys() - _MESSAGE_FIELDS[role]:
        yield f"unknown field {min(unknown)}"
    content = message.get("content")
    if role == "assistant":
        yield from _assistant(message, reasoning)
    elif not isinstance(content, str | list) or (role in {"system", "user"} and not content):
        yield "content is missing"
    for part in content if isinstance(content, list) else ():
        yield from _part(part, role)


def _part(part: Any, role: str) -> Iterator[str]:
    """Text, or in what a user says a picture (https://platform.openai.com/docs/guides/images-vision)."""
    match part:
        case {"type": "text", "text": str(text), **more} if not more:
            if not text:
                yield "a text part is empty"
        case {"type": "image_url", "image_url": {"url": str(url), **more}} if not more.keys() - {"detail"}:
            if role != "user":
                yield f"a message of the {role} cannot have pictures"
            if not _is_picture(url):
                yield f"no picture of a kind that is taken: {url[:40]}"
        case _:
            yield "a part of content has an unknown form"


def _is_picture(url: str) -> bool:
    """Whether a data URL holds what its type says."""
    kind, _, encoded = url.partition(";base64,")
    try:
        content = base64.b64decode(encoded, validate=True)
    except ValueError:
        return False
    if kind == "data:image/webp":
        return content[:4] == b"RIFF" and content[8:12] == b"WEBP"
    return content.startswith(_PICTURES.get(kind, b"no such kind"))


def _assistant(message: dict[str, Any], reasoning: Reasoning) -> Iterator[str]:
    content, calls = message.get("content"), message.get("tool_calls")
    if "tool_calls" in message and not calls:
        yield "tool_calls must not be empty"
    if not calls and not (isinstance(content, str) and content.strip()):
        yield "an assistant message needs content or tool_calls"
    if "reasoning_content" in message and reasoning == "refused":
        yield "unknown field reasoning_content"
    if calls and reasoning == "required" and not message.get("reasoning_content"):
        yield "the reasoning_content in the thinking mode must be passed back to the API"
    for call in calls or ():
        yield from _call(call)


def _call(call: dict[str, Any]) -> Iterator[str]:
    function = call.get("function", {})
    if call.keys() != {"id", "type", "function"} or call["type"] != "function" or not call["id"]:
        yield "a tool call needs id, type function and function"
    elif function.keys() != {"name", "arguments"} or not _NAME.fullmatch(function["name"]):
        yield "the function of a tool call needs a legal name and arguments"
    else:
        try:
            if not isinstance(json.loads(function["arguments"]), dict):
                yield "the arguments of a tool call are not an object"
        except (TypeError, ValueError):
            yield "the arguments of a tool call are not JSON text"


def _order(messages: list[dict[str, Any]]) -> Iterator[str]:
    """Each call is answered once, right after its turn; an id is used once; the turn to speak is the assistant's."""
    seen: set[str] = set()
    position = 0
    while position < len(messages):
        message = messages[position]
        position += 1
        role = message.get("role")
        if role == "system" and position > 1 and messages[position - 2].get("role") != "system":
            yield "a system message must come first"
        if role == "tool":
            yield f"a tool message answers no call: {message.get('tool_call_id')}"
        ids = [call.get("id") for call in message.get("tool_calls") or ()]
        if len(set(ids)) != len(ids) or seen.intersection(ids):
            yield f"a tool call id is used twice: {ids}"
        seen.update(ids)
        if ids:
            results = list(takewhile(lambda later: later.get("role") == "tool", messages[position:]))
            answered = [result.get("tool_call_id") for result in results]
            position += len(results)
            if sorted(map(str, answered)) != sorted(ids):
                yield f"tool calls {ids} are answered by {answered}"
    if messages[-1].get("role") not in {"user", "tool"}:
        yield "the last message must be of the user or a tool"
