"""Loops that outlive what goes wrong in them."""

from __future__ import annotations

import asyncio

import pytest
from structlog.testing import capture_logs

from agent.errors import StorageError
from agent.rounds import repeated
from tests.clock import FakeClock


@pytest.mark.parametrize(
    ("error", "event"), [(StorageError("gone"), "round_failed"), (KeyError("x"), "round_failed_unexpectedly")]
)
async def test_a_round_that_fails_is_logged_and_the_next_one_comes(error: Exception, event: str) -> None:
    """The first two rounds fail; the third is made all the same, a second later each."""
    rounds: list[int] = []
    clock = FakeClock()
    third = asyncio.Event()

    async def work() -> None:
        rounds.append(len(rounds))
        if len(rounds) < 3:
            raise error
        third.set()
        await asyncio.Event().wait()

    with capture_logs() as logs:
        loop = asyncio.create_task(repeated(work, clock))
        while not third.is_set():
            await asyncio.sleep(0)
            clock.advance(1)
        loop.cancel()
        await asyncio.wait([loop])
    assert rounds == [0, 1, 2]
    assert [(entry["event"], entry["loop"]) for entry in logs] == [(event, "work")] * 2
