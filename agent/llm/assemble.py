"""Folds the chunks of one streamed completion into text, calls, reasoning and usage; pure, made anew per attempt.

Providers bend the protocol in many ways. What is known of it stands beside the line that copes with it.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from agent.domain import Usage
from agent.errors import ModelRefused, ModelUnavailable
from agent.llm.call_text import calls_in, is_complete, is_unterminated, new_call_id
from agent.llm.refusals import BROKEN_OFF, stream_error
from agent.llm.transport import Chunk
from agent.ports.models import ProposedCall, Turn
from agent.tool import clean

_SYNONYMS = {
    "MAX_TOKENS": "length",
    "end_turn": "stop",
    "eos": "stop",
    "max_output_tokens": "length",
    "max_tokens": "length",
    "model_length": "length",
}
ANSWER_CHARACTERS = 40_000_000
"""Of one answer, its calls and its reasoning; the largest file that may be written has 5 MiB, each byte at most six
characters of JSON. More comes from a model that does not stop."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Counts:
    """The tokens a provider reported; cached input is part of the input."""

    input_tokens: int
    output_tokens: int
    cached_tokens: int = 0


@dataclass(kw_only=True, slots=True)
class _Call:
    """A call in the making."""

    index: int | None
    call_id: str = ""
    name: str = ""
    pieces: list[str] = field(default_factory=list)

    @property
    def arguments(self) -> str:
        return "".join(self.pieces)


class Assembly:
    """One attempt at a completion of `model` (PROVIDER/MODEL).

    `tool_names` are the tools offered, `taken_ids` the call ids that the conversation already uses. With
    `text_tool_calls` a text that is nothing but calls becomes calls.
    """

    def __init__(
        self,
        model: str,
        *,
        tool_names: Collection[str] = (),
        taken_ids: Collection[str] = (),
        text_tool_calls: bool = False,
    ) -> None:
        self.counts: Counts | None = None
        self.finish_reason = ""
        self._model = model
        self._tool_names = frozenset(tool_names)
        self._taken_ids = set(taken_ids)
        self._text_tool_calls = text_tool_calls
        self._text: list[str] = []
        self._held: list[str] = []
        self._reasoning: list[str] = []
        self._calls: list[_Call] = []
        self._size = 0

    @property
    def empty(self) -> bool:
        """Whether nothing came that could be an answer, nor a word that the answer is over."""
        return not (self.finish_reason or self._text or self._calls)

    def feed(self, chunks: Iterable[Chunk]) -> str:
        """Take in chunks; the new text to show. A ModelError when a chunk says that the stream broke."""
        before = len(self._text)
        for chunk in chunks:
            if self._size > ANSWER_CHARACTERS:
                raise ModelRefused(
                    f"{self._model} does not stop: its answer has over {ANSWER_CHARACTERS:,} characters."
                )
            # Usage comes in a chunk without choices, first, last, or in every one; control chunks have none either.
            choices = chunk.get("choices")
            if "error" in chunk or not choices:
                self._raise_error(chunk)
            if choices:
                self._take(choices[0])
            if usage := chunk.get("usage"):
                self.counts = _counts(usage)
        return self._show(self._text[before:])

    def rest(self) -> str:
        """Text that was held back as a possible call and turned out to be none."""
        return "" if self._written() else clean("".join(self._held))

    def turn(self, usage: Usage) -> Turn:
        """The whole turn, once the stream has ended."""
        written = self._written()
        if written:
            calls = [self._proposed("", name, arguments) for name, arguments in written]
        else:  # a translated Anthropic stream leaves an empty slot, which is no call
            calls = [self._proposed(call.call_id, call.name, call.arguments) for call in self._calls if call.name]
        return Turn(
            text="" if written else clean("".join(self._text)),
            calls=tuple(calls),
            finish_reason=self._reason(calls),
            usage=usage,
            model=self._model,
            reasoning=clean("".join(self._reasoning)) or None,
        )

    def _raise_error(self, chunk: Chunk) -> None:
        if error := stream_error(self._model, chunk):
            raise error

    def _take(self, choice: Mapping[str, Any]) -> None:
        delta = choice.get("delta") or choice.get("message")  # a server that does not stream sends the whole message
        if delta:
            if content := delta.get("content"):
                self._keep(self._text, _plain(content))
            if reasoning := delta.get("reasoning_content") or delta.get("reasoning"):
                self._keep(self._reasoning, _plain(reasoning))
            for piece in delta.get("tool_calls") or ():
                self._take_piece(piece)
        if reason := choice.get("finish_reason"):
            if reason in BROKEN_OFF:
                raise ModelUnavailable(f"{self._model} broke off in the middle of its answer.")
            self.finish_reason = _SYNONYMS.get(reason, reason)

    def _take_piece(self, piece: Mapping[str, Any]) -> None:
        function = piece.get("function") or {}  # null while a provider has only the id
        name, arguments, call_id = function.get("name") or "", function.get("arguments") or "", piece.get("id") or ""
        if not (name or arguments or call_id):
            return
        call = self._continued(piece.get("index"), call_id, name)
        if call is None:
            call = _Call(index=piece.get("index"))
            self._calls.append(call)
        call.call_id = call.call_id or call_id
        if name != call.name:  # some send the name with every piece
            call.name += name
        self._keep(call.pieces, arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False))

    def _keep(self, pieces: list[str], piece: str) -> None:
        pieces.append(piece)
        self._size += len(piece)

    def _continued(self, index: int | None, call_id: str, name: str) -> _Call | None:
        """The call that a piece goes on with: by index, else by id, else the last; None when it begins a new one."""
        if index is None and call_id:
            known = next((call for call in self._calls if call.call_id == call_id), None)
            if known or name:  # whole calls in chunks of their own; the place in a chunk is not the index
                return known
        same = [call for call in self._calls if index is None or call.index == index]
        call = same[-1] if same else None
        if call is None or not (name and call.name) or (call_id and call_id == call.call_id):
            return call
        # A second call under the same index: it brings a name, and the first is complete, or empty under another id.
        ended = is_complete(call.arguments) or (bool(call_id and call.call_id) and not call.arguments)
        return None if ended else call

    def _show(self, fresh: list[str]) -> str:
        if not fresh:
            return ""
        if self._text_tool_calls:
            self._held += fresh
            if "".join(self._held).lstrip()[:1] in {"", "{", "["} and len(self._held) == len(self._text):
                return ""
            fresh, self._held = self._held, []
        text = "".join(fresh)
        return text if text.isascii() else clean(text)

    def _written(self) -> list[tuple[str, str]]:
        if self._calls or not self._text_tool_calls:
            return []
        return calls_in("".join(self._text), self._tool_names)

    def _proposed(self, call_id: str, name: str, arguments: str) -> ProposedCall:
        # Two calls of one tool collide when a server uses the tool's name as the id, or counts from 0 in every turn.
        if not call_id or call_id == name or call_id in self._taken_ids:
            call_id = new_call_id()
        self._taken_ids.add(call_id)
        return ProposedCall(call_id=clean(call_id), name=clean(name), arguments=clean(arguments))

    def _reason(self, calls: list[ProposedCall]) -> str:
        if any(is_unterminated(call.arguments) for call in calls):
            return "length"
        if calls and self.finish_reason != "length":
            return "tool_calls"
        return self.finish_reason or "stop"


def _plain(content: Any) -> str:
    """Text, or the text parts of a list of parts (Mistral's reasoning models)."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    return "".join(part["text"] for part in parts if isinstance(part, Mapping) and isinstance(part.get("text"), str))


def _counts(usage: Mapping[str, Any]) -> Counts:
    """OpenAI's form; DeepSeek names its cache hits otherwise."""
    details = usage.get("prompt_tokens_details") or {}
    return Counts(
        input_tokens=usage.get("prompt_tokens") or 0,
        output_tokens=usage.get("completion_tokens") or 0,
        cached_tokens=details.get("cached_tokens") or usage.get("prompt_cache_hit_tokens") or 0,
    )
