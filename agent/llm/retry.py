"""The one owner of retries: how often, and how long to wait in between."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from random import SystemRandom

import structlog

from agent.errors import ModelUnavailable
from agent.ports.clock import Clock
from agent.ports.models import ModelEvent, Restarted, TextDelta

TRIES = 4
FIRST_PAUSE_SECONDS = 1.0
LONGEST_WAIT_SECONDS = 60.0
"""A provider that wants a longer pause than this (a monthly limit asks for weeks) is a failure now, not a wait."""

_JITTER = SystemRandom()
_log = structlog.get_logger(__name__)


def pause_seconds(failures: int, retry_after: float | None = None) -> float:
    """How long to wait after the n-th failure in a row: about 1, 2, 4 s, never less than the provider asked for.

    The jitter is narrow enough for each pause to be longer than the one before.
    """
    own: float = FIRST_PAUSE_SECONDS * 2 ** (failures - 1) * _JITTER.uniform(0.75, 1.25)
    return max(own, retry_after or 0.0)


async def with_retries(
    attempt: Callable[[], AsyncGenerator[ModelEvent, None]], clock: Clock, *, tries: int = TRIES
) -> AsyncGenerator[ModelEvent, None]:
    """The events of the first attempt that succeeds; a Restarted where one broke after it had shown text.

    Each attempt is made from nothing, so nothing of a broken one is left over. Raises the last ModelUnavailable.
    """
    for number in range(1, tries + 1):
        shown = False
        try:
            async with aclosing(attempt()) as events:
                async for event in events:
                    shown = shown or isinstance(event, TextDelta)
                    yield event
            return
        except ModelUnavailable as error:
            if number == tries or (error.retry_after or 0.0) > LONGEST_WAIT_SECONDS:
                raise
            wait = pause_seconds(number, error.retry_after)
            _log.warning("model_attempt_failed", attempt=number, wait_seconds=round(wait, 2), error=str(error))
        if shown:
            yield Restarted()
        await clock.sleep(wait)
