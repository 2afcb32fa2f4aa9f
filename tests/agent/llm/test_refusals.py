"""What a provider's answer means."""

from __future__ import annotations

import pytest

from agent.errors import ContextTooLong, ModelError, ModelRefused, ModelUnavailable
from agent.llm.refusals import error_words, refusal, retry_after


@pytest.mark.parametrize(
    ("status", "text", "expected"),
    [
        (429, "Rate limit reached for requests", ModelUnavailable),
        (429, "", ModelUnavailable),
        (503, "overloaded", ModelUnavailable),
        (529, "overloaded_error", ModelUnavailable),
        (408, "", ModelUnavailable),
        (400, "429 Provider returned error", ModelUnavailable),
        (400, "temperature must be at most 2", ModelRefused),
        (401, "Incorrect API key", ModelRefused),
        (402, "Insufficient Balance", ModelRefused),
        (404, "The model `x` does not exist", ModelRefused),
        (429, "You exceeded your current quota, please check your plan", ModelRefused),
        (400, "Your credit balance is too low", ModelRefused),
        (400, "This model's maximum context length is 8192 tokens", ContextTooLong),
        (400, "prompt is too long: 210000 tokens > 200000 maximum", ContextTooLong),
        (400, "the request exceeds the available context size", ContextTooLong),
        (400, "The input token count (1200000) exceeds the maximum", ContextTooLong),
        (413, "Request too large for model `m` on tokens per minute (TPM)", ContextTooLong),
        (500, "context window exceeded", ContextTooLong),
        (301, "", ModelRefused),
    ],
)
def test_refusal(status: int, text: str, expected: type[ModelError]) -> None:
    """C14 among them: status and words together decide the class, and the message names the model and the reason."""
    error = refusal("openai/m", status, text)
    assert type(error) is expected
    assert str(error).startswith("openai/m answered")
    assert text in str(error)


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({"Retry-After": "3"}, 3.0),
        ({"Retry-After": "0.5"}, 0.5),
        ({"Retry-After": "-1"}, 0.0),
        ({"Retry-After": "Mon, 02 Mar 2026 09:00:30 GMT", "Date": "Mon, 02 Mar 2026 09:00:00 GMT"}, 30.0),
        ({"Retry-After": "Mon, 02 Mar 2026 08:00:00 GMT", "Date": "Mon, 02 Mar 2026 09:00:00 GMT"}, 0.0),
        ({"Retry-After": "Mon, 02 Mar 2026 08:00:00 GMT"}, None),
        ({"Retry-After": "soon"}, None),
        ({}, None),
    ],
)
def test_retry_after(headers: dict[str, str], expected: float | None) -> None:
    """Seconds, or a date taken against the answer's own clock; anything else is as if it were not there."""
    assert retry_after(headers) == expected
    error = refusal("openai/m", 429, "slow down", headers)
    assert isinstance(error, ModelUnavailable)
    assert error.retry_after == expected


@pytest.mark.parametrize(
    ("parsed", "expected"),
    [
        ({"error": {"message": "bad", "code": "invalid"}}, "bad [invalid]"),
        ({"error": "bad"}, "bad"),
        ({"message": "bad"}, "bad"),
        ({"detail": "bad"}, "bad"),
        ([{"error": {"message": "bad"}}], "bad"),
        ("bad", "body"),
        (None, "body"),
    ],
)
def test_error_words(parsed: object, expected: str) -> None:
    """The provider's words without the JSON around them, in the shapes that providers use."""
    assert error_words("body", parsed) == expected
