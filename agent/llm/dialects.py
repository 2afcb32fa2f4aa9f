"""Where a provider wants the same conversation written a little differently."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence

from agent.ports.models import ChatMessage

_MISTRAL_ID = re.compile(r"[A-Za-z0-9]{9}")


def for_provider(messages: Sequence[ChatMessage], provider: str) -> Sequence[ChatMessage]:
    """The messages as the provider takes them.

    Mistral refuses call ids of another provider's making: nine letters and digits only (anomalyco/opencode issue 1680).
    """
    return [_with_short_ids(message) for message in messages] if provider == "mistral" else messages


def without_reasoning(messages: Sequence[ChatMessage]) -> Sequence[ChatMessage]:
    """The messages for a model that did not write the reasoning in them; a strict host refuses the field."""
    return [{key: value for key, value in message.items() if key != "reasoning_content"} for message in messages]


def _with_short_ids(message: ChatMessage) -> ChatMessage:
    if "tool_call_id" in message:
        return {**message, "tool_call_id": _short(message["tool_call_id"])}
    if message.get("tool_calls"):
        return {**message, "tool_calls": [{**call, "id": _short(call["id"])} for call in message["tool_calls"]]}
    return message


def _short(call_id: str) -> str:
    return call_id if _MISTRAL_ID.fullmatch(call_id) else hashlib.sha256(call_id.encode()).hexdigest()[:9]
