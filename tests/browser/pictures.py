"""Takes the pictures of the README anew: `make pictures`."""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path

from playwright.async_api import expect

from tests.browser.served import ROOT, Served
from tests.browser.tab import FLAGSHIP, Tab, chromium, tab

PLACE = ROOT / "docs" / "images"
NEW_INVOICE = "Harbor Print Studio,HP-2291,2026-03-30,512.00,EUR\n"


async def main() -> None:
    """A second summary after one more invoice, so that the card shows what changes; then the list of files."""
    PLACE.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as home:
        served = Served(home=Path(home))
        await served.start()
        try:
            async with chromium() as browser:
                operator = await tab(
                    browser, served.url, viewport={"width": 1280, "height": 860}, device_scale_factor=1.5
                )
                await operator.log_in(served.link)
                await _summarised(operator)
                await _card(operator, served.home)
                await operator.open("/files/demo/view?path=reports/invoice-summary.xlsx")
                await operator.page.screenshot(path=PLACE / "sheet.png")
        finally:
            await served.stop()


async def _summarised(operator: Tab) -> None:
    await operator.begin()
    await operator.card().get_by_role("button", name="Approve all").click()
    await expect(operator.turn("done")).to_be_visible()


async def _card(operator: Tab, home: Path) -> None:
    table = home / "demo" / "invoices" / "2026-q1.csv"
    with table.open("a", encoding="utf-8") as file:
        file.write(NEW_INVOICE)
    await operator.open("/chat")
    await operator.begin(FLAGSHIP)
    card = operator.card()
    await expect(card).to_be_visible()
    await operator.page.wait_for_timeout(600)
    await operator.page.screenshot(path=PLACE / "approval.png")
    await card.get_by_role("button", name="Approve all").click()
    await expect(operator.turn("done")).to_be_visible()


if __name__ == "__main__":
    asyncio.run(main())
