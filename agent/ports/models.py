"""What the loop asks of a model: one streamed completion."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from agent.domain import Usage

ChatMessage = dict[str, Any]
"""A message in the OpenAI chat format, the one both transports speak."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ModelProfile:
    """What the loop must know of a configured model; `model` is PROVIDER/MODEL."""

    name: str
    model: str
    context_tokens: int = 128_000
    priced: bool = False
    vision: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class ProposedCall:
    """A tool call as the model wrote it: `arguments` is unchecked text, `call_id` is unique in its turn."""

    call_id: str
    name: str
    arguments: str


@dataclass(frozen=True, kw_only=True, slots=True)
class TextDelta:
    """A piece of the answer."""

    text: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Restarted:
    """The stream broke and is tried again: what was streamed so far does not count."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Turn:
    """The model's whole turn, the last event of a stream.

    `finish_reason` is `length` when the turn was cut, also when only the unterminated JSON of a call shows it, and
    `tool_calls` when there are calls; else the provider's word.

    `model` is the PROVIDER/MODEL that really answered (a fallback names itself here). `reasoning` is what a provider
    wants back with the tool turns of the same model.
    """

    text: str
    calls: tuple[ProposedCall, ...]
    finish_reason: str
    usage: Usage
    model: str
    reasoning: str | None = None


ModelEvent = TextDelta | Restarted | Turn


class Models(Protocol):
    """The configured models."""

    def profile(self, name: str) -> ModelProfile:
        """The profile of a configured model; NotFound names the known ones."""
        ...

    def stream(
        self, name: str, messages: Sequence[ChatMessage], tools: Sequence[dict[str, Any]]
    ) -> AsyncGenerator[ModelEvent, None]:
        """Stream one completion; the last event is a Turn. Raises a ModelError after its own retries."""
        ...
