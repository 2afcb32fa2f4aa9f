"""Every page in a real Chromium: narrow, by keyboard, dark, while it streams, and with hostile strings."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest
from playwright.async_api import Browser, expect

from tests.bot.web.test_hostile import LINES, ONE_LINE
from tests.browser.served import Served
from tests.browser.tab import Tab, tab
from tests.servers.llm import FakeLLM, Reply

pytestmark = pytest.mark.slow
PAGES = (
    "/chat", "/chat/1",
    "/approvals", "/approvals?show=all", "/tasks", "/tasks/1", "/files", "/files/demo?path=invoices",
    "/files/demo/view?path=invoices/2026-q1.csv", "/files/demo/view?path=quotes/2026-office-move.xlsx",
    "/files/demo/view?path=README.md", "/memory", "/skills", "/usage", "/policy", "/people", "/chats/archived",
)  # fmt: skip


async def test_a_narrow_screen(browser: Browser, served: Served) -> None:
    """At 320 pixels nothing has to be moved sideways, the menu opens, and the whole way works."""
    phone = await tab(browser, served.url, viewport={"width": 320, "height": 640}, has_touch=True, is_mobile=True)
    await phone.log_in(served.link)
    await phone.page.get_by_label("What should be done?").fill("Summarise the invoices")
    await phone.page.get_by_role("button", name="Send").tap()
    await expect(phone.card()).to_be_visible()
    assert not await phone.too_wide()
    await phone.card().get_by_role("button", name="Approve all").tap()
    await expect(phone.turn("done")).to_be_visible()
    for path in PAGES:
        await phone.open(path)
        assert not await phone.too_wide(), path
    await phone.page.get_by_role("button", name="Menu").tap()
    await phone.page.get_by_role("link", name="Usage").tap()
    await expect(phone.page.get_by_role("heading", name="Usage")).to_be_visible()
    assert phone.problems == []


async def test_by_keyboard_alone(operator: Tab) -> None:
    """The first Tab leads past the navigation, Enter sends, and the focus is always seen."""
    page = operator.page
    await page.goto(operator.url + "/tasks")
    await page.keyboard.press("Tab")
    assert await page.evaluate("document.activeElement.textContent") == "Skip to the content"
    await operator.open("/chat")
    await page.keyboard.type("Summarise the invoices")
    await page.keyboard.press("Enter")
    approve = operator.card().get_by_role("button", name="Approve all")
    await approve.focus()
    outline = await approve.evaluate("button => getComputedStyle(button).outlineStyle")
    await page.keyboard.press("Enter")
    await expect(operator.turn("done")).to_be_visible()
    assert outline == "solid"


async def test_everything_has_a_name(operator: Tab) -> None:
    """Whatever can be pressed or filled in says to a screen reader what it is."""
    await operator.begin()
    await expect(operator.card()).to_be_visible()
    nameless = """() => [...document.querySelectorAll('button, a[href], input:not([type=hidden]), select, textarea')]
        .filter(one => !(one.textContent.trim() || one.getAttribute('aria-label') || one.labels?.length))
        .map(one => one.outerHTML)"""
    for path in (operator.page.url.removeprefix(operator.url), *PAGES):
        await operator.open(path)
        assert await operator.page.evaluate(nameless) == [], path
        assert await operator.page.locator("h1").count() == 1, path


async def test_dark_and_without_motion(browser: Browser, served: Served) -> None:
    """As the person's system says."""
    night = await tab(browser, served.url, color_scheme="dark", reduced_motion="reduce")
    await night.log_in(served.link)
    background = await night.page.evaluate("getComputedStyle(document.documentElement).backgroundColor")
    assert background == "rgb(23, 23, 21)"
    transition = await night.page.locator("button").first.evaluate("one => getComputedStyle(one).transitionProperty")
    assert transition == "none"


async def test_an_answer_streams_without_a_jump(browser: Browser, scripted: Served, model: FakeLLM) -> None:
    """It grows piece by piece; whoever reads further up stays there, whoever is at the end stays at the end."""
    model.will("\n\n".join(f"Paragraph {number}" for number in range(80)))
    model.will(Reply(text="\n\n".join(f"- point {number}" for number in range(60)), pieces=40, delay_seconds=0.05))
    reader = await tab(browser, scripted.url, viewport={"width": 1000, "height": 600})
    await reader.log_in(scripted.link)
    await reader.begin("first")
    await expect(reader.turn("done")).to_contain_text("Paragraph 79")
    await reader.say("second")
    await expect(reader.page.locator(".turn").nth(1)).to_contain_text("point 3")
    gap = "document.scrollingElement.scrollHeight - window.innerHeight - window.scrollY"
    assert await reader.page.evaluate(gap) < 120
    await reader.page.evaluate("window.scrollTo(0, 200)")
    place = "document.querySelector('.turn .prose').getBoundingClientRect().top"
    before = await reader.page.evaluate(place)
    await expect(reader.turn("done")).to_contain_text("point 59")
    await expect(reader.page.locator(".turn").nth(1)).to_have_attribute("data-status", "done")
    assert await reader.page.evaluate(place) == before
    assert reader.problems == []


async def test_hostile_strings_do_not_run(browser: Browser, scripted: Served, model: FakeLLM) -> None:
    """In a real browser, in every place at once: no dialog, no request elsewhere, nothing for the policy to stop."""
    folder = scripted.home / "demo"
    (folder / "evil.md").write_text(LINES)
    (folder / "evil.csv").write_text(f'"{ONE_LINE.replace(chr(34), chr(34) * 2)}",1\n2,3\n')
    (folder / "memory").mkdir()
    (folder / "memory" / "MEMORY.md").write_text(LINES)
    model.will(
        Reply(text=LINES, pieces=20, calls=[("read_file", {"path": "evil.md"})]),
        Reply(text=LINES, calls=[("write_file", {"path": "evil.md", "content": f"{LINES}\nmore"})]),
        LINES,
    )
    victim = await tab(browser, scripted.url)
    asked: list[str] = []
    victim.page.on("request", lambda request: asked.append(request.url))
    await victim.log_in(scripted.link)
    chat = await victim.begin(LINES)
    await expect(victim.card()).to_be_visible()
    await victim.page.get_by_text("Rename this chat").or_(victim.page.get_by_label("Rename this chat")).first.click()
    await victim.page.get_by_label("Title").fill(ONE_LINE[:200])
    await victim.page.get_by_role("button", name="Save").click()
    await victim.card().get_by_role("button", name="Approve").click()
    await expect(victim.turn("done")).to_be_visible()
    views = ("/files/demo/view?path=evil.md", "/files/demo/view?path=evil.csv")
    for path in (chat, "/approvals?show=all", "/tasks", "/tasks/1", "/files", *views, "/memory", "/usage"):
        await victim.open(path)
        assert await victim.page.locator("main script, main iframe, main img[onerror]").count() == 0, path
    assert victim.problems == victim.dialogs == []
    assert [url for url in asked if not url.startswith((scripted.url, "data:"))] == []


async def test_files_are_uploaded_looked_at_and_replaced(operator: Tab, tmp_path: Path) -> None:
    """By the button; a second file of the same name is asked about first."""
    page = operator.page
    (tmp_path / "note.txt").write_text("first")
    await operator.open("/files")
    await page.locator("[data-upload] input").set_input_files(tmp_path / "note.txt")
    await page.get_by_role("link", name="note.txt", exact=True).click()
    await expect(page.get_by_text("first", exact=True)).to_be_visible()
    (tmp_path / "note.txt").write_text("second")
    await operator.open("/files")
    async with page.expect_navigation():
        await page.locator("[data-upload] input").set_input_files(tmp_path / "note.txt")
    assert operator.dialogs == ["There is a file note.txt already. Replace it?"]
    assert (tmp_path / "demo" / "note.txt").read_text() == "second"


async def test_a_file_goes_along_with_a_message(operator: Tab, tmp_path: Path) -> None:
    """It is kept in the inbox and named in the request."""
    (tmp_path / "sent.csv").write_text("a,b\n1,2\n")
    await operator.page.locator("[data-files]").set_input_files(tmp_path / "sent.csv")
    await expect(operator.page.locator("[data-chosen]")).to_contain_text("sent.csv")
    await operator.begin("List the files here")
    await expect(operator.page.get_by_role("link", name="inbox/sent.csv")).to_be_visible()
    assert (tmp_path / "demo" / "inbox" / "sent.csv").read_text() == "a,b\n1,2\n"
    assert operator.problems == []


async def test_words_in_the_chat(operator: Tab) -> None:
    """They act at once: one lists, one stops, one begins another conversation."""
    await operator.say("/help")
    await expect(operator.page.locator(".reply")).to_contain_text("/approve ID")
    first = await operator.begin()
    await expect(operator.card()).to_be_visible()
    await operator.say("/stop")
    await expect(operator.turn("cancelled")).to_be_visible()
    await operator.say("/nonsense")
    await expect(operator.page.get_by_text("There is no /nonsense; /help lists the words.")).to_be_visible()
    await operator.say("/new")
    await expect(operator.page).not_to_have_url(f"{operator.url}{first}")
    assert operator.problems == []


async def test_toasts_are_out_of_the_way(operator: Tab) -> None:
    """They cover neither the composer nor each other, and what was said once is not said twice at a time."""
    page = operator.page
    say = "text => { const one = document.createElement('div'); one.className = 'toast'; one.textContent = text;"
    for text in ("one", "two", "one"):
        await page.evaluate(f"{say} document.getElementById('toasts').append(one); }}", text)
    toasts = page.locator(".toast")
    await expect(toasts).to_have_text(["two", "one"])
    boxes = [box for one in (*await toasts.all(), page.locator(".composer")) if (box := await one.bounding_box())]
    assert len(boxes) == 3
    for above, below in pairwise(sorted(boxes, key=lambda box: box["y"])):
        assert above["y"] + above["height"] <= below["y"]


async def test_the_composer_keeps_the_focus(operator: Tab) -> None:
    """Whoever began a chat goes on writing, without looking for the field first."""
    await operator.begin()
    await expect(operator.page.get_by_label("What should be done?")).to_be_focused()
