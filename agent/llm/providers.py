"""Which way a provider is reached: by the prefix of the model's name, then by what the configuration says."""

from __future__ import annotations

from typing import Literal

from agent.llm.settings import ModelSettings

Route = Literal["scripted", "direct", "litellm"]

ENDPOINTS = {
    "cerebras": "https://api.cerebras.ai/v1",
    "deepseek": "https://api.deepseek.com",
    "fireworks_ai": "https://api.fireworks.ai/inference/v1",
    "groq": "https://api.groq.com/openai/v1",
    "lm_studio": "http://127.0.0.1:1234/v1",
    "mistral": "https://api.mistral.ai/v1",
    "moonshot": "https://api.moonshot.ai/v1",
    "ollama": "http://127.0.0.1:11434/v1",
    "openai": "https://api.openai.com/v1",
    "openrouter": "https://openrouter.ai/api/v1",
    "together_ai": "https://api.together.ai/v1",
    "vllm": "http://127.0.0.1:8000/v1",
    "xai": "https://api.x.ai/v1",
}
"""Where a provider answers in the OpenAI protocol when `api_base` is not set; from the providers' own pages in 2026."""

# Protocols of their own, also when they are reached through an api_base.
_NATIVE = frozenset(
    {
        "anthropic",
        "azure",
        "azure_ai",
        "bedrock",
        "cohere",
        "cohere_chat",
        "gemini",
        "sagemaker",
        "vertex_ai",
        "watsonx",
    }
)


def route(settings: ModelSettings) -> Route:
    """The way to a model."""
    if settings.provider == "scripted":
        return "scripted"
    if settings.transport != "auto":
        return settings.transport
    speaks_openai = settings.provider in ENDPOINTS or settings.api_base is not None
    return "direct" if speaks_openai and settings.provider not in _NATIVE else "litellm"


def endpoint(settings: ModelSettings) -> str | None:
    """The URL of the completions; None when neither `api_base` nor the provider says where."""
    root = settings.api_base or ENDPOINTS.get(settings.provider)
    return root and f"{root.rstrip('/')}/chat/completions"
