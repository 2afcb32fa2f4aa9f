"""What the configuration of models may say, and which way each one goes."""

from __future__ import annotations

import asyncio
import sys
from typing import Any

import pytest
from pydantic import ValidationError

from agent.errors import ConfigError, NotFound
from agent.llm.models import ConfiguredModels
from agent.llm.settings import ModelSettings
from tests.clock import FakeClock


def models(**settings: dict[str, Any]) -> ConfiguredModels:
    validated = {name: ModelSettings.model_validate(value) for name, value in settings.items()}
    return ConfiguredModels(validated, FakeClock())


@pytest.mark.parametrize(
    ("settings", "field"),
    [
        ({"model": "openai/x", "temprature": 1}, "temprature"),
        ({"model": "gpt-4o"}, "model"),
        ({"model": "openai/x", "api_base": "api.example.com"}, "api_base"),
        ({"model": "openai/x", "transport": "carrier pigeon"}, "transport"),
        ({"model": "openai/x", "context_tokens": 0}, "context_tokens"),
        ({"model": "openai/x", "price": {"input": 1}}, "output"),
        ({"model": "openai/x", "price": {"input": -1, "output": 1}}, "input"),
    ],
)
def test_bad_settings(settings: dict[str, Any], field: str) -> None:
    """An unknown key or a value that cannot be used is refused with its name."""
    with pytest.raises(ValidationError, match=field):
        ModelSettings.model_validate(settings)


@pytest.mark.parametrize(
    ("settings", "path"),
    [
        ({"model": "openai/x", "fallback": ["nobody"]}, r"agent\.models\.m\.fallback: 'nobody'"),
        ({"model": "openai/x", "fallback": ["m"]}, r"agent\.models\.m\.fallback"),
        ({"model": "anthropic/x", "transport": "direct"}, r"agent\.models\.m\.transport: .*api_base"),
        ({"model": "scripted/nowhere.yaml"}, r"agent\.models\.m\.model: .*nowhere\.yaml"),
    ],
)
def test_what_cannot_work_is_refused_at_the_start(settings: dict[str, Any], path: str) -> None:
    """The error names the key of the configuration."""
    with pytest.raises(ConfigError, match=path):
        models(m=settings)


def test_the_key_is_not_printed() -> None:
    """A key never appears in the text of its settings."""
    assert "sk-1" not in repr(ModelSettings.model_validate({"model": "openai/x", "api_key": "sk-1"}))


def test_profile() -> None:
    """What the loop must know; an unknown name is answered with the known ones."""
    configured = models(demo={"model": "scripted/demo"}, big={"model": "openai/x", "context_tokens": 9})
    profile = configured.profile("big")
    assert (profile.model, profile.context_tokens, profile.priced) == ("openai/x", 9, False)
    with pytest.raises(NotFound, match="big, demo"):
        configured.profile("small")


async def test_warm_loads_litellm_only_when_a_model_needs_it() -> None:
    """An OpenAI-compatible configuration never pays for litellm."""
    code = """
import asyncio, sys
from agent.llm.models import ConfiguredModels
from agent.llm.settings import ModelSettings

for model in ("openai/x", "gemini/x"):
    models = ConfiguredModels({"m": ModelSettings(model=model)}, None)
    asyncio.run(models.warm())
    print("litellm" in sys.modules)
"""
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", code, stdout=asyncio.subprocess.PIPE)
    printed, _ = await process.communicate()
    assert printed.split() == [b"False", b"True"]
