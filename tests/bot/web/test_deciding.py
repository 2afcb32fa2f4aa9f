"""What the forms of a card send, and what is answered: edits letter by letter, and what cannot be taken."""

from __future__ import annotations

import json
from typing import Any

from tests.bot.api.site import ADMIN, Site
from tests.bot.web.visitor import Visitor, logged_in
from tests.servers.llm import Reply

SHEET: tuple[str, dict[str, Any]] = ("write_sheet", {"path": "t.xlsx", "sheets": [{"name": "T", "rows": [["A"]]}]})


async def asked(site: Site, *calls: tuple[str, dict[str, Any]]) -> Visitor:
    """Ann, whose task waits with approval 1."""
    ann = await logged_in(site, "ann")
    site.model.will(Reply(calls=calls), "Done.")
    await ann.say("go")
    await site.reached(1, "waiting_approval")
    return ann


def write(content: str) -> tuple[str, dict[str, Any]]:
    return "write_file", {"path": "a.md", "content": content}


async def arguments(site: Site) -> dict[str, str]:
    """What would run now."""
    [item] = (await site.get("ann", "/v1/approvals/1")).json["items"]
    return dict(item["arguments"])


async def test_line_ends_are_those_of_the_file(site: Site) -> None:
    """A browser sends every one as CRLF: a file that has them keeps them, any other has none."""
    ann = await asked(site, write("one\ntwo\n"))
    form = {"item": "1", "revision": "1", "argument.path": "a.md", "argument.content": "one\r\nmore\r\n"}
    shown = await ann.post("/approvals/1/edit", form)
    assert (shown.status, 'data-revision="2"' in shown.text) == (200, True)
    assert (await arguments(site))["content"] == "one\nmore\n"
    await site.post("ann", "/v1/approvals/1/edit", {"arguments": {"path": "a.md", "content": "one\r\ntwo\r\n"}})
    plain = await ann.post("/approvals/1/edit", form | {"revision": "3"}, part=False)
    assert (plain.status, plain.headers["Location"]) == (303, "/approvals/1")
    assert (await arguments(site))["content"] == "one\r\nmore\r\n"


async def test_an_argument_that_is_no_json(site: Site) -> None:
    """Is told with its name, and is a try like any other: in the journal, among the events, in the audit."""
    ann = await asked(site, SHEET)
    form = {"item": "1", "revision": "1", "argument.path": "t.xlsx", "argument.sheets": '[{"name": "T", rows}]'}
    refused = await ann.post("/approvals/1/edit", form)
    assert (refused.status, refused.headers["HX-Retarget"]) == (422, "#toasts")
    assert "sheets: write the value as JSON" in refused.page.text
    journal = (await site.get("ann", "/v1/tasks/1/journal")).json["journal"]
    [said] = [entry["data"] for entry in journal if entry["kind"] == "decision"]
    assert (said["verdict"], said["tried"], said["by"], said["code"]) == ("refused", "edited", "ann", "bad_arguments")
    rows = (await site.get(ADMIN, "/v1/audit?what=press_refused")).json["audit"]
    assert [(row["who"], row["subject"], row["detail"]["items"]) for row in rows] == [("ann", "1", [1])]
    edited = await ann.post(
        "/approvals/1/edit", form | {"argument.sheets": json.dumps([{"name": "U", "rows": [["B"]]}])}
    )
    assert (edited.status, "U" in edited.page.text) == (200, True)


async def test_what_was_written_for_an_old_card_comes_back(site: Site) -> None:
    """With the card as it is now, and its form open."""
    ann = await asked(site, write("one\n"))
    await site.post(ADMIN, "/v1/approvals/1/edit", {"arguments": {"path": "a.md", "content": "of the operator\n"}})
    form = {"item": "1", "revision": "1", "argument.path": "a.md", "argument.content": "of Ann\r\n"}
    late = await ann.post("/approvals/1/edit", form)
    assert (late.status, "Look again, then decide." in late.page.text) == (200, True)
    assert "of Ann" in late.text
    assert 'id="edit-1-1" open' in late.text
    assert (await arguments(site))["content"] == "of the operator\n"


async def test_forms_that_no_page_sends(site: Site) -> None:
    """An item that is not there, none at all, a card of somebody else, arguments that the tool does not know."""
    ann = await asked(site, write("one\n"))
    for form, status in (
        ({"item": "7", "argument.path": "b.md"}, 422),
        ({"item": "", "argument.path": "b.md"}, 422),
        ({"item": "1", "revision": "x", "argument.path": "a.md"}, 200),
        ({"item": "1", "argument.colour": "red"}, 200),
    ):
        assert (await ann.post("/approvals/1/edit", form)).status == status, form
    assert await arguments(site) == {"path": "a.md", "content": "one\n"}
    bob = await logged_in(site, "bob")
    for path in ("/approvals/1/edit", "/approvals/99/edit"):
        assert (await bob.post(path, {"item": "1", "argument.path": "b.md"})).status == 404
