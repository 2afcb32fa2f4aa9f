"""A running Signoff for each flow."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.flows.bot import Bot, running


@pytest.fixture
async def bot(tmp_path: Path) -> AsyncIterator[Bot]:
    async with running(tmp_path) as bot:
        yield bot
