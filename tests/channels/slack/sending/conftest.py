"""An office for every test."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.channels.slack.sending.office import Office, opened


@pytest.fixture
async def office() -> AsyncIterator[Office]:
    async with opened() as office:
        yield office
