"""The files that a call changes, as previews name them and as a write finds them."""

from __future__ import annotations

import hashlib

from agent.domain import Target


def target(path: str, before: bytes | None, after: bytes) -> Target:
    """A file as it is (None: there is none) and as the call will leave it."""
    return Target(path=path, base_sha256=sha256(before), intended_sha256=sha256(after))


def sha256(content: bytes | None) -> str | None:
    """The digest that a Target holds."""
    return None if content is None else hashlib.sha256(content).hexdigest()
