"""What a provider's error means for the task: the one table for both transports."""

from __future__ import annotations

import re
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from typing import Any

from agent.errors import ContextTooLong, ModelError, ModelRefused, ModelUnavailable

# What providers answer instead of a status of its own: OpenAI and DeepSeek, Anthropic, Google, Groq, llama.cpp, vLLM.
_TOO_LONG = re.compile(
    r"context_length_exceeded|context (?:length|window|size)|maximum (?:context|prompt) length|prompt is too long"
    r"|input (?:token count|is too long)|request too large|reduce the length",
    re.IGNORECASE,
)
# A quota that is used up comes as 429 like an overload, but waiting does not bring it back.
_USED_UP = re.compile(
    r"insufficient_quota|exceeded your current quota|insufficient balance|credit balance", re.IGNORECASE
)
# Gateways wrap an upstream's status into a text of their own: "429 Provider returned error".
_WRAPPED = re.compile(r"\b(408|429|5\d\d)\b.{0,40}(?:error|provider|upstream|overloaded|rate)", re.IGNORECASE)
_BY_TYPE = {
    "authentication_error": 401,
    "invalid_request_error": 400,
    "not_found_error": 404,
    "permission_error": 403,
    "content_filter": 400,
    "rate_limit_error": 429,
    "rate_limit_exceeded": 429,
}
_ADVICE = {
    401: "check api_key",
    402: "the account needs credit",
    403: "check what the api_key may use",
    404: "check the model's name and api_base",
}
# finish_reason of an answer that is none: OpenRouter's, and DeepSeek's (api-docs.deepseek.com, create-chat-completion).
BROKEN_OFF = frozenset({"error", "insufficient_system_resource"})
_TRANSIENT = frozenset({408, 409, 425, 429})


def refusal(model: str, status: int, text: str, headers: Mapping[str, str] | None = None) -> ModelError:
    """The error for a provider's answer: HTTP status, its words, and the headers that may hold Retry-After."""
    words = " ".join(text.split())[:300]
    said = f"{model} answered {status}: {words}" if words else f"{model} answered {status}"
    if status in {400, 413, 422, 429, 500} and _TOO_LONG.search(text):
        return ContextTooLong(f"{said}.")
    if _USED_UP.search(text):
        return ModelRefused(f"{said} (the quota is used up: {_ADVICE[402]}).")
    if status in _TRANSIENT or status >= 500 or _WRAPPED.search(text):
        return ModelUnavailable(f"{said}.", retry_after=retry_after(headers or {}))
    advice = _ADVICE.get(status)
    return ModelRefused(f"{said} ({advice})." if advice else f"{said}.")


def stream_error(model: str, chunk: Mapping[str, Any]) -> ModelError | None:
    """The error inside a stream that began well: `{"error": …}`, or vLLM's `{"object": "error", …}`."""
    error = chunk.get("error") or (chunk if chunk.get("object") == "error" else None)
    if error is None:
        return None
    if not isinstance(error, Mapping):
        error = {"message": str(error)}
    return refusal(model, _status(error), _words(error))


def error_words(body: str, parsed: Any) -> str:
    """What an error body says, without the JSON around it."""
    if isinstance(parsed, list) and parsed:
        parsed = parsed[0]
    if not isinstance(parsed, Mapping):
        return body
    error = parsed.get("error", parsed)
    return _words(error) if isinstance(error, Mapping) else str(error)


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds to wait. A date counts from the answer's own Date, so that our clock need not agree with theirs."""
    value = headers.get("Retry-After") or headers.get("retry-after")
    if not value:
        return None
    try:
        return max(0.0, float(value))
    except ValueError:
        return _seconds_until(value, headers.get("Date") or headers.get("date"))


def _seconds_until(value: str, date: str | None) -> float | None:
    try:
        return max(0.0, (parsedate_to_datetime(value) - parsedate_to_datetime(date or "")).total_seconds())
    except (TypeError, ValueError):
        return None


def _words(error: Mapping[str, Any]) -> str:
    code = error.get("code") or error.get("type")
    message = str(error.get("message") or error.get("detail") or "")
    return f"{message} [{code}]" if isinstance(code, str) and code not in message else message or str(dict(error))


def _status(error: Mapping[str, Any]) -> int:
    """An error without a status of its own, in a stream that began well, is the provider's trouble: 500."""
    for key in ("code", "status", "type"):
        value = error.get(key)
        if isinstance(value, int) or (isinstance(value, str) and value.isascii() and value.isdigit()):
            return int(value)
        if isinstance(value, str) and value in _BY_TYPE:
            return _BY_TYPE[value]
    return 500
