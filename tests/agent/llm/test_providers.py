"""Which way a model is reached."""

from __future__ import annotations

from typing import Any

import pytest

from agent.llm.providers import ENDPOINTS, endpoint, route
from agent.llm.settings import ModelSettings


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"model": "openai/x"}, "direct"),
        ({"model": "unknown/x", "api_base": "http://h"}, "direct"),
        ({"model": "unknown/x"}, "litellm"),
        ({"model": "anthropic/x"}, "litellm"),
        ({"model": "anthropic/x", "api_base": "http://h"}, "litellm"),
        ({"model": "anthropic/x", "api_base": "http://h", "transport": "direct"}, "direct"),
        ({"model": "openai/x", "transport": "litellm"}, "litellm"),
        ({"model": "scripted/demo"}, "scripted"),
    ],
)
def test_route(settings: dict[str, Any], expected: str) -> None:
    """Protocols of their own go through litellm, OpenAI's over our client, and `transport` has the last word."""
    assert route(ModelSettings.model_validate(settings)) == expected


def test_endpoint() -> None:
    """api_base wins over the provider's address, and a slash at its end does not double."""
    assert endpoint(ModelSettings(model="deepseek/x")) == "https://api.deepseek.com/chat/completions"
    assert endpoint(ModelSettings(model="deepseek/x", api_base="http://h/v1/")) == "http://h/v1/chat/completions"
    assert endpoint(ModelSettings(model="anthropic/x")) is None
    assert len(set(ENDPOINTS.values())) == len(ENDPOINTS)
