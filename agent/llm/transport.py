"""What a transport is: it sends one request and yields what the provider streams, in the OpenAI chat protocol."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from agent.llm.settings import ModelSettings
from agent.ports.models import ChatMessage

Chunk = dict[str, Any]
"""One chunk of a streamed completion, as parsed JSON."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Request:
    """One completion to ask for."""

    settings: ModelSettings
    messages: Sequence[ChatMessage]
    tools: Sequence[dict[str, Any]]


class Transport(Protocol):
    """A way to a provider."""

    def stream(self, request: Request) -> AsyncGenerator[list[Chunk], None]:
        """Yield the chunks as they arrive, those of one network read together; a ModelError when it breaks.

        It tries once: retries have one owner, agent/llm/retry.py.
        """
        ...

    async def close(self) -> None:
        """Close the connections."""
        ...
