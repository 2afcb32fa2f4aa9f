"""How long is waited, and that a broken attempt leaves nothing behind."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from datetime import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.errors import ModelRefused, ModelUnavailable
from agent.llm.retry import TRIES, pause_seconds, with_retries
from agent.ports.models import ModelEvent, Restarted, TextDelta
from tests.clock import START


class CountingClock:
    """Every pause ends at once and is written down."""

    def __init__(self) -> None:
        self.slept: list[float] = []

    def now(self) -> datetime:
        return START

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)


async def played(*attempts: list[ModelEvent | Exception]) -> list[ModelEvent]:
    left = iter(attempts)

    async def attempt() -> AsyncGenerator[ModelEvent, None]:
        for event in next(left):
            if isinstance(event, Exception):
                raise event
            yield event

    return [event async for event in with_retries(attempt, CountingClock())]


ONE, TWO, BROKEN = TextDelta(text="1"), TextDelta(text="2"), ModelUnavailable("broken")
ALWAYS_BROKEN: list[list[ModelEvent | Exception]] = [[ONE, BROKEN]] * TRIES


async def test_each_attempt_is_new() -> None:
    """A26: whatever broke before, the next attempt is delivered; only one that had shown text is taken back."""
    assert await played([BROKEN], [ONE, BROKEN], [TWO, ONE]) == [ONE, Restarted(), TWO, ONE]


async def test_the_last_failure_is_raised() -> None:
    """C12: after the one limit of tries the failure reaches the caller."""
    with pytest.raises(ModelUnavailable, match="broken"):
        await played(*ALWAYS_BROKEN)


async def test_a_refusal_is_not_retried() -> None:
    """Only ModelUnavailable is worth another try."""
    with pytest.raises(ModelRefused):
        await played([ModelRefused("no")], [ONE])


@pytest.mark.parametrize(("retry_after", "tries"), [(60.0, 2), (61.0, 1), (None, 2)])
async def test_the_cap_on_waits(retry_after: float | None, tries: int) -> None:
    """C11: up to a minute is waited for what the provider asks, a longer wait is a failure now."""
    clock, made = CountingClock(), 0

    async def attempt() -> AsyncGenerator[ModelEvent, None]:
        nonlocal made
        made += 1
        raise ModelUnavailable("later", retry_after=retry_after)
        yield ONE

    with pytest.raises(ModelUnavailable):
        _ = [event async for event in with_retries(attempt, clock, tries=2)]
    assert (made, len(clock.slept)) == (tries, tries - 1)
    assert all(slept >= (retry_after or 0) for slept in clock.slept)


@given(st.integers(1, 8), st.none() | st.floats(0, 60))
def test_pauses_grow_and_are_never_0(failures: int, retry_after: float | None) -> None:
    """C13: each pause is longer than the one before, none is 0, none shorter than asked for."""
    assert 0 < pause_seconds(failures) < pause_seconds(failures + 1)
    assert pause_seconds(failures, retry_after) >= max(0.75, retry_after or 0)
