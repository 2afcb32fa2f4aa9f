"""The whole way in a real Chromium: from the login link to the downloaded sheet, and what may happen on it."""

from __future__ import annotations

import asyncio
from pathlib import Path

import openpyxl
import pytest
from playwright.async_api import Browser, expect

from tests.browser.served import Served
from tests.browser.tab import Tab, tab
from tests.servers.llm import FakeLLM, Reply

pytestmark = pytest.mark.slow


async def test_from_the_login_link_to_the_sheet(operator: Tab, tmp_path: Path) -> None:
    """Ask, watch, read, sign, download; nothing is loaded again and nothing goes wrong in the page."""
    page = operator.page
    await operator.begin()
    await operator.mark()
    await expect(page.get_by_text("Measured invoices/2026-q1.csv")).to_be_visible()
    card = operator.card()
    await expect(card).to_contain_text("2 changes to sign off")
    await expect(card).to_contain_text("Harbor Print Studio")
    assert not (tmp_path / "demo" / "reports").exists(), "nothing is written before it is signed"
    await card.get_by_role("button", name="Approve all").click()
    await expect(operator.card("approved")).to_contain_text("Signed off by operator")
    await expect(operator.turn("done")).to_be_visible()
    async with page.expect_download() as begun:
        await page.get_by_label("Download invoice-summary.xlsx").click()
    download = await begun.value
    await download.save_as(tmp_path / "got.xlsx")
    assert openpyxl.load_workbook(tmp_path / "got.xlsx").sheetnames == ["Totals", "To check"]
    assert await operator.marked()
    assert operator.problems == []


async def test_a_login_link_works_once(browser: Browser, served: Served, operator: Tab) -> None:
    """The second press is told so on a page, and nobody is signed in by it."""
    stranger = await tab(browser, served.url)
    await stranger.page.goto(served.link)
    await expect(stranger.page.get_by_text("was used before")).to_be_visible()
    await stranger.open("/files")
    await expect(stranger.page).to_have_url(f"{served.url}/login")


async def test_a_restart_in_the_middle(browser: Browser, scripted: Served, model: FakeLLM) -> None:
    """The server dies while the model speaks and later while a card waits; the page goes on by itself."""
    slow = Reply(text="word " * 60, pieces=60, delay_seconds=0.1)
    model.will(slow, Reply(calls=[("write_file", {"path": "a.md", "content": "new\n"})]), "All done.")
    someone = await tab(browser, scripted.url)
    await someone.log_in(scripted.link)
    await someone.begin("go")
    await someone.mark()
    await expect(someone.page.locator(".prose")).to_contain_text("word word")
    await scripted.stop(kill=True)
    await expect(someone.page.get_by_text("Reconnecting")).to_be_visible()
    await scripted.start()
    await expect(someone.card()).to_be_visible()
    await expect(someone.page.get_by_text("Reconnecting")).to_be_hidden()
    await scripted.stop()
    await expect(someone.page.get_by_text("Reconnecting")).to_be_visible()
    await scripted.start()
    await expect(someone.page.get_by_text("Reconnecting")).to_be_hidden()
    await someone.card().get_by_role("button", name="Approve").click()
    await expect(someone.turn("done")).to_contain_text("All done.")
    assert await someone.marked()
    assert (scripted.home / "demo" / "a.md").read_text() == "new\n"


async def test_two_tabs(operator: Tab) -> None:
    """What is asked in one is seen in the other, and a card that is signed in the other is settled in the first."""
    path = await operator.begin()
    other = await Tab.of(operator.page.context, operator.url)
    await other.open(path)
    await expect(other.card()).to_be_visible()
    await other.card().get_by_role("button", name="Approve all").click()
    await expect(operator.card("approved")).to_be_visible()
    await expect(operator.turn("done")).to_be_visible()
    await operator.say("List the files here")
    await expect(other.page.get_by_text("These are the files here")).to_be_visible()
    assert operator.problems == other.problems == []


async def test_a_double_press(operator: Tab) -> None:
    """Twice in one tab and at once in two: it is decided once, and whoever came second sees who was first."""
    path = await operator.begin()
    other = await Tab.of(operator.page.context, operator.url)
    await other.open(path)
    for each in (operator, other):
        await expect(each.card()).to_be_visible()
    twice = "document.querySelector('.sign .primary').click(); document.querySelector('.sign .primary')?.click()"
    await asyncio.gather(operator.page.evaluate(twice), other.page.evaluate(twice))
    for each in (operator, other):
        await expect(each.card("approved")).to_be_visible()
        await expect(each.turn("done")).to_be_visible()
    await operator.open("/tasks/1")
    decisions = operator.page.locator(".journal li", has=operator.page.locator(".pill", has_text="decision"))
    await expect(decisions).to_have_count(2)
    await expect(decisions.filter(has_text="operator approved items 1, 2")).to_have_count(1)
    await expect(decisions.filter(has_text="operator tried to approve and was refused")).to_have_count(1)


async def test_a_denied_item(operator: Tab, tmp_path: Path) -> None:
    """One item is refused with a reason, the other is signed; only that one is written, and both verdicts stay."""
    await operator.begin()
    card = operator.card()
    second = card.locator(".item").nth(1)
    await second.get_by_label("Deny item 2").click()
    await second.get_by_placeholder("Why not?").fill("No workbook, please")
    await second.get_by_role("button", name="Deny", exact=True).click()
    await expect(card).to_contain_text("Reason: No workbook, please")
    await card.get_by_label("Approve item 1").click()
    await expect(operator.turn("done")).to_contain_text("Not written")
    assert [path.name for path in (tmp_path / "demo" / "reports").iterdir()] == ["invoice-summary.md"]
    settled = operator.card("approved")
    await settled.get_by_text("each verdict").click()
    await expect(settled).to_contain_text("No workbook, please")
    assert operator.problems == []


async def test_deny_all_with_a_reason(operator: Tab, tmp_path: Path) -> None:
    """The agent reads it and goes on; nothing is written."""
    await operator.begin()
    card = operator.card()
    await card.get_by_text("Deny all …").click()
    await card.get_by_placeholder("The agent reads this").fill("Wrong quarter")
    await card.get_by_role("button", name="Deny all").click()
    await expect(operator.card("denied")).to_contain_text("Denied by operator")
    await expect(operator.turn("done")).to_contain_text("Wrong quarter")
    assert not (tmp_path / "demo" / "reports").exists()
