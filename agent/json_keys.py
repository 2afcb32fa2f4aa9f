"""JSON in which a key stands twice: parsers silently take one of the values, and not all the same one."""

from __future__ import annotations

import json
from typing import Any

from agent.errors import BadInput

SHOWN = 80
"""Characters of a key that a message quotes."""


class RepeatedKey(BadInput):
    """An object names the same key twice; the message says which."""


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
