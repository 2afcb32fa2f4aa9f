"""Waiting for a transaction that must not be left half done."""

from __future__ import annotations

import asyncio
from typing import TypeVar

T = TypeVar("T")


async def shielded(work: asyncio.Future[T]) -> T:
    """The outcome of `work`. A cancelled caller waits for its end, then goes: no write happens behind his back."""
    try:
        return await asyncio.shield(work)
    except asyncio.CancelledError:
        await asyncio.wait([work])
        if not work.cancelled():
            work.exception()  # looked at, so that asyncio does not report it as forgotten
        raise
