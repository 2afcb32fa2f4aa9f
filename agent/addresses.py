"""Addresses as people write them in the configuration: `channel:conversation/thread`, and patterns over them."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase

from agent.domain import Address

_WRITTEN = re.compile(r"(?P<channel>[a-z][a-z0-9_-]{0,31}):(?P<conversation>[^\s/]{1,128})(?:/(?P<thread>\S{1,128}))?")


def parse(text: str) -> Address | None:
    """The address that a text is; None when it is none."""
    found = _WRITTEN.fullmatch(text)
    return Address(**found.groupdict()) if found else None


def matches(address: Address, pattern: str) -> bool:
    """Whether a shell-style pattern fits `channel:conversation`, or that with its thread."""
    conversation = f"{address.channel}:{address.conversation}"
    return fnmatchcase(conversation, pattern) or fnmatchcase(f"{conversation}/{address.thread or ''}", pattern)
