"""Checks of JSON values that say what is wrong and where, in Slack's words."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

Check = Callable[[Any, str], Iterator[str]]
"""Takes a value and its JSON pointer."""


def complaint(reason: str, pointer: str) -> str:
    return f"[ERROR] {reason} [json-pointer:{pointer}]"


def string(longest: int | None = None, *, shortest: int = 0) -> Check:
    def check(value: Any, pointer: str) -> Iterator[str]:
        if not isinstance(value, str):
            yield complaint("must be a string", pointer)
        elif len(value) < shortest:
            yield complaint(f"must be more than {shortest - 1} characters", pointer)
        elif longest is not None and len(value) > longest:
            yield complaint(f"must be less than {longest + 1} characters", pointer)

    return check


def boolean(value: Any, pointer: str) -> Iterator[str]:
    if not isinstance(value, bool):
        yield complaint("must be a boolean", pointer)


def integer(lowest: int, highest: int) -> Check:
    def check(value: Any, pointer: str) -> Iterator[str]:
        if not isinstance(value, int) or not lowest <= value <= highest:
            yield complaint(f"must be an integer from {lowest} to {highest}", pointer)

    return check


def one_of(*allowed: str) -> Check:
    def check(value: Any, pointer: str) -> Iterator[str]:
        if value not in allowed:
            yield complaint(f"must be a valid enum value: {', '.join(allowed)}", pointer)

    return check


def array(item: Check, most: int, *, least: int = 1) -> Check:
    def check(value: Any, pointer: str) -> Iterator[str]:
        if not isinstance(value, list):
            yield complaint("must be an array", pointer)
            return
        if len(value) < least:
            yield complaint(f"no less than {least} items required", pointer)
        if len(value) > most:
            yield complaint(f"no more than {most} items allowed", pointer)
        for index, entry in enumerate(value):
            yield from item(entry, f"{pointer}/{index}")

    return check


def record(required: Mapping[str, Check], optional: Mapping[str, Check] | None = None) -> Check:
    """An object of these fields and no others; `type` is looked at by whoever chose this check."""
    fields = {**required, **(optional or {})}

    def check(value: Any, pointer: str) -> Iterator[str]:
        if not isinstance(value, dict):
            yield complaint("must be an object", pointer)
            return
        for name in required.keys() - value.keys():
            yield complaint(f"missing required field: {name}", pointer)
        for name in value.keys() - fields.keys() - {"type"}:
            yield complaint(f"invalid additional property: {name}", pointer)
        for name in value.keys() & fields.keys():
            yield from fields[name](value[name], f"{pointer}/{name}")

    return check


def variant(kinds: Mapping[str, Check]) -> Check:
    """An object whose `type` chooses its check."""

    def check(value: Any, pointer: str) -> Iterator[str]:
        kind = value.get("type") if isinstance(value, dict) else None
        if isinstance(kind, str) and kind in kinds:
            yield from kinds[kind](value, pointer)
        else:
            yield complaint(f"unsupported type: {kind}", f"{pointer}/type")

    return check


def both(first: Check, second: Check) -> Check:
    def check(value: Any, pointer: str) -> Iterator[str]:
        yield from first(value, pointer)
        yield from second(value, pointer)

    return check
