"""The loops that run as long as the process: a round that fails is logged, and the next one comes."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import structlog

from agent.errors import StorageError
from agent.ports.clock import Clock

log = structlog.get_logger()

PAUSE_SECONDS = 1.0
"""After a round that failed."""


async def repeated(work: Callable[[], Awaitable[None]], clock: Clock) -> None:
    """Do `work` over and over until cancelled.

    The loop border: a loop that ended by a mistake of ours, or by a damaged row, would silently stop all work.
    """
    while True:
        try:
            await work()
        except StorageError as error:
            log.warning("round_failed", loop=work.__name__, reason=str(error))
            await clock.sleep(PAUSE_SECONDS)
        except Exception:
            log.exception("round_failed_unexpectedly", loop=work.__name__)
            await clock.sleep(PAUSE_SECONDS)
