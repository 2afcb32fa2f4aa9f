"""What is said in the console: a request, the answer to an open card, a chat word; each once."""

from __future__ import annotations

from aiohttp import FormData

from tests.bot.api.site import Site
from tests.bot.web.visitor import Visitor, logged_in
from tests.servers.llm import Reply

NOTE = Reply(calls=[("write_file", {"path": "note.md", "content": "# Note\n"})])


async def waiting(site: Site, visitor: Visitor) -> tuple[int, int]:
    """A chat in which a card is open, and its task."""
    session_id = await visitor.say("Write a note")
    [task] = [one for one in await site.app.services.store.tasks() if one.session_id == session_id]
    await site.reached(task.task_id, "waiting_approval")
    return session_id, task.task_id


async def test_a_plain_answer_asks_for_changes(site: Site) -> None:
    """No second turn appears: the page has that task already, and sees how it goes on."""
    site.model.will(NOTE, "By region, then.")
    ann = await logged_in(site, "ann")
    session_id, task_id = await waiting(site, ann)
    seen = await ann.post(f"/chat/{session_id}", {"text": "by region", "key": "a"})
    assert (seen.status, seen.text) == (204, "")
    await site.reached(task_id, "done")
    state = await site.app.services.store.load(task_id)
    assert [card.status for card in state.approvals] == ["changes"]
    assert (await ann.post(f"/chat/{session_id}", {"text": "by region", "key": "a"})).status == 204
    assert len(await site.app.services.store.tasks()) == 1
    [act] = await site.app.services.access.audits(what="approval_decided")
    assert (act.who, act.detail["verdict"], act.way) == ("ann", "changes", "console")


async def test_a_program_that_may_not_decide_only_asks(site: Site) -> None:
    """What it says while a card is open waits behind it: nothing is denied by a token without that scope."""
    site.model.will(NOTE)
    session_id, task_id = await waiting(site, await logged_in(site, "ann"))
    token = await site.token("ann", ["tasks:write", "tasks:read"])
    body = {"text": "by region", "session_id": session_id}
    answer = await site.post(None, "/v1/tasks", body, headers={"Authorization": f"Bearer {token}"})
    assert (answer.status, answer.json["status"]) == (201, "queued")
    assert answer.json["task_id"] != task_id
    assert (await site.app.services.store.task(task_id)).status == "waiting_approval"


async def test_a_word_said_twice_is_done_once(site: Site, visitor: Visitor) -> None:
    """A double press on Send begins one conversation, and stops one task."""
    site.model.will(NOTE)
    first, task_id = await waiting(site, visitor)
    form = FormData({"text": "And then that"})
    form.add_field("files", b"x", filename="a.txt")
    assert (await visitor.post(f"/chat/{first}", form)).status == 200, "with a file it waits behind the card"
    new = [await visitor.post(f"/chat/{first}", {"text": "/new", "key": "n"}) for _ in range(2)]
    assert new[0].headers["HX-Redirect"] == new[1].headers["HX-Redirect"] != f"/chat/{first}"
    said = [await visitor.post(f"/chat/{first}", {"text": "/stop", "key": "s"}) for _ in range(2)]
    assert [f"Task {task_id} is stopped" in seen.text for seen in said] == [True, True]
    by_status = {task.status for task in await site.app.services.store.tasks() if task.task_id > task_id}
    assert "cancelled" not in by_status


async def test_a_typed_verdict_counts_like_a_button(site: Site) -> None:
    """Its answer says what became of it; a refused one is shown as such, and both are events."""
    site.model.will(NOTE, "Written.")
    ann = await logged_in(site, "ann")
    session_id, task_id = await waiting(site, ann)
    refused = await ann.post(f"/chat/{session_id}", {"text": "/approve 99", "key": "r"})
    assert "There is no approval 99." in refused.text
    assert "problem-line" in refused.text
    approved = await ann.post(f"/chat/{session_id}", {"text": "/approve 1", "key": "a"})
    assert "Approval 1: approved by ann." in approved.text
    await site.reached(task_id, "done")
    rows = [await site.app.services.store.received(f"console:ann:key:page:{key}") for key in "ra"]
    assert [row and (row.kind, row.outcome) for row in rows] == [("press", "refused:not_found"), ("press", "decided")]
