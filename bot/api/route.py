"""One route of `/v1`: declared once, for the server and for the document that describes it."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from aiohttp import web
from pydantic import BaseModel, ValidationError

from agent.domain import Role
from agent.errors import BadInput, NotFound
from agent.ids import written_id
from agent.json_body import json_of, parsed, refusal
from bot.api.shapes import Body, Parameters, Shown
from bot.api.viewer import Scope, Viewer
from bot.services import Services

M = TypeVar("M", bound=BaseModel)
_CALLED = {"session_id": "conversation"}
"""What people call a thing, where it is not what its id says."""
_NAME = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True, kw_only=True, slots=True)
class Call:
    """A request that was let in and read. `query`, `headers` and `body` are instances of the route's models."""

    services: Services
    viewer: Viewer
    request: web.Request
    query: Any
    headers: Any
    body: Any

    def id(self, name: str) -> int:
        """A number of the path; what is none is NotFound like an unknown one."""
        return id_in_path(self.request, name)

    @property
    def workspace(self) -> str:
        """The workspace of the path."""
        return self.request.match_info["workspace"]


Run = Callable[[Call], Awaitable[Shown | web.StreamResponse]]
Answer = type[Shown] | str | None
"""JSON of a model, something of a media type, or nothing."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Route:
    """A method of a path: what it asks of the caller, what it takes, what it answers by status.

    `refusals` are statuses beside those that follow from the rest. `sent` are media types of a body that is no JSON.
    """

    method: str
    path: str
    summary: str
    run: Run
    answers: Mapping[int, Answer]
    scope: Scope | None = None
    role: Role = "member"
    query: type[Parameters] | None = None
    headers: type[Parameters] | None = None
    body: type[Body] | None = None
    sent: tuple[str, ...] = ()
    refusals: tuple[int, ...] = ()

    @property
    def names(self) -> list[str]:
        """The names in the path."""
        return _NAME.findall(self.path)

    def refused(self) -> list[int]:
        """Every status of an answer that is an error."""
        found = {401, 403, 503, *self.refusals}
        if self.names:
            found.add(404)
        if self.query or self.headers or self.body:
            found.add(422)
        if self.body or self.sent:
            found |= {400, 408, 413, 415}
        return sorted(found)

    def status_of(self, shown: Shown) -> int:
        """The status of an answer; one that is not declared is a mistake of ours."""
        return next(status for status, kind in self.answers.items() if kind is type(shown))

    async def read(self, request: web.Request) -> dict[str, Any]:
        """The query, headers and body as the route's models; BadInput names the field, HTTP 400, 408, 413 or 415."""
        return {
            "query": self.query and _parameters(self.query, _once(request)),
            "headers": self.headers and _parameters(self.headers, _known(self.headers, request)),
            "body": self.body and parsed(self.body, await json_of(request)),
        }


def id_in_path(request: web.Request, name: str) -> int:
    """A number of the path, as `task_id`; what is none is NotFound like an unknown one."""
    text = request.match_info[name]
    if (found := written_id(text)) is None:
        raise NotFound(f"There is no {_CALLED.get(name, name.removesuffix('_id'))} {text}.")
    return found


def _known(model: type[Parameters], request: web.Request) -> dict[str, str]:
    """Of the headers those that the route reads."""
    names = [field.alias or name for name, field in model.model_fields.items()]
    return {name: request.headers[name] for name in names if name in request.headers}


def _once(request: web.Request) -> dict[str, str]:
    """The query, in which every name may stand once."""
    query = dict(request.query)
    if len(query) != len(request.query):
        twice = next(name for name in query if len(request.query.getall(name)) > 1)
        raise BadInput(f"{twice}: is given more than once.", field=twice)
    return query


def _parameters(model: type[M], values: Mapping[str, str]) -> M:
    try:
        return model.model_validate(values)
    except ValidationError as error:
        raise refusal(error) from None
