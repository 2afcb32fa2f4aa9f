"""Hostile strings in every place where text is shown: nothing of them runs, all of them can be read."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent.previews import visible
from tests.bot.api.site import Site, running
from tests.bot.web.page import Page
from tests.bot.web.visitor import Visitor, logged_in
from tests.servers.llm import Reply

HOSTILE = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(2)>',
    "'><svg onload=alert(3)>",
    "[click](javascript:alert(4))",
    "[click](JaVaScRiPt&colon;alert(5))",
    "[click](data:text/html;base64,PHNjcmlwdD4=)",
    "![seen](https://evil.example/pixel.png)",
    "<a href='vbscript:alert(6)'>six</a>",
    '<https://evil.example/" onmouseover="alert(7)>',
    "</textarea></title></pre><script>alert(8)</script>",
    "{{ 7*7 }} {% include 'x' %} ${7*7}",
    "<hx-partial hx-target='body'>nine</hx-partial>",
    "<!-- ten",
    "<plaintext>",
    "&lt;script&gt;eleven&lt;/script&gt;",
    "\u202egnp.exe\u202c \u2066isolated\u2069",
    "zero\u200bwidth\u2060joined\ufeff",
    "<style>*{display:none}</style>",
    "<meta http-equiv=refresh content=0>",
    "event: turn data: <article id=x>",
]
ONE_LINE = " ".join(HOSTILE)
LINES = "\n\n".join(HOSTILE)
CELLS = [string for string in HOSTILE if "\ufeff" not in string]
"""What a sheet can hold as it is."""
NAME = ONE_LINE.replace("/", "\u2215")[:80]
"""What a file system takes: no slash, and not longer than it allows."""


def letters(text: str) -> str:
    """A text without what Markdown takes for itself, and without what spaces become."""
    return re.sub(r"[\s\\`*_\[\]()!|<>~]", "", text)


def unreadable(page: Page, wanted: str) -> Iterator[str]:
    """The hostile strings of `wanted` that a page does not show as they are."""
    shown = letters(page.text)
    for string in HOSTILE:
        if string in wanted and letters(visible(string)) not in shown:
            yield string


def check(html: str, where: str, wanted: str = "") -> None:
    """Nothing runs, and the strings are there."""
    page = Page(html)
    assert list(page.dangers()) == [], where
    assert list(unreadable(page, wanted)) == [], where
    # A field that is sent back holds every character as it is.
    html = re.sub("<textarea.*?</textarea>", "", html, flags=re.DOTALL)
    assert not re.search("[\u202a-\u202e\u2066-\u2069\u200b\u2060\ufeff]", html), f"{where}: something is hidden"


@pytest.fixture
async def chat(site: Site, visitor: Visitor) -> int:
    """A conversation that says all of it, waits for a card that shows all of it, and is named after it."""
    folder = site.home / "annes"
    (folder / "a.md").write_text(f"{LINES}\n")
    (folder / "old.md").write_text(f"before\n{LINES}\nafter\n")
    site.model.will(
        Reply(text=LINES, calls=[("read_file", {"path": "a.md"}), ("glob", {"pattern": ONE_LINE[:150]})]),
        Reply(
            text=LINES,
            calls=[
                ("write_file", {"path": "old.md", "content": f"{LINES}\nchanged\n"}),
                ("write_sheet", {"path": "new.xlsx", "sheets": [{"name": "<b>", "rows": [CELLS, CELLS]}]}),
                ("write_file", {"path": "new <i onclick=x>.md", "content": LINES}),
            ],
        ),
    )
    seen = await visitor.post("/chat", {"text": LINES, "workspace": "annes"})
    session_id = int(seen.headers["HX-Redirect"].rsplit("/", 1)[1])
    await site.reached(1, "waiting_approval")
    await visitor.post(f"/chat/{session_id}/title", {"title": ONE_LINE[:200]}, part=False)
    return session_id


async def test_a_conversation(site: Site, visitor: Visitor, chat: int) -> None:
    """Title, request, the model's words, tool arguments and results, the card with its diff, sheet and new file."""
    html = (await visitor.get(f"/chat/{chat}")).text
    check(html, "the chat", LINES)
    for path in ("/chat", "/tasks", "/approvals", "/approvals/1", "/tasks/1"):
        check((await visitor.get(path)).text, path, LINES if path == "/tasks/1" else "")
    assert [part for part in ("diff-head", "<ins", "<caption>") if part not in html] == [], html


async def test_a_conversation_that_goes_on(site: Site, visitor: Visitor, chat: int) -> None:
    """What comes over the stream is the same HTML, and no text of it ends an event."""
    url = f"{site.app.url}/chat/{chat}/live?from=1"
    async with site.http.get(url, headers={"Cookie": f"signoff={visitor.cookie}"}) as answer:
        raw = b""
        while b"\n\n" not in raw.partition(b"event: turn")[2]:
            raw += await answer.content.readany()
    event = raw.decode().partition("event: turn")[2].partition("\n\n")[0]
    check("\n".join(line.removeprefix("data: ") for line in event.split("\n")[1:]), "the stream", LINES)


async def test_a_decision_and_its_reason(site: Site, visitor: Visitor, chat: int) -> None:
    """What a person writes as a reason, and the answer that quotes it."""
    site.model.will(f"Not done: {LINES}")
    settled = await visitor.post("/approvals/1", {"verdict": "denied", "reason": ONE_LINE})
    check(settled.text, "the settled card", ONE_LINE)
    await site.reached(1, "done")
    check((await visitor.get(f"/chat/{chat}")).text, "the answer", LINES)


async def test_an_error_of_the_model(site: Site, visitor: Visitor) -> None:
    """A provider's own words in an error."""
    site.model.will(Reply(status=400, error={"message": ONE_LINE}))
    session_id = await visitor.say("go")
    await site.reached(1, "failed")
    for path in (f"/chat/{session_id}", "/tasks/1"):
        check((await visitor.get(path)).text, path)


async def test_files(site: Site, visitor: Visitor) -> None:
    """Names, texts, cells, and a picture that is none."""
    folder = site.home / "annes"
    (folder / NAME).mkdir()
    (folder / f"{NAME}.txt").write_text(LINES)
    (folder / "cells.csv").write_text("\n".join(f'"{cell.replace(chr(34), chr(34) * 2)}",1' for cell in HOSTILE))
    (folder / "evil.svg").write_text("<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'><script/></svg>")
    (folder / "evil.html").write_text(LINES)
    listing = await visitor.get("/files/annes")
    check(listing.text, "the listing")
    assert letters(visible(NAME)) in letters(listing.page.text)
    for name, wanted in {f"{NAME}.txt": LINES, "cells.csv": LINES, "evil.html": LINES, "evil.svg": ""}.items():
        seen = await visitor.site.http.get(
            f"{site.app.url}/files/annes/view",
            params={"path": name},
            headers={"Cookie": f"signoff={visitor.cookie}", "Accept": "text/html"},
        )
        check(await seen.text(), name, wanted)
    content = await visitor.get("/v1/files/annes/content?path=evil.html")
    assert content.headers["Content-Disposition"].startswith("attachment")


async def test_memory(site: Site, visitor: Visitor) -> None:
    """As Markdown and in the field where it is edited, which must not end early, and comes back unchanged."""
    form = {"name": "MEMORY.md", "text": f"\n{LINES}"}
    saved = await visitor.post("/memory/annes", form, part=False)
    assert saved.status == 303
    check_memory = (await visitor.get("/memory?workspace=annes")).text
    page = Page(check_memory)
    assert list(page.dangers()) == []
    assert list(unreadable(page, LINES)) == []
    kept = (site.home / "annes" / "memory" / "MEMORY.md").read_text()
    assert kept == form["text"]


async def test_skills(site: Site, visitor: Visitor) -> None:
    """A description, and the name of a folder that cannot be loaded."""
    good = site.home / "annes" / "skills" / "good"
    good.mkdir(parents=True)
    described = ONE_LINE.replace('"', "'")[:900]
    (good / "SKILL.md").write_text(f'---\nname: good\ndescription: "{described}"\n---\nDo it.\n')
    (site.home / "annes" / "skills" / NAME[:60]).mkdir()
    html = (await visitor.get("/skills?workspace=annes")).text
    check(html, "skills")
    assert "not loaded" in html.lower()


async def test_words_and_errors(visitor: Visitor) -> None:
    """What a chat word answers, and what an error page says of an address that somebody made up."""
    session_id = await visitor.say("hello")
    for word in (f"/files {ONE_LINE}", f"/model {ONE_LINE}", f"/workspace {ONE_LINE}", f"/approve {ONE_LINE}"):
        check((await visitor.post(f"/chat/{session_id}", {"text": word})).text, word)
    for path in (
        "/chat/%3Cscript%3E",
        "/files/%3Cscript%3E",
        "/memory?workspace=%22%3E%3Cimg%20src%3Dx%3E",
        "/%3Cb%3E",
    ):
        seen = await visitor.get(path)
        assert seen.status == 404
        check(seen.text, path)


async def test_usage(tmp_path: Path) -> None:
    """The name of a model, which is whatever the configuration says."""
    async with running(tmp_path, model_id=ONE_LINE) as site:
        visitor = await logged_in(site)
        site.model.will("Hello.")
        await visitor.say("go")
        await site.reached(1, "done")
        check((await visitor.get("/usage")).text, "usage", ONE_LINE)
