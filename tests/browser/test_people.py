"""People in a real Chromium: somebody is added, linked, let in and removed by an admin."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.async_api import expect

from bot.config import load_config
from bot.services import connected
from tests.browser.tab import Tab

pytestmark = pytest.mark.slow


async def code_of(home: Path, identity: str, shown_name: str) -> str:
    """What a stranger is shown who writes on a channel."""
    async with connected(load_config(home / "config.yaml")) as services:
        return str((await services.pairing.knock(identity, shown_name)).code)


async def test_an_admin_at_the_page(operator: Tab, tmp_path: Path) -> None:
    """Every form works, a wrong code is told above the page, and nothing is removed without a question."""
    code = await code_of(tmp_path, "lines:7", "Eve")
    page = operator.page
    await page.get_by_role("link", name="People").click()
    await page.get_by_text("Add a person").click()
    await page.get_by_label("Name").fill("Ann")
    await page.get_by_role("button", name="Add", exact=True).click()
    ann = page.get_by_role("listitem").filter(has=page.get_by_role("heading", name="Ann"))
    await ann.get_by_text("Change").click()
    await ann.get_by_label("approver").check()
    await ann.get_by_role("button", name="Save").click()
    await expect(ann.locator(".pill")).to_have_text("approver")
    await page.get_by_label("Code they told you").fill("AAAA-AAAA")
    await page.get_by_label("Known here as").fill("Ann")
    await page.get_by_role("button", name="Let in").click()
    await expect(page.locator(".toast")).to_contain_text("Nobody who asks to be let in was shown this code")
    await page.get_by_label("Code they told you").fill(code)
    await page.get_by_role("button", name="Let in").click()
    await expect(ann).to_contain_text("lines:7")
    await expect(page.get_by_text("Nobody at the moment")).to_be_visible()
    await ann.get_by_role("button", name="Unlink lines:7").click()
    await expect(ann).not_to_contain_text("lines:7")
    await ann.get_by_text("Change").click()
    await ann.get_by_role("button", name="Remove Ann").click()
    await expect(ann).to_have_count(0)
    assert operator.dialogs == ["Unlink lines:7 from Ann?", "Remove Ann, with all their ways in?"]
    assert [said for said in operator.problems if "404" not in said] == []
