"""A served Signoff and a real browser for each test."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from playwright.async_api import Browser

from tests.browser.served import Served
from tests.browser.tab import CHROMIUM, Tab, chromium, tab
from tests.servers.llm import FakeLLM

OFFICE = {"Ann": ["approver"], "Bob": ["approver"], "Eve": []}


@dataclass(frozen=True, kw_only=True)
class Office:
    """Ann and Bob, who may approve, and Eve, who may not, each with a browser of their own."""

    served: Served
    browser: Browser

    async def enter(self, name: str) -> Tab:
        """Somebody in front of a new chat."""
        someone = await tab(self.browser, self.served.url, viewport={"width": 1280, "height": 900})
        await someone.log_in(await self.served.way_in(name))
        return someone

    def file(self, path: str) -> Path:
        """In the workspace that they share."""
        return self.served.home / "demo" / path


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
async def office(
    request: pytest.FixtureRequest, tmp_path: Path, model: FakeLLM, browser: Browser
) -> AsyncIterator[Office]:
    """A server with people in front of it; a parameter is the policy."""
    served = Served(home=tmp_path, model_url=model.base_url, people=OFFICE, policy=getattr(request, "param", {}))
    await served.start()
    yield Office(served=served, browser=browser)
    await served.stop()


@pytest.fixture
async def operator(browser: Browser, served: Served) -> Tab:
    """Logged in, in front of a new chat, with the demo model behind it."""
    operator = await tab(browser, served.url, viewport={"width": 1280, "height": 900}, accept_downloads=True)
    await operator.log_in(served.link)
    return operator
