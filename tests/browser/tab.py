"""A person in front of a tab of a real Chromium."""

from __future__ import annotations

import os
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from playwright.async_api import Browser, BrowserContext, Dialog, Locator, Page, async_playwright

CHROMIUM = "/usr/bin/chromium"
FLAGSHIP = "Summarise the invoices and quotes in this folder"


@dataclass(kw_only=True)
class Tab:
    """A page, and whatever went wrong in it."""

    page: Page
    url: str
    problems: list[str] = field(default_factory=list)
    dialogs: list[str] = field(default_factory=list)

    @classmethod
    async def of(cls, context: BrowserContext, url: str) -> Tab:
        """A new tab."""
        tab = cls(page=await context.new_page(), url=url)
        tab.page.set_default_timeout(20_000)
        tab.page.on("pageerror", lambda error: tab.problems.append(str(error)))
        tab.page.on("dialog", tab._agree)
        tab.page.on("console", lambda said: tab.problems.append(said.text) if said.type == "error" else None)
        return tab

    async def _agree(self, dialog: Dialog) -> None:
        self.dialogs.append(dialog.message)
        await dialog.accept()

    async def log_in(self, link: str) -> None:
        """Open a login link and press its button."""
        await self.page.goto(link)
        await self.page.get_by_role("button", name="Log in").click()
        await self.page.wait_for_url("**/chat")

    async def open(self, path: str) -> None:
        """Go to a page."""
        await self.page.goto(self.url + path)

    async def say(self, text: str) -> None:
        """Write into the composer and press Enter."""
        await self.page.get_by_label("What should be done?").fill(text)
        await self.page.keyboard.press("Enter")

    async def begin(self, text: str = FLAGSHIP) -> str:
        """Ask for something in a new chat; the path of the chat."""
        await self.say(text)
        await self.page.wait_for_url(re.compile(r"/chat/\d+$"))
        return self.page.url.removeprefix(self.url)

    def card(self, status: str = "open") -> Locator:
        """The newest card of a status."""
        return self.page.locator(f'[data-card][data-status="{status}"]').last

    async def edit(self, item: Locator, **arguments: str) -> None:
        """Write other arguments for an item and have them shown."""
        await item.locator(".edit summary").click()
        for name, text in arguments.items():
            await item.locator(f'[name="argument.{name}"]').fill(text)
        await item.get_by_role("button", name="Save and show").click()

    def turn(self, status: str) -> Locator:
        """The newest task of a status."""
        return self.page.locator(f'.turn[data-status="{status}"]').last

    async def mark(self) -> None:
        """Leave a mark that a reload would take away."""
        await self.page.evaluate("window.mark = 'not loaded again'")

    async def marked(self) -> bool:
        """Whether the page was not loaded again since."""
        return bool(await self.page.evaluate("window.mark === 'not loaded again'"))

    async def too_wide(self) -> bool:
        """Whether the page has to be moved sideways."""
        wide: bool = await self.page.evaluate("document.scrollingElement.scrollWidth > window.innerWidth")
        return wide


@asynccontextmanager
async def chromium() -> AsyncIterator[Browser]:
    """Debian's Chromium; its own sandbox does not work as root."""
    arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=CHROMIUM, args=arguments)
        try:
            yield browser
        finally:
            await browser.close()


async def tab(browser: Browser, url: str, **context: Any) -> Tab:
    """The only tab of somebody new."""
    return await Tab.of(await browser.new_context(**context), url)
