"""Structured logs on stderr."""

from __future__ import annotations

import json
import logging
import re
import sys
from collections.abc import Iterable
from typing import Literal

import structlog
from pydantic import BaseModel, ConfigDict
from structlog.typing import EventDict, Processor, WrappedLogger

HIDDEN = "[secret]"


class LogSettings(BaseModel):
    """`auto` is readable on a terminal and JSON elsewhere."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    format: Literal["auto", "console", "json"] = "auto"
    level: Literal["debug", "info", "warning", "error"] = "info"


class HidingRenderer:
    """Makes the line and hides every known secret in it, whatever put it there."""

    def __init__(self, renderer: Processor, secrets: Iterable[str]) -> None:
        self._renderer = renderer
        self._hidden = _pattern(secrets)

    def __call__(self, logger: WrappedLogger, name: str, event: EventDict) -> str:
        return self._hidden.sub(HIDDEN, str(self._renderer(logger, name, event)))


def start_logging(settings: LogSettings, secrets: Iterable[str]) -> None:
    """Set up the process's logs: readable or JSON lines, UTC times, tracebacks as text, no secret."""
    readable = settings.format == "console" or (settings.format == "auto" and sys.stderr.isatty())
    renderer = HidingRenderer(_readable() if readable else structlog.processors.JSONRenderer(), secrets)
    shared: list[Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.format_exc_info,
    ]
    structlog.configure(
        processors=[*shared, renderer],
        wrapper_class=structlog.make_filtering_bound_logger(settings.level),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
    )
    # Libraries log through the standard module; what they find worth a warning is shown in the same form.
    handler = logging.StreamHandler(sys.stderr)
    own: list[Processor] = [structlog.stdlib.ProcessorFormatter.remove_processors_meta, renderer]
    handler.setFormatter(structlog.stdlib.ProcessorFormatter(processors=own, foreign_pre_chain=shared))
    level = max(logging.WARNING, logging.getLevelNamesMapping()[settings.level.upper()])
    logging.basicConfig(level=level, handlers=[handler], force=True)


def _readable() -> Processor:
    return structlog.dev.ConsoleRenderer(exception_formatter=structlog.dev.plain_traceback)


def _pattern(secrets: Iterable[str]) -> re.Pattern[str]:
    """Matches each secret as it is and as JSON writes it; the longest first, for one may begin like another."""
    forms = {form for secret in secrets if secret for form in (secret, json.dumps(secret)[1:-1])}
    return re.compile("|".join(map(re.escape, sorted(forms, key=len, reverse=True))) or r"(?!)")
