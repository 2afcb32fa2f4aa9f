"""The configured models: which transport, retries, fallbacks, usage and cost."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import Any

import orjson
import structlog

from agent.domain import Usage
from agent.errors import ConfigError, ModelRefused, ModelUnavailable, NotFound
from agent.llm.assemble import Assembly
from agent.llm.dialects import without_reasoning
from agent.llm.direct import DirectTransport
from agent.llm.prices import cost_usd, price_of
from agent.llm.providers import endpoint, route
from agent.llm.retry import TRIES, with_retries
from agent.llm.settings import ModelSettings
from agent.llm.transport import Request, Transport
from agent.llm.via_litellm import LitellmTransport
from agent.pictures import TOKENS as PICTURE_TOKENS
from agent.pictures import without_pictures
from agent.ports.clock import Clock
from agent.ports.models import ChatMessage, ModelEvent, ModelProfile, Restarted, TextDelta, Turn
from agent.scripted import ScriptedModel

_PROBE: list[ChatMessage] = [{"role": "user", "content": "Answer with the one word: ready"}]
_log = structlog.get_logger(__name__)


class ConfiguredModels:
    """The models of `agent.models`; implements the port Models."""

    def __init__(self, settings: Mapping[str, ModelSettings], clock: Clock) -> None:
        self._settings = dict(settings)
        self._clock = clock
        self._direct = DirectTransport()
        self._litellm = LitellmTransport()
        self._scripted: dict[str, ScriptedModel] = {}
        for name, model in self._settings.items():
            self._check(name, model)

    def profile(self, name: str) -> ModelProfile:
        """The profile of a configured model; NotFound names the known ones."""
        settings = self._named(name)
        return ModelProfile(
            name=name,
            model=settings.model,
            context_tokens=settings.context_tokens,
            priced=name not in self._scripted and price_of(settings) is not None,
            vision=settings.vision,
        )

    async def stream(
        self, name: str, messages: Sequence[ChatMessage], tools: Sequence[dict[str, Any]]
    ) -> AsyncGenerator[ModelEvent, None]:
        """Stream one completion, of a fallback when the model itself cannot; the last event is a Turn."""
        names = [name, *self._named(name).fallback]
        for position, candidate in enumerate(names, start=1):
            sent = messages if candidate == name else self._for_another(candidate, messages)
            try:
                async with aclosing(self._stream_one(candidate, sent, tools)) as events:
                    async for event in events:
                        yield event
                return
            except (ModelUnavailable, ModelRefused) as error:
                if position == len(names):
                    raise
                _log.warning("model_fell_back", model=candidate, to=names[position], error=str(error))
            yield Restarted()

    async def probe(self, name: str) -> str:
        """Ask a model for one word, once, without fallback; its answer, or a ModelError."""
        async with aclosing(self._stream_one(name, _PROBE, (), tries=1)) as events:
            async for event in events:
                if isinstance(event, Turn):
                    return event.text
        raise ModelUnavailable(f"{name} gave no answer.")

    async def warm(self) -> None:
        """Import litellm in a thread when a configured model needs it; for after the start."""
        if any(route(settings) == "litellm" for settings in self._settings.values()):
            await self._litellm.warm()

    async def close(self) -> None:
        """Close the connections."""
        await self._direct.close()
        await self._litellm.close()

    def _check(self, name: str, settings: ModelSettings) -> None:
        path = f"agent.models.{name}"
        for fallback in settings.fallback:
            if fallback not in self._settings or fallback == name:
                raise ConfigError(f"{path}.fallback: {fallback!r} is not another model of agent.models.")
        if route(settings) == "scripted":
            self._scripted[name] = ScriptedModel.load(settings.model, self._clock, path=f"{path}.model")
        elif route(settings) == "direct" and endpoint(settings) is None:
            raise ConfigError(f"{path}.transport: direct needs api_base, because {settings.provider} is not known.")

    def _named(self, name: str) -> ModelSettings:
        try:
            return self._settings[name]
        except KeyError:
            known = ", ".join(sorted(self._settings))
            raise NotFound(f"There is no model {name!r}; agent.models has: {known}.") from None

    def _for_another(self, name: str, messages: Sequence[ChatMessage]) -> Sequence[ChatMessage]:
        """What was made for a model, for one of its fallbacks."""
        sent = without_reasoning(messages)
        return sent if self._named(name).vision else without_pictures(sent)[0]

    def _stream_one(
        self, name: str, messages: Sequence[ChatMessage], tools: Sequence[dict[str, Any]], *, tries: int = TRIES
    ) -> AsyncGenerator[ModelEvent, None]:
        settings = self._named(name)
        if (scripted := self._scripted.get(name)) is not None:
            return scripted.stream(messages, tools)
        transport: Transport = self._direct if route(settings) == "direct" else self._litellm
        request = Request(settings=settings, messages=messages, tools=tools)
        return with_retries(lambda: _attempt(transport, request), self._clock, tries=tries)


async def _attempt(transport: Transport, request: Request) -> AsyncGenerator[ModelEvent, None]:
    settings = request.settings
    assembly = Assembly(
        settings.model,
        tool_names=[tool["function"]["name"] for tool in request.tools],
        taken_ids={call["id"] for message in request.messages for call in message.get("tool_calls") or ()},
        text_tool_calls=settings.text_tool_calls,
    )
    try:
        async with aclosing(transport.stream(request)) as batches:
            async for chunks in batches:
                if text := assembly.feed(chunks):
                    yield TextDelta(text=text)
    except ModelUnavailable:
        if not assembly.finish_reason:  # else the answer is whole, only its end is missing
            raise
    if assembly.empty:
        raise ModelUnavailable(f"{settings.model} ended the stream without an answer.")
    if text := assembly.rest():
        yield TextDelta(text=text)
    turn = assembly.turn(Usage(model=settings.model, input_tokens=0, output_tokens=0))
    yield replace(turn, usage=_usage(request, assembly, turn))


def _usage(request: Request, assembly: Assembly, turn: Turn) -> Usage:
    """What the provider counted; else an estimate of bytes / 3, whose cost stays unknown."""
    model = request.settings.model
    if (counts := assembly.counts) is None:
        messages, pictures = without_pictures(request.messages)
        sent = len(orjson.dumps([messages, request.tools]))
        got = len((turn.text + (turn.reasoning or "") + "".join(call.arguments for call in turn.calls)).encode())
        return Usage(model=model, input_tokens=sent // 3 + pictures * PICTURE_TOKENS, output_tokens=got // 3)
    return Usage(
        model=model,
        input_tokens=counts.input_tokens,
        output_tokens=counts.output_tokens,
        cached_tokens=counts.cached_tokens,
        cost_usd=cost_usd(price_of(request.settings), counts),
    )
