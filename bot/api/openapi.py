"""The description of `/v1` after OpenAPI 3.1, made from the routes and models that answer it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from http import HTTPStatus
from typing import Any, Literal

from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from agent.ids import MAX_ID
from bot.api.route import Answer, Route
from bot.api.shapes import Parameters, Refusal

Json = dict[str, Any]
Mode = Literal["validation", "serialization"]
Refs = dict[tuple[type[BaseModel], Mode], Json]
_REF = "#/components/schemas/{model}"
_ABOUT = (
    "Ask for work, follow it, decide on what it wants to change, fetch what it made. "
    "Send an API token (`signoff people token NAME`) as `Authorization: Bearer TOKEN`."
)


def document(routes: Sequence[Route]) -> Json:
    """The whole description."""
    refs, schemas = _schemas(routes)
    paths: dict[str, Json] = {}
    for route in routes:
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route, refs)
    return {
        "openapi": "3.1.0",
        "info": {"title": "Signoff", "version": "1", "description": _ABOUT},
        "paths": paths,
        "components": {
            "schemas": schemas,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{"token": []}],
    }


def _operation(route: Route, refs: Refs) -> Json:
    refusal = {"application/json": {"schema": refs[Refusal, "serialization"]}}
    operation: Json = {
        "summary": route.summary,
        "description": _asked(route),
        "operationId": _operation_id(route),
        "parameters": [*_in_path(route), *_in("query", route.query), *_in("header", route.headers)],
        "responses": {str(status): _answer(status, kind, refs) for status, kind in route.answers.items()}
        | {str(status): {"description": HTTPStatus(status).phrase, "content": refusal} for status in route.refused()},
    }
    if route.body is not None:
        schema = refs[route.body, "validation"]
        operation["requestBody"] = {"required": True, "content": {"application/json": {"schema": schema}}}
    elif route.sent:
        operation["requestBody"] = {"required": True, "content": {kind: {"schema": _sent(kind)} for kind in route.sent}}
    return operation


def _schemas(routes: Iterable[Route]) -> tuple[Refs, Json]:
    """The references of all models, and what they refer to."""
    wanted: dict[tuple[type[BaseModel], Mode], None] = {(Refusal, "serialization"): None}
    for route in routes:
        wanted |= {(kind, "serialization"): None for kind in route.answers.values() if isinstance(kind, type)}
        if route.body is not None:
            wanted[route.body, "validation"] = None
    refs, definitions = models_json_schema(list(wanted), ref_template=_REF)
    return {key: refs[key] for key in wanted}, definitions["$defs"]


def _in_path(route: Route) -> Iterator[Json]:
    for name in route.names:
        number = {"type": "integer", "minimum": 1, "maximum": MAX_ID}
        schema = number if name.endswith("_id") else {"type": "string", "minLength": 1}
        yield {"name": name, "in": "path", "required": True, "schema": schema}


def _in(place: str, model: type[Parameters] | None) -> Iterator[Json]:
    """The fields of a model as parameters; a text cannot say null, so leaving it out does."""
    if model is None:
        return
    described = model.model_json_schema()
    for name, schema in described["properties"].items():
        given = [one for one in schema.get("anyOf", ()) if one != {"type": "null"}]
        plain = given[0] if len(given) == 1 else {key: value for key, value in schema.items() if key != "title"}
        required = name in described.get("required", ())
        yield {"name": name, "in": place, "required": required, "schema": plain}


def _answer(status: int, kind: Answer, refs: Refs) -> Json:
    described: Json = {"description": HTTPStatus(status).phrase}
    if isinstance(kind, str):
        described["content"] = {kind if kind == "text/event-stream" else "*/*": {}}
    elif kind is not None:
        described["content"] = {"application/json": {"schema": refs[kind, "serialization"]}}
    return described


def _sent(kind: str) -> Json:
    if kind == "multipart/form-data":
        file = {"type": "string", "format": "binary"}
        return {"type": "object", "properties": {"file": file}, "required": ["file"]}
    return {"type": "string", "format": "binary"}


def _asked(route: Route) -> str:
    scope = f"Needs the scope `{route.scope}`" if route.scope else "Needs no scope"
    return f"{scope}{f' and the role `{route.role}`' if route.role != 'member' else ''}."


def _operation_id(route: Route) -> str:
    words = [word for word in route.path.removeprefix("/v1/").split("/") if not word.startswith("{")]
    one = "_one" if route.path.endswith("}") else ""
    return f"{route.method.lower()}_{'_'.join(words)}{one}"
