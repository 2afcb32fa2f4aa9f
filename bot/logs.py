"""Structured logs on stderr."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterable
from typing import Literal

import structlog
from pydantic import BaseModel, ConfigDict
from structlog.typing import EventDict, WrappedLogger

HIDDEN = "[secret]"


class LogSettings(BaseModel):
    """`auto` is readable on a terminal and JSON elsewhere."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    format: Literal["auto", "console", "json"] = "auto"
    level: Literal["debug", "info", "warning", "error"] = "info"


class Redaction:
    """Replaces every known secret in every field, whatever put it there."""

    def __init__(self, secrets: Iterable[str]) -> None:
        self._secrets = tuple(secret for secret in secrets if secret)

    def __call__(self, logger: WrappedLogger, name: str, event: EventDict) -> EventDict:
        for key, value in event.items():
            if isinstance(value, str):
                event[key] = self.hidden(value)
        return event

    def hidden(self, text: str) -> str:
        """The text without any secret."""
        for secret in self._secrets:
            text = text.replace(secret, HIDDEN)
        return text


def start_logging(settings: LogSettings, secrets: Iterable[str]) -> None:
    """Set up the process's logs: readable or JSON lines, UTC times, tracebacks as text, no secret."""
    readable = settings.format == "console" or (settings.format == "auto" and sys.stderr.isatty())
    redaction = Redaction(secrets)
    shared: list[structlog.typing.Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.format_exc_info,
        redaction,
    ]
    renderer = structlog.dev.ConsoleRenderer() if readable else structlog.processors.JSONRenderer()
    structlog.configure(
        processors=[*shared, renderer],
        wrapper_class=structlog.make_filtering_bound_logger(settings.level),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
        cache_logger_on_first_use=True,
    )
    # Libraries log through the standard module; only what is wrong is shown, with the secrets hidden as well.
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, renderer], foreign_pre_chain=shared
        )
    )
    logging.basicConfig(level=logging.WARNING, handlers=[handler], force=True)
