"""What the strictest provider would say about a request: the rules of several, taken together."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence

from agent.ports.models import ChatMessage

KEYS = {
    "system": {"role", "content"},
    "user": {"role", "content"},
    "assistant": {"role", "content", "tool_calls", "reasoning_content"},
    "tool": {"role", "content", "tool_call_id"},
}
NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")


def refusal(messages: Sequence[ChatMessage], *, reasoning: bool = True) -> str | None:
    """Why a strict provider answers 400 to these messages, or None; `reasoning`: it knows `reasoning_content`."""
    return next(_refusals(messages, reasoning=reasoning), None)


def _refusals(messages: Sequence[ChatMessage], *, reasoning: bool) -> Iterator[str]:
    roles = [message.get("role") for message in messages]
    spoken = messages[1:] if roles[:1] == ["system"] else messages
    if not spoken or spoken[0].get("role") != "user":
        yield "the conversation does not begin with a user message"
    if roles and roles[-1] not in ("user", "tool"):
        yield "there is nothing to answer: the last message is the assistant's"
    for number, message in enumerate(messages):
        yield from (f"message {number}: {problem}" for problem in _shape(message, reasoning=reasoning))
    yield from _order(spoken)


def _shape(message: ChatMessage, *, reasoning: bool) -> Iterator[str]:
    role = message.get("role")
    known = KEYS.get(str(role), set()) - (set() if reasoning else {"reasoning_content"})
    if unknown := message.keys() - known:
        yield f"unknown role or key: {role} {unknown}"
    content, calls = message.get("content"), message.get("tool_calls")
    if content is None and not calls:
        yield "no content"
    if content is not None and not (isinstance(content, str) and content.strip()):
        yield "content is empty or no text"
    if "reasoning_content" in message and not calls:
        yield "reasoning without calls"
    for call in calls or ():
        yield from _call(call)
    try:
        json.dumps(message, ensure_ascii=False, allow_nan=False).encode()
    except ValueError as error:
        yield f"not JSON in UTF-8: {error}"


def _call(call: ChatMessage) -> Iterator[str]:
    function = call.get("function", {})
    if call.keys() != {"id", "type", "function"} or call["type"] != "function" or not call["id"]:
        yield f"not a call: {call}"
    if not NAME.fullmatch(function.get("name", "")):
        yield f"bad function name {function.get('name')!r}"
    try:
        if not isinstance(json.loads(function["arguments"]), dict) or "NaN" in function["arguments"]:
            yield "arguments are no JSON object"
    except ValueError:
        yield "arguments are no JSON"


def _order(messages: Sequence[ChatMessage]) -> Iterator[str]:
    """Every call is answered at once, once and in order; an id stands for one call of the whole request."""
    seen: set[str] = set()
    waiting: list[str] = []
    for number, message in enumerate(messages):
        if message["role"] == "tool":
            if not waiting or message.get("tool_call_id") != waiting.pop(0):
                yield f"message {number}: a result without its call, or out of order"
                return
            continue
        if waiting:
            yield f"message {number}: calls without a result: {waiting}"
            return
        waiting = [call["id"] for call in message.get("tool_calls") or ()]
        if seen.intersection(waiting) or len(set(waiting)) != len(waiting):
            yield f"message {number}: an id used twice"
        seen.update(waiting)
    if waiting:
        yield f"calls without a result: {waiting}"
