"""How the Bot API says no."""

from __future__ import annotations

from typing import Any


class Refused(Exception):
    """An answer with `ok: false`; `parameters` are ResponseParameters (core.telegram.org/bots/api#making-requests)."""

    def __init__(self, status: int, description: str, **parameters: int) -> None:
        super().__init__(f"{status} {description}")
        self.status = status
        self.description = description
        self.parameters = parameters

    def body(self) -> dict[str, Any]:
        body: dict[str, Any] = {"ok": False, "error_code": self.status, "description": self.description}
        return {**body, "parameters": self.parameters} if self.parameters else body


def bad_request(what: str) -> Refused:
    """400, as most refusals are."""
    return Refused(400, f"Bad Request: {what}")


def cannot_parse(why: str) -> Refused:
    """400, because of the formats of a text."""
    return bad_request(f"can't parse entities: {why}")
