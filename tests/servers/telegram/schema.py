"""Calls and updates held against a machine-readable copy of the Bot API's reference, when it is there."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import Any, cast

from tests import reference
from tests.servers.telegram.refusal import bad_request

Fields = dict[str, dict[str, Any]]

# What is newer than that copy: method or type, its fields, and whether each has to be there.
LATER: dict[str, dict[str, tuple[str, bool]]] = {
    # Bot API 10.3 (24 August 2026): core.telegram.org/bots/api#sendmessagedraft
    "sendMessageDraft": {"can_stop": ("Boolean", False), "keep_on_stop": ("Boolean", False)},
    "sendRichMessageDraft": {"can_stop": ("Boolean", False), "keep_on_stop": ("Boolean", False)},
    # core.telegram.org/bots/api#messagegenerationstopped
    "Update": {"stopped_message_generation": ("MessageGenerationStopped", False)},
    "MessageGenerationStopped": {
        "chat": ("Chat", True),
        "message_thread_id": ("Integer", False),
        "draft_id": ("Integer", True),
    },
    # Bot API 10.2 (14 July 2026): core.telegram.org/bots/api#inputrichmessage
    "InputRichMessage": {"blocks": ("Array of RichBlock", False)},
}


class Schema:
    """The fields of methods and types."""

    def __init__(self, copy: Mapping[str, Any]) -> None:
        self.methods: dict[str, Fields] = {name: _fields(method) for name, method in copy["methods"].items()}
        self.types: dict[str, Fields] = {name: _fields(kind) for name, kind in copy["types"].items()}
        self.unions = {name: kind["subtypes"] for name, kind in copy["types"].items() if kind.get("subtypes")}
        for name, fields in LATER.items():
            known = self.methods if name in self.methods else self.types
            known.setdefault(name, {}).update(
                {field: {"types": [kind], "required": required} for field, (kind, required) in fields.items()}
            )

    def check_call(self, method: str, values: Mapping[str, Any], files: Iterable[str]) -> None:
        """Refused when the reference knows no such method or parameter, or not of that type."""
        if method not in self.methods:
            raise bad_request(f"the reference has no method {method}")
        attached = {name for name in files if name not in self.methods[method]}
        given = {name: value for name, value in values.items() if name not in attached}
        given |= {name: "attach://" for name in files if name not in attached}
        if wrong := list(self._object(self.methods[method], given, method, of_form=True)):
            raise bad_request(f"against the reference: {'; '.join(wrong)}")

    def check(self, kind: str, value: Any) -> list[str]:
        """What is wrong with an object of a type."""
        return list(self._value([kind], value, kind))

    def _object(self, fields: Fields, value: Any, path: str, *, of_form: bool = False) -> Iterator[str]:
        if not isinstance(value, dict):
            yield f"{path} is no object"
            return
        for name, field in fields.items():
            if field["required"] and name not in value:
                yield f"{path}.{name} is missing"
        for name, inner in value.items():
            if name not in fields:
                yield f"{path}.{name} is unknown"
            else:
                kinds = fields[name]["types"]
                yield from self._value(kinds, _from_form(kinds, inner) if of_form else inner, f"{path}.{name}")

    def _value(self, kinds: list[str], value: Any, path: str) -> Iterator[str]:
        complaints = [list(self._one(kind, value, path)) for kind in kinds]
        if all(complaints):
            yield min(complaints, key=len)[0]

    def _one(self, kind: str, value: Any, path: str) -> Iterator[str]:
        if kind.startswith("Array of "):
            if not isinstance(value, list):
                yield f"{path} is no array"
                return
            for number, item in enumerate(value):
                yield from self._one(kind.removeprefix("Array of "), item, f"{path}[{number}]")
        elif kind in _PLAIN:
            if not isinstance(value, _PLAIN[kind]) or (kind == "Integer" and isinstance(value, bool)):
                yield f"{path} is no {kind}: {value!r:.40}"
        elif kind in self.unions:
            yield from self._value(self.unions[kind], value, path)
        else:
            yield from self._object(self.types[kind], value, path)


_PLAIN: dict[str, type | tuple[type, ...]] = {
    "Integer": int,
    "String": str,
    "Boolean": bool,
    "True": bool,
    "Float": (int, float),
    "InputFile": str,
}


def _fields(described: Mapping[str, Any]) -> Fields:
    return {field["name"]: field for field in described.get("fields", ())}


def _from_form(kinds: list[str], value: Any) -> Any:
    """A form has strings only; everything that is none is written as JSON."""
    if not isinstance(value, str) or "String" in kinds or "InputFile" in kinds:
        return value
    try:
        return json.loads(value)
    except ValueError:
        return value


@cache
def schema() -> Schema | None:
    """The reference; None where it is not."""
    if not reference.TELEGRAM.exists():
        return None
    return Schema(cast("Mapping[str, Any]", json.loads(reference.TELEGRAM.read_bytes())))
