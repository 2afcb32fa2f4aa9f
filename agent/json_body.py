"""Bodies of requests that are JSON: read strictly, and the same for every way in over HTTP."""

from __future__ import annotations

import json
import re
from typing import Any, TypeVar

import orjson
from aiohttp import web
from pydantic import BaseModel, ValidationError

from agent.errors import BadInput

M = TypeVar("M", bound=BaseModel)

SHOWN = 80
"""Characters of a key that a message quotes."""
CHARSETS = frozenset({"utf-8", "utf8", "us-ascii", "ascii"})
"""RFC 8259 knows only UTF-8; ASCII is a part of it."""
# What pydantic calls the length of a text behind a validator.
_ITEMS = re.compile(r"^Value should have (at (?:most|least) \d+) items? after validation")


class RepeatedKey(BadInput):
    """An object names the same key twice; the message says which."""


async def json_of(request: web.Request) -> bytes:
    """The body of a request that says it is JSON in UTF-8; HTTP 408, 413 or 415."""
    if request.content_type != "application/json":
        raise web.HTTPUnsupportedMediaType(text="Send the body as application/json.")
    if (request.charset or "utf-8").lower() not in CHARSETS:
        raise web.HTTPUnsupportedMediaType(text=f"JSON is UTF-8, not {request.charset}.")
    if (request.content_length or 0) > request.client_max_size:
        raise web.HTTPRequestEntityTooLarge(request.client_max_size, request.content_length or 0)
    return await request.read()


def parsed(model: type[M], body: bytes) -> M:
    """A body as what it has to be; BadInput names the field that does not fit.

    HTTP 400 when it is not JSON in UTF-8, or when a key stands twice in one object: parsers silently take one of the
    values, and not all the same one.
    """
    try:
        orjson.loads(body)  # the strictest: pydantic would take NaN
        refuse_repeated(body)
        return model.model_validate_json(body)
    except orjson.JSONDecodeError as error:
        raise web.HTTPBadRequest(text=f"The body is not JSON in UTF-8: {error}.") from None
    except RepeatedKey as error:
        raise web.HTTPBadRequest(text=str(error)) from None
    except ValidationError as error:
        raise refusal(error) from None


def refusal(error: ValidationError) -> BadInput:
    """What is wrong first, and with which field."""
    problem = error.errors(include_url=False, include_input=False, include_context=False)[0]
    field = ".".join(map(str, problem["loc"])) or "body"
    message = _ITEMS.sub(r"write \1 characters", problem["msg"].removeprefix("Value error, "))
    return BadInput(f"{field}: {message}.", field=field)


def refuse_repeated(body: bytes) -> None:
    """RepeatedKey for JSON in which an object has a key twice; what is no JSON at all is not judged here."""
    try:
        json.loads(body.decode(), object_pairs_hook=_once)
    except (ValueError, RecursionError):
        return


def _once(pairs: list[tuple[str, Any]]) -> None:
    seen: set[str] = set()
    for key, _ in pairs:
        if key in seen:
            raise RepeatedKey(f"The key {json.dumps(key[:SHOWN])} stands there twice; send it once.")
        seen.add(key)
