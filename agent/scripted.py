"""The model that needs no key: `scripted/demo` works with the tools it is offered, `scripted/FILE.yaml` plays a script.

A script is a list of turns, or a list of scenes `{when: TEXT, turns: [...]}` of which the first is played whose `when`
occurs in the last message of the user. One turn:

    - text: I will read the file.            # what it says; optional
      calls:                                 # tools it calls; arguments as an object, or as the raw text a model sends
        - {name: read_file, arguments: {path: a.txt}}
        - {name: write_file, arguments: '{"path": "b.md", "cont'}
      finish_reason: length                  # else tool_calls or stop
      expect: three rows                     # must occur in what came since its last turn, else the model refuses
      knows: the office is in Bonn           # must occur in all it was sent, system prompt and earlier requests too
      error: unavailable                     # instead of an answer; or refused; or cut: the text breaks in the middle
                                             # once, then the whole turn comes
      delay_seconds: 0.5                     # before each piece of text
      chunks: 4                              # pieces the text comes in

Which turn is played is read from the messages (how many turns of the assistant follow the last message of the user),
not remembered, so a task that is taken up again goes on where it was.
"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from agent import demo
from agent.domain import Usage
from agent.errors import ConfigError, ModelRefused, ModelUnavailable
from agent.llm.call_text import new_call_id
from agent.ports.clock import Clock
from agent.ports.models import ChatMessage, ModelEvent, ProposedCall, Restarted, TextDelta, Turn


class ScriptedCall(BaseModel):
    """A call of a script."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    arguments: dict[str, Any] | str = Field(default_factory=dict)


class ScriptedTurn(BaseModel):
    """A turn of a script; the keys are explained at the top of the file."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    text: str = ""
    calls: tuple[ScriptedCall, ...] = ()
    finish_reason: str | None = None
    expect: str = ""
    knows: str = ""
    error: Literal["unavailable", "refused", "cut"] | None = None
    delay_seconds: float = Field(default=0, ge=0)
    chunks: int = Field(default=1, ge=1)


class Scene(BaseModel):
    """The turns for a request that contains `when`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    when: str = ""
    turns: tuple[ScriptedTurn, ...]


_Script = Annotated[tuple[Scene, ...] | tuple[ScriptedTurn, ...], Field(union_mode="left_to_right")]
_SCRIPT: TypeAdapter[tuple[Scene, ...] | tuple[ScriptedTurn, ...]] = TypeAdapter(_Script)


@dataclass(frozen=True, kw_only=True, slots=True)
class ScriptedModel:
    """A model of fixed turns; without scenes the demo model."""

    model: str
    clock: Clock
    scenes: tuple[Scene, ...] | None = None

    @classmethod
    def load(cls, model: str, clock: Clock, *, path: str) -> ScriptedModel:
        """Read the script of `scripted/FILE.yaml`; a ConfigError names `path`, the key of the configuration."""
        name = model.partition("/")[2]
        if name == "demo":
            return cls(model=model, clock=clock)
        try:
            content = yaml.safe_load(Path(name).read_text(encoding="utf-8"))
            parts = _SCRIPT.validate_python(content if content is not None else ())
        except (OSError, UnicodeDecodeError, yaml.YAMLError, ValidationError) as error:
            raise ConfigError(f"{path}: the script {name} cannot be played: {error}") from error
        scenes = [part for part in parts if isinstance(part, Scene)]
        turns = tuple(part for part in parts if isinstance(part, ScriptedTurn))
        return cls(model=model, clock=clock, scenes=tuple(scenes) or (Scene(turns=turns),))

    async def stream(
        self, messages: Sequence[ChatMessage], tools: Sequence[dict[str, Any]]
    ) -> AsyncGenerator[ModelEvent, None]:
        """Play the turn that is due."""
        turn = self._due(messages, tools)
        if turn.error in {"unavailable", "refused"}:
            await self.clock.sleep(turn.delay_seconds)
            error = ModelUnavailable if turn.error == "unavailable" else ModelRefused
            raise error(f"{self.model}: the script says {turn.error}.")
        if turn.error == "cut":
            yield TextDelta(text=turn.text[: len(turn.text) // 2 + 1])
            yield Restarted()
        for piece in _pieces(turn.text, turn.chunks):
            if turn.delay_seconds:
                await self.clock.sleep(turn.delay_seconds)
            yield TextDelta(text=piece)
        yield self._whole(turn, messages)

    def _due(self, messages: Sequence[ChatMessage], tools: Sequence[dict[str, Any]]) -> ScriptedTurn:
        start = max((i for i, message in enumerate(messages) if message["role"] == "user"), default=-1)
        request, since = text_of(messages[start]) if start >= 0 else "", messages[start + 1 :]
        if self.scenes is None:
            names = {tool["function"]["name"] for tool in tools}
            said = demo.answer(request, since, names)
            calls = tuple(ScriptedCall(name=name, arguments=arguments) for name, arguments in said.calls)
            return ScriptedTurn(text=said.text, calls=calls)
        scene = next((scene for scene in self.scenes if scene.when in request), None)
        played = [i for i, message in enumerate(since) if message["role"] == "assistant"]
        if scene is None or len(played) >= len(scene.turns):
            raise ModelRefused(f"{self.model}: the script has no turn {len(played) + 1} for this request.")
        turn = scene.turns[len(played)]
        heard = "\n".join(map(text_of, since[played[-1] + 1 :])) if played else request
        if turn.expect not in heard:
            raise ModelRefused(f"{self.model}: turn {len(played) + 1} expects {turn.expect!r} and got {heard[:300]!r}.")
        if turn.knows not in "\n".join(map(text_of, messages)):
            raise ModelRefused(f"{self.model}: turn {len(played) + 1} was not told {turn.knows!r}.")
        return turn

    def _whole(self, turn: ScriptedTurn, messages: Sequence[ChatMessage]) -> Turn:
        calls = tuple(
            ProposedCall(call_id=new_call_id(), name=call.name, arguments=_argument_text(call)) for call in turn.calls
        )
        said = len(turn.text.encode()) + sum(len(call.arguments.encode()) for call in calls)
        usage = Usage(
            model=self.model,
            input_tokens=sum(len(text_of(message).encode()) for message in messages) // 3,
            output_tokens=said // 3,
            cost_usd=Decimal(0),
        )
        reason = turn.finish_reason or ("tool_calls" if calls else "stop")
        return Turn(text=turn.text, calls=calls, finish_reason=reason, usage=usage, model=self.model)


def text_of(message: ChatMessage) -> str:
    """The text of a message, also of one that is a list of parts."""
    content = message.get("content") or ""
    if isinstance(content, str):
        return content
    return "\n".join(part.get("text", "") for part in content)


def _pieces(text: str, count: int) -> Iterator[str]:
    size = -(-len(text) // count) or 1
    return (text[start : start + size] for start in range(0, len(text), size))


def _argument_text(call: ScriptedCall) -> str:
    arguments = call.arguments
    return arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
