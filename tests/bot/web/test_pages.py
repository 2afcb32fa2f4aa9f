"""The pages: what each shows, what a browser is told about it, and what becomes of bad input."""

from __future__ import annotations

import re
from pathlib import Path

import aiohttp
import pytest

from bot.web.forms import FIELD_BYTES
from tests.bot.api.site import ADMIN, Site, running
from tests.bot.api.test_files import artifact
from tests.bot.web.visitor import PLAIN, Visitor, logged_in
from tests.servers.llm import Reply

PAGES = {
    "/chat": "What should be done",
    "/chats/archived": "Nothing is archived",
    "/approvals": "Nothing waits",
    "/approvals?show=all": "no approvals yet",
    "/tasks": "no task like this",
    "/files": "Drop files here",
    "/files/annes": "This folder is empty",
    "/memory": "Nothing is remembered here yet",
    "/skills": "invoice-summary",
    "/usage": "Tokens by day",
    "/policy": "runs without asking",
    "/people": "Waiting to be let in",
}
WRITE = Reply(calls=[("write_file", {"path": "a.md", "content": "new\n"})])


@pytest.mark.parametrize("path", PAGES)
async def test_a_page_of_a_new_installation(visitor: Visitor, path: str) -> None:
    """It says what it is for, and the policy for browsers allows nothing inline and nothing from elsewhere."""
    seen = await visitor.get(path)
    assert seen.status == 200
    assert PAGES[path] in seen.page.text
    policy = seen.headers["Content-Security-Policy"]
    assert "script-src 'self'" in policy
    assert "style-src 'self'" in policy
    assert "unsafe" not in policy
    assert seen.headers["Cache-Control"] == "no-store"
    assert list(seen.page.dangers()) == []


async def test_a_stranger_is_shown_the_way(site: Site) -> None:
    """Every page leads to the login, a part of a page leads the whole of it there, and a post does nothing."""
    stranger = Visitor(site=site, cookie="made-up")
    for path in (*PAGES, "/chat/1", "/tasks/1", "/files/annes/view?path=x"):
        seen = await stranger.get(path)
        assert (seen.status, seen.headers["Location"]) == (303, "/login"), path
    part = await stranger.post("/chat", {"text": "go"})
    assert (part.status, part.headers["HX-Redirect"]) == (401, "/login")
    assert await site.app.services.store.tasks() == []


async def test_what_another_member_has_is_not_here(site: Site) -> None:
    """A foreign chat, task, card, folder and memory are answered like ones that never were."""
    ann, bob = await logged_in(site, "ann"), await logged_in(site, "bob")
    site.model.will(WRITE)
    chat = await ann.say("secret of Ann")
    await site.reached(1, "waiting_approval")
    (site.home / "annes" / "a.txt").write_text("secret of Ann")
    for path, unknown in {
        f"/chat/{chat}": "/chat/99",
        f"/chat/{chat}/live": "/chat/99/live",
        "/tasks/1": "/tasks/99",
        "/approvals/1": "/approvals/99",
        "/files/annes": "/files/nobodys",
        "/files/annes/view?path=a.txt": "/files/nobodys/view?path=a.txt",
        "/memory?workspace=annes": "/memory?workspace=nobodys",
        "/skills?workspace=annes": "/skills?workspace=nobodys",
    }.items():
        foreign, never = await bob.get(path), await bob.get(unknown)
        assert (await ann.get(path.replace("/live", ""))).status == 200
        assert foreign.status == never.status == 404
        said = [re.sub(r"\d+|annes|nobodys", "#", seen.page.text) for seen in (foreign, never)]
        assert said[0] == said[1], path
    for path, form in {
        f"/chat/{chat}": {"text": "go on"},
        f"/chat/{chat}/title": {"title": "mine"},
        f"/chat/{chat}/archived": {"archived": "true"},
        "/tasks/1/cancel": {},
        "/approvals/1": {"verdict": "approved"},
        "/approvals/1/again": {},
    }.items():
        assert (await bob.post(path, form)).status == 404, path
    assert "secret" not in (await bob.get("/tasks")).text + (await bob.get("/approvals?show=all")).text
    assert (await site.app.services.store.task(1)).status == "waiting_approval"


async def test_only_admins_write_memory(site: Site) -> None:
    """Others see it without a form, and a form that they made up is refused."""
    bob = await logged_in(site, "bob")
    assert "memory-text" not in (await bob.get("/memory")).text
    refused = await bob.post("/memory/bobs", {"name": "MEMORY.md", "text": "mine"}, part=False)
    assert (refused.status, "not allowed" in refused.page.text) == (403, True)


async def test_a_memory_that_changed_meanwhile(site: Site, visitor: Visitor) -> None:
    """Is not overwritten, and whoever wrote is told above their text."""
    form = {"name": "MEMORY.md", "text": "one", "expected_sha256": ""}
    assert (await visitor.post("/memory/annes", form, part=False)).status == 303
    late = await visitor.post("/memory/annes", form | {"text": "two"})
    assert (late.status, late.headers["HX-Retarget"]) == (409, "#toasts")
    assert "Somebody changed this memory" in late.page.text
    assert (site.home / "annes/memory/MEMORY.md").read_text() == "one"


async def test_a_double_press_says_it_once(site: Site, visitor: Visitor) -> None:
    """The page makes a key for each thing that is said."""
    site.model.will("Hello.")
    form = {"text": "go", "key": "a-key"}
    first, second = await visitor.post("/chat", form), await visitor.post("/chat", form)
    assert first.headers["HX-Redirect"] == second.headers["HX-Redirect"]
    assert len(await site.app.services.store.tasks()) == 1


async def test_a_decision_is_made_once(site: Site, visitor: Visitor) -> None:
    """The second press, and the same without a script, show the card as it is and who was first."""
    site.model.will(WRITE, "Done.")
    await visitor.say("go", None)
    await site.reached(1, "waiting_approval")
    pressed = await visitor.post("/approvals/1", {"verdict": "approved"})
    assert "Signed off by" in pressed.page.text
    late = await visitor.post("/approvals/1", {"verdict": "denied"})
    assert late.status == 200
    assert "already decided by operator" in late.page.text
    plain = await visitor.post("/approvals/1", {"verdict": "denied"}, part=False)
    assert (plain.status, plain.headers["Location"]) == (303, "/approvals/1")
    await site.reached(1, "done")


async def test_an_unknown_effect_is_asked_about(site: Site, visitor: Visitor) -> None:
    """A verdict that is none, and an outcome on a card that does not ask for one, change nothing."""
    site.model.will(WRITE)
    await visitor.say("go")
    await site.reached(1, "waiting_approval")
    for form in (
        {},
        {"verdict": "maybe"},
        {"verdict": "approved", "outcome": "happened"},
        {"verdict": "approved", "items": "7"},
    ):
        refused = await visitor.post("/approvals/1", form)
        assert (refused.status, refused.headers["HX-Retarget"]) == (422, "#toasts"), form
    assert (await site.app.services.store.task(1)).status == "waiting_approval"


async def test_a_chat_is_renamed_archived_and_taken_back(site: Site, visitor: Visitor) -> None:
    """By plain forms; what is archived takes nothing new until it is taken back."""
    site.model.will("Hello.", "Hello again.")
    chat = await visitor.say("first")
    await site.reached(1, "done")
    await visitor.post(f"/chat/{chat}/title", {"title": "  Quarter\n one "}, part=False)
    assert "Quarter one" in (await visitor.get("/chats")).page.text
    archived = await visitor.post(f"/chat/{chat}/archived", {"archived": "true"}, part=False)
    assert archived.headers["Location"] == "/chat"
    assert "Quarter one" not in (await visitor.get("/chats")).page.text
    assert "Quarter one" in (await visitor.get("/chats/archived")).page.text
    refused = await visitor.post(f"/chat/{chat}", {"text": "more"})
    assert (refused.status, "archived" in refused.page.text) == (409, True)
    await visitor.post(f"/chat/{chat}/archived", {"archived": "false"}, part=False)
    assert (await visitor.post(f"/chat/{chat}", {"text": "more"})).status == 200
    await site.reached(2, "done")


async def test_filters_of_the_task_list(site: Site, visitor: Visitor) -> None:
    """By status, workspace, way in and person; one that there is not is refused on a page."""
    site.model.will("Hello.")
    await visitor.say("find me")
    await site.reached(1, "done")
    for query, found in {
        "status=done": True,
        "status=failed": False,
        "workspace=annes": False,
        "origin=console&requester=operator": True,
        "requester=bob": False,
        "status=": True,
    }.items():
        assert ("/tasks/1" in (await visitor.get(f"/tasks?{query}")).text) is found, query
    assert (await visitor.get("/tasks?status=sleeping")).status == 422


async def test_a_stop_that_comes_late_shows_the_end(site: Site, visitor: Visitor) -> None:
    """It is no error to be slower than the task."""
    site.model.will("Hello.")
    await visitor.say("go")
    await site.reached(1, "done")
    late = await visitor.post("/tasks/1/cancel", {})
    assert (late.status, 'data-status="done"' in late.text) == (200, True)


async def test_what_vanished_or_never_was_is_a_page(site: Site, visitor: Visitor) -> None:
    """A file that was deleted after the list was made, a path that leaves the workspace, an address that is none."""
    (site.home / "annes" / "a.txt").write_text("here")
    assert (await visitor.get("/files/annes/view?path=a.txt")).status == 200
    (site.home / "annes" / "a.txt").unlink()
    for path, status in {
        "/files/annes/view?path=a.txt": 404,
        "/files/annes/view?path=../config.yaml": 422,
        "/files/annes?path=/etc": 422,
        "/tasks/x": 404,
        "/nothing": 404,
        "/approvals/99999999999999999999": 404,
    }.items():
        seen = await visitor.get(path)
        assert (seen.status, seen.headers["Content-Type"]) == (status, "text/html; charset=utf-8"), path
        assert "To the chat" in seen.page.text
    assert (
        (await visitor.get("/files/annes/view?path=a.txt", Accept="application/json"))
        .headers["Content-Type"]
        .startswith("application/json")
    )


async def test_the_link_of_a_file_that_is_not_kept_any_more_opens_a_page(site: Site, visitor: Visitor) -> None:
    """Whoever presses it in a browser reads a sentence; a program with a token gets JSON, whatever it says it takes."""
    artifact_id = await artifact(site)
    for path in (site.home / "data" / "blobs").rglob("*"):
        if path.is_file():
            path.unlink()
    seen = await visitor.get(f"/v1/artifacts/{artifact_id}")
    assert (seen.status, seen.headers["Content-Type"]) == (404, "text/html; charset=utf-8")
    assert "is not kept any more" in seen.page.text
    program = await site.ask(ADMIN, "GET", f"/v1/artifacts/{artifact_id}", headers=PLAIN)
    assert (program.status, program.error["code"]) == (404, "gone")


async def test_too_much_is_told_as_such(tmp_path: Path) -> None:
    """A message with a file over the limit, and a field that no page sends; nothing is kept."""
    async with running(tmp_path, max_upload=1000) as site:
        visitor = await logged_in(site)
        for name, content in (("a.bin", b"x" * 1001), ("b.bin", b"x" * (FIELD_BYTES + 2000))):
            form = aiohttp.FormData({"text": "look"})
            form.add_field("files", content, filename=name)
            refused = await visitor.post("/chat", form)
            assert (refused.status, "too large" in refused.page.text) == (413, True)
        field = aiohttp.FormData({"text": "x" * (FIELD_BYTES + 1)})
        field.add_field("files", b"", filename="", content_type="application/octet-stream")
        assert (await visitor.post("/chat", field)).status == 413
        assert await site.app.services.store.tasks() == []


async def test_files_alone_are_a_request(site: Site, visitor: Visitor) -> None:
    """A name with a path in it stays in the inbox; a word with a file is a request about the file."""
    site.model.will("Seen.")
    form = aiohttp.FormData({"text": "/help"}, quote_fields=False)
    form.add_field("files", b"a,b\n", filename="../../evil.csv")
    assert (await visitor.post("/chat", form)).status == 200
    await site.reached(1, "done")
    task = await site.app.services.store.task(1)
    assert (task.prompt, task.files) == ("/help", ("inbox/evil.csv",))


async def test_words_choose_a_model_and_stop(site: Site, visitor: Visitor) -> None:
    """They act at once, and the conversation remembers."""
    site.model.will(WRITE)
    chat = await visitor.say("go")
    await site.reached(1, "waiting_approval")
    said = await visitor.post(f"/chat/{chat}", {"text": "/model fake"})
    assert "answered by fake" in said.page.text
    assert (await site.app.services.store.session(chat)).session.model == "fake"
    assert "There is no model" in (await visitor.post(f"/chat/{chat}", {"text": "/model other"})).page.text
    assert "is stopped" in (await visitor.post(f"/chat/{chat}", {"text": "/stop"})).page.text
    assert (await site.app.services.store.task(1)).status == "cancelled"
    assert "operator" in (await visitor.post("/chat", {"text": "/whoami"})).page.text
    assert "nothing was run" in (await visitor.post(f"/chat/{chat}", {"text": "/approve 1"})).page.text


async def test_a_form_without_the_token_of_its_page_is_refused(site: Site, visitor: Visitor) -> None:
    """Another site can make a browser send a form, but it does not know the token."""
    visitor.csrf = "made-up"
    refused = await visitor.post("/chat", {"text": "go"})
    assert refused.status == 403
    assert await site.app.services.store.tasks() == []


async def test_files_of_the_pages_are_cached_by_their_version(visitor: Visitor) -> None:
    """What has another content has another address."""
    html = (await visitor.get("/chat")).text
    found = re.findall(r"/static/[a-z.]+\?v=\w+", html)
    assert {path.partition("?")[0] for path in found} == {
        "/static/icon.svg", "/static/app.css", "/static/app.js", "/static/htmx.min.js",
    }  # fmt: skip
    for path in found:
        assert "immutable" in (await visitor.get(path)).headers["Cache-Control"]
        assert (await visitor.get(f"{path}0")).headers["Cache-Control"] == "no-cache"
    assert (await visitor.get("/static/pages.py")).status == 404
