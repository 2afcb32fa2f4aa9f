"""The files' page in a real Chromium, where a style sheet can go wrong."""

from __future__ import annotations

import pytest
from playwright.async_api import Browser, expect

from tests.browser.served import Served
from tests.browser.tab import Tab, tab

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(("path", "label"), [("/chat", "Add files"), ("/files", "Choose files")])
async def test_who_tabs_to_a_choice_of_files_sees_it(operator: Tab, path: str, label: str) -> None:
    """The field itself is invisible, so its label shows the focus."""
    await operator.open(path)
    field = operator.page.get_by_label(label)
    shown = operator.page.locator("label", has=field)
    await expect(shown).to_have_css("outline-style", "none")
    await operator.page.keyboard.press("Tab")  # from now on the browser shows what has the focus
    await field.focus()
    await expect(shown).to_have_css("outline-style", "solid")


async def test_a_long_name_breaks(browser: Browser, served: Served) -> None:
    """Nothing has to be moved sideways, and the button beside it stays in sight."""
    name = "x" * 250 + ".txt"
    (served.home / "demo" / name).write_text("x")
    phone = await tab(browser, served.url, viewport={"width": 320, "height": 640})
    await phone.log_in(served.link)
    await phone.open("/files/demo")
    assert not await phone.too_wide()
    button = await phone.page.get_by_label(f"Download {name}").bounding_box()
    assert button is not None
    assert button["x"] + button["width"] <= 320
