"""A running Signoff and its operator in front of a browser."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.bot.api.site import Site, running
from tests.bot.web.visitor import Visitor, logged_in


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[Site]:
    async with running(tmp_path) as site:
        yield site


@pytest.fixture
async def visitor(site: Site) -> Visitor:
    return await logged_in(site)
