"""What an inbound webhook takes and what it answers: pure."""

from __future__ import annotations

import binascii
from base64 import b64decode
from collections.abc import Sequence
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from agent.domain import IncomingFile
from agent.errors import BadInput
from agent.ids import MAX_ID
from agent.ports.store import Accepted, TaskOutcome

MAX_TEXT = 4_000
MAX_KEY = 200
MAX_WAIT_SECONDS = 60


def _no_nul(text: str) -> str:
    # PostgreSQL's text type has no NUL.
    if "\0" in text:
        raise ValueError("must not contain a NUL character")
    return text


Text = Annotated[str, AfterValidator(_no_nul)]


class SentFile(BaseModel):
    """A file in a request's body."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    name: Annotated[Text, Field(min_length=1, max_length=255)]
    content_base64: str


class HookRequest(BaseModel):
    """A request's body. `follow_up_of` is the id of a task of the same hook, whose session it joins."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    text: Annotated[Text, Field(min_length=1, max_length=MAX_TEXT)]
    follow_up_of: Annotated[int, Field(ge=1, le=MAX_ID)] | None = None
    files: list[SentFile] = []


def decoded(files: Sequence[SentFile]) -> tuple[IncomingFile, ...]:
    """The files' bytes; BadInput names the one that is not Base64."""
    return tuple(_decoded(file, f"files.{index}.content_base64") for index, file in enumerate(files))


def _decoded(file: SentFile, field: str) -> IncomingFile:
    try:
        return IncomingFile(name=file.name, content=b64decode(file.content_base64, validate=True))
    except (binascii.Error, ValueError):
        raise BadInput(f"{field}: is not Base64.", field=field) from None


def wait_seconds(text: str | None) -> float:
    """How long the sender wants to wait for the outcome; BadInput unless it is a number from 0 to 60."""
    if text is None:
        return 0
    if not (text.isascii() and text.replace(".", "", 1).isdigit()) or float(text) > MAX_WAIT_SECONDS:
        raise BadInput(f"wait: write a number of seconds from 0 to {MAX_WAIT_SECONDS}.", field="wait")
    return float(text)


def accepted(task: Accepted, url: str) -> dict[str, Any]:
    """The answer to a request whose outcome is not awaited."""
    return {"task_id": task.task_id, "status": task.status, "status_url": url}


def outcome(found: TaskOutcome, artifacts_url: str) -> dict[str, Any]:
    """The state of a task as its hook may see it."""
    task = found.task
    error = {"code": task.error_code, "message": task.error_text or ""} if task.error_code else None
    return {
        "task_id": task.task_id,
        "status": task.status,
        "error": error,
        "text": task.answer or "",
        "artifacts": [
            {
                "artifact_id": artifact.artifact_id,
                "name": artifact.name,
                "media_type": artifact.media_type,
                "size_bytes": artifact.size_bytes,
                "url": f"{artifacts_url}/{artifact.artifact_id}",
            }
            for artifact in found.artifacts
        ],
        "approvals": [
            {"approval_id": approval.approval_id, "expires_at": approval.expires_at.isoformat()}
            for approval in found.approvals
        ],
        "cost_usd": None if found.cost_usd is None else float(found.cost_usd),
    }


class RateLimits:
    """One token bucket a hook, holding a minute's worth; in memory, so each process counts for itself."""

    def __init__(self) -> None:
        self._buckets: dict[str, tuple[float, float]] = {}

    def take(self, name: str, per_minute: int, now: float) -> float:
        """Take one token and return 0, or return the seconds until there is one."""
        tokens, since = self._buckets.get(name, (float(per_minute), now))
        tokens = min(float(per_minute), tokens + max(0.0, now - since) * per_minute / 60)
        if tokens < 1:
            self._buckets[name] = (tokens, now)
            return (1 - tokens) * 60 / per_minute
        self._buckets[name] = (tokens - 1, now)
        return 0.0
