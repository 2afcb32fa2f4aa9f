"""What a tool is, and how the arguments a model wrote become the exact text that may run."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from agent.domain import Target
from agent.errors import BadArguments
from agent.ports.clock import Clock
from agent.ports.files import WorkspaceFiles

T = TypeVar("T")


class Arguments(BaseModel):
    """The base of every tool's parameters: unknown names are refused, values are not coerced into other types."""

    model_config = ConfigDict(extra="forbid", strict=True)


@dataclass(frozen=True, kw_only=True, slots=True)
class Preview:
    """What a person reads before deciding: a line, the full text (diff, head, cells), and the files it changes.

    An empty `targets` means the effect cannot be read back from files, so it is never repeated by itself.
    """

    title: str
    text: str
    targets: tuple[Target, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class ToolContext:
    """Everything one call may touch; made anew for each call.

    `base` maps a path to the SHA-256 it must still have when it is written (None: it must not exist); a write that
    finds anything else raises TargetChanged. `publish(path)` makes the file an artifact of the task.
    """

    task_id: int
    workspace: WorkspaceFiles
    publish: Callable[[str], Awaitable[None]]
    clock: Clock
    base: Mapping[str, str | None] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True, slots=True)
class Tool:
    """An ability with a declared power. `preview` is None only for `:read` tools; `run` returns what the model reads.

    `run` and `preview` receive the validated `parameters` instance and raise ToolError for anything the model should
    hear about. `idempotent`: running it again with the same arguments changes nothing more.
    """

    name: str
    description: str
    parameters: type[Arguments]
    capability: str
    run: Callable[[ToolContext, Any], Coroutine[Any, Any, str]]
    preview: Callable[[ToolContext, Any], Coroutine[Any, Any, Preview]] | None = None
    idempotent: bool = False


ToolRegistry = Mapping[str, Tool]


def schema(tool: Tool) -> dict[str, Any]:
    """The tool as a function of the OpenAI chat protocol, without the titles that only cost tokens."""
    parameters = _without_titles(tool.parameters.model_json_schema())
    parameters.pop("description", None)
    function = {"name": tool.name, "description": tool.description, "parameters": parameters}
    return {"type": "function", "function": function}


def parse(tool: Tool, text: str) -> Arguments:
    """Validate the argument text a model wrote; BadArguments says what is wrong and with which field."""
    value = _object(tool.name, text)
    try:
        return tool.parameters.model_validate_json(json.dumps(value))
    except ValidationError as error:
        problems = "; ".join(
            f"{_path(item['loc'])}: {item['msg'].removeprefix('Value error, ').rstrip('.')}"
            for item in error.errors(include_url=False)
        )
        raise BadArguments(f"{tool.name}: {problems}.") from None


def normalised(arguments: Arguments) -> str:
    """The one text of the arguments that is shown, hashed, stored and run."""
    return json.dumps(arguments.model_dump(mode="json", exclude_unset=True), ensure_ascii=False)


def digest(tool_name: str, arguments: str) -> str:
    """SHA-256 over the tool's name and its normalised arguments: what a person's approval is bound to."""
    return hashlib.sha256(f"{tool_name}\n{arguments}".encode()).hexdigest()


def clean(text: str) -> str:
    """Replace lone surrogates, which no database and no provider takes, by U+FFFD."""
    if text.isascii():
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


async def in_thread(function: Callable[..., T], *args: Any, **kwargs: Any) -> T:
    """Run blocking code in a thread. A cancelled caller waits for the thread to end before it goes.

    Otherwise a task could be shown as cancelled while its thread goes on changing files.
    """
    work = asyncio.ensure_future(asyncio.to_thread(function, *args, **kwargs))
    try:
        return await asyncio.shield(work)
    except asyncio.CancelledError:
        await asyncio.wait([work])
        raise


def _object(name: str, text: str) -> dict[str, Any]:
    """Arguments must be one JSON object without repeated keys; an object written as a JSON string is unwrapped once."""
    try:
        value = json.loads(clean(text) or "{}", object_pairs_hook=_unique, parse_constant=_refuse_constant)
        if isinstance(value, str):
            value = json.loads(value, object_pairs_hook=_unique, parse_constant=_refuse_constant)
    except json.JSONDecodeError as error:
        raise BadArguments(f"{name}: the arguments are not complete JSON ({error.msg} at {error.pos}).") from None
    except RecursionError:
        raise BadArguments(f"{name}: the arguments are nested too deeply.") from None
    if not isinstance(value, dict):
        raise BadArguments(f"{name}: the arguments must be a JSON object.")
    return value


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = {clean(key): clean(value) if isinstance(value, str) else value for key, value in pairs}
    if len(result) != len(pairs):
        raise BadArguments(
            "The arguments name the same key twice, so it is unclear which value is meant. Send it once."
        )
    return result


def _refuse_constant(constant: str) -> Any:
    raise BadArguments(f"{constant} is not a JSON value. Send a number or leave it out.")


def _path(loc: tuple[int | str, ...]) -> str:
    return ".".join(str(part) for part in loc) or "arguments"


def _without_titles(value: Any) -> Any:
    if isinstance(value, dict):
        return {
            key: _without_titles(item) for key, item in value.items() if not (key == "title" and isinstance(item, str))
        }
    if isinstance(value, list):
        return [_without_titles(item) for item in value]
    return value
