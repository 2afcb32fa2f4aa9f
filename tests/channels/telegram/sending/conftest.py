"""An office for every test, and one whose server is from before drafts and rich messages."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.channels.telegram.sending.office import Office, opened


@pytest.fixture
async def office(tmp_path: Path) -> AsyncIterator[Office]:
    async with opened(tmp_path) as office:
        yield office


@pytest.fixture
async def old_office(tmp_path: Path) -> AsyncIterator[Office]:
    async with opened(tmp_path, newer=False) as office:
        yield office
