"""A served Signoff and a real browser for each test."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from playwright.async_api import Browser

from tests.browser.served import Served
from tests.browser.tab import CHROMIUM, Tab, chromium, tab
from tests.servers.llm import FakeLLM


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        if item.path.is_relative_to(here) and not Path(CHROMIUM).exists():
            item.add_marker(pytest.mark.skip(reason="no Chromium: apt-get install chromium"))


@pytest.fixture
async def browser() -> AsyncIterator[Browser]:
    async with chromium() as browser:
        yield browser


@pytest.fixture
async def served(tmp_path: Path) -> AsyncIterator[Served]:
    """With the demo model."""
    served = Served(home=tmp_path)
    await served.start()
    yield served
    await served.stop()


@pytest.fixture
async def model() -> AsyncIterator[FakeLLM]:
    model = FakeLLM()
    await model.start()
    yield model
    await model.close()


@pytest.fixture
async def scripted(tmp_path: Path, model: FakeLLM) -> AsyncIterator[Served]:
    """With a model that says what the test wants."""
    served = Served(home=tmp_path, model_url=model.base_url)
    await served.start()
    yield served
    await served.stop()


@pytest.fixture
async def operator(browser: Browser, served: Served) -> Tab:
    """Logged in, in front of a new chat, with the demo model behind it."""
    operator = await tab(browser, served.url, viewport={"width": 1280, "height": 900}, accept_downloads=True)
    await operator.log_in(served.link)
    return operator
