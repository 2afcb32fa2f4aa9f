"""Tool calls as text: is the JSON of a call cut off, and is a whole message nothing but calls?"""

from __future__ import annotations

import json
import re
import secrets
import string
from collections.abc import Collection
from typing import Any

_STRING = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
_DECODER = json.JSONDecoder()
# Mistral takes an id only when it is exactly nine letters and digits (anomalyco/opencode issue 1680).
_ALPHABET = string.ascii_letters + string.digits
_ID_LENGTH = 9


def new_call_id() -> str:
    """An id that every provider accepts."""
    return "".join(secrets.choice(_ALPHABET) for _ in range(_ID_LENGTH))


def is_complete(text: str) -> bool:
    """Whether the text is one whole JSON value."""
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def is_unterminated(text: str) -> bool:
    """Whether JSON ends in the middle: an open string, object or list. Other mistakes are not a cut."""
    if not text.strip() or is_complete(text):
        return False
    bare = _STRING.sub("", text)
    opened = bare.count("{") + bare.count("[") - bare.count("}") - bare.count("]")
    return '"' in bare or opened > 0


def calls_in(text: str, tool_names: Collection[str]) -> list[tuple[str, str]]:
    """Name and arguments of each call, when the whole text is calls of known tools written as JSON; else none.

    Taken are objects one after the other, with or without commas, or a list of them. An example inside prose never is.
    """
    try:
        values = _values(text)
    except (ValueError, RecursionError):
        return []
    if len(values) == 1 and isinstance(values[0], list):
        values = values[0]
    calls = [_call(value, tool_names) for value in values]
    return [call for call in calls if call is not None] if all(calls) else []


def _values(text: str) -> list[Any]:
    values: list[Any] = []
    rest = text.strip()
    while rest:
        value, end = _DECODER.raw_decode(rest)
        values.append(value)
        rest = rest[end:].lstrip().removeprefix(",").lstrip()
    return values


def _call(value: Any, tool_names: Collection[str]) -> tuple[str, str] | None:
    """`parameters` is how Llama spells `arguments`."""
    if not isinstance(value, dict) or value.get("name") not in tool_names:
        return None
    if value.keys() - {"name"} not in ({"arguments"}, {"parameters"}):
        return None
    arguments = value.get("arguments", value.get("parameters"))
    if not isinstance(arguments, dict):
        return None
    return value["name"], json.dumps(arguments, ensure_ascii=False)
