"""Deciding, editing and asking for changes over `/v1`: what it does, and what is refused how."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import pytest

from agent.domain import ApproverRule
from agent.endings import expiry
from agent.ports.store import CallChange, Step, TaskState
from tests.bot.api.site import ADMIN, Answer, Site
from tests.servers.llm import Reply
from tests.storage import given

OLD, NEW = {"path": "a.md", "content": "one\n"}, {"path": "a.md", "content": "edited\n"}
TWO = ApproverRule(groups=(("approver",),), quorum=2)
LATE = datetime(2999, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, kw_only=True)
class Card:
    """The open card of a task of Ann, who may decide it, as the operator may."""

    site: Site
    task_id: int
    id: int

    async def shown(self) -> Any:
        return (await self.site.get(ADMIN, f"/v1/approvals/{self.id}")).json

    async def decide(self, who: str, verdict: str = "approved", **more: Any) -> Answer:
        return await self.site.post(who, f"/v1/approvals/{self.id}/decision", {"verdict": verdict, **more})

    async def edit(self, who: str, arguments: Any, **more: Any) -> Answer:
        return await self.site.post(who, f"/v1/approvals/{self.id}/edit", {"arguments": arguments, **more})

    async def ruled(self, rule: ApproverRule) -> None:
        """Have its items decided by other people, as a policy would."""

        def plan(state: TaskState) -> Step:
            return Step(
                call_changes=tuple(
                    CallChange(call_id=call.call_id, status=call.status, rule=rule)
                    for call in state.calls
                    if call.status == "waiting"
                )
            )

        await self.site.app.services.store.change(self.task_id, plan)

    async def decisions(self) -> list[dict[str, Any]]:
        """What the journal tells of it."""
        journal = (await self.site.get(ADMIN, f"/v1/tasks/{self.task_id}/journal")).json["journal"]
        return [entry["data"] for entry in journal if entry["kind"] == "decision"]


async def asked(site: Site, *calls: dict[str, str]) -> Card:
    """A card for some files to be written."""
    site.model.will(Reply(calls=[("write_file", call) for call in calls or (OLD,)]), "Done.")
    task_id = await site.task("ann")
    await site.reached(task_id, "waiting_approval")
    return Card(
        site=site, task_id=task_id, id=(await site.get("ann", f"/v1/tasks/{task_id}")).json["approvals"][0]["id"]
    )


async def test_what_a_card_tells(site: Site) -> None:
    """Which card of its task it is, its revision, and by name who may decide it today; nobody once it is decided."""
    card = await asked(site)
    shown = await card.shown()
    assert (shown["number"], shown["revision"], shown["requester"]) == (1, 1, "ann")
    [item] = shown["items"]
    assert item["rule"] == {"groups": [["approver"]], "other": False, "quorum": 1}
    assert (item["able"], item["votes"], item["original"], item["edited_by"]) == ([ADMIN, "ann", "bob"], [], None, None)
    [decided] = (await card.decide("ann")).json["items"]
    assert (decided["able"], decided["votes"], decided["decided_by"]) == ([], ["ann"], "ann")


async def test_an_edit_is_shown_decided_and_run(site: Site) -> None:
    """With the diff it would make; a press on what the card showed before is refused; the journal keeps both."""
    card = await asked(site)
    edited = await card.edit("ann", NEW, revision=1)
    assert (edited.status, edited.json["status"], edited.json["revision"]) == (200, "open", 2)
    [item] = edited.json["items"]
    assert (item["arguments"], item["original"], item["edited_by"]) == (NEW, OLD, "ann")
    assert "edited" in item["preview"]
    stale = await card.decide("ann", revision=1)
    assert (stale.status, stale.error["code"]) == (409, "card_changed")
    assert (await card.shown())["status"] == "open"
    assert (await card.decide("ann", revision=2)).json["status"] == "approved"
    await site.reached(card.task_id, "done")
    assert (site.home / "annes" / "a.md").read_text() == "edited\n"
    first, *_ = await card.decisions()
    assert (first["verdict"], json.loads(first["before"]), json.loads(first["after"])) == ("edited", OLD, NEW)
    assert "ann changed the arguments" in str(site.model.requests[-1]["messages"])


@pytest.mark.parametrize(
    ("arguments", "more", "status", "code"),
    [
        ({"path": "../a.md", "content": "x"}, {}, 422, "bad_arguments"),
        ({"path": "/etc/passwd", "content": "x"}, {}, 422, "bad_arguments"),
        ({"path": "a.md"}, {}, 422, "bad_arguments"),
        ({"path": "a.md", "content": 1}, {}, 422, "bad_arguments"),
        ({"path": "a.md", "content": 10**30}, {}, 422, "bad_arguments"),
        (NEW | {"colour": "red"}, {}, 422, "bad_arguments"),
        ({}, {}, 422, "bad_arguments"),
        (OLD, {}, 409, "not_changed"),
        (NEW, {"revision": 2}, 409, "card_changed"),
        (NEW, {"item": 7}, 422, "unknown_item"),
    ],
)
async def test_an_edit_that_cannot_be_changes_nothing(
    site: Site, arguments: Any, more: dict[str, Any], status: int, code: str
) -> None:
    """It is refused in a sentence, and is written down: in the journal, among the events, in the audit."""
    card = await asked(site)
    before = await card.shown()
    refused = await card.edit("ann", arguments, **more)
    assert (refused.status, refused.error["code"]) == (status, code), refused.body
    assert await card.shown() == before
    [said] = await card.decisions()
    assert (said["verdict"], said["tried"], said["by"], said["code"]) == ("refused", "edited", "ann", code)
    assert said["reason"] == refused.error["message"]
    assert await events(site, f"refused:{code}") == 1
    [row] = [row for row in (await site.get(ADMIN, "/v1/audit")).json["audit"] if row["what"] == "press_refused"]
    assert (row["who"], row["subject"], row["detail"]["code"]) == ("ann", str(card.id), code)


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "arguments"),
        ({"arguments": []}, "arguments"),
        ({"arguments": {}, "item": 0}, "item"),
        ({"arguments": {}, "item": "1"}, "item"),
        ({"arguments": {}, "revision": 0}, "revision"),
        ({"arguments": {}, "reason": "x"}, "reason"),
    ],
)
async def test_a_body_that_is_no_edit(site: Site, body: Any, field: str) -> None:
    """422 with the name of what is wrong."""
    answer = await site.post("ann", "/v1/approvals/1/edit", body)
    assert (answer.status, answer.error["field"]) == (422, field)


async def test_changes_go_back_to_the_model(site: Site) -> None:
    """Nothing of the card runs, also of what was not named; whoever asked may do it without being an approver."""
    card = await asked(site, OLD, {"path": "b.md", "content": "two\n"})
    await card.ruled(ApproverRule(groups=((ADMIN,),)))
    for more, field in (({}, "reason"), ({"reason": " "}, "reason"), ({"reason": "x", "items": [1]}, "items")):
        refused = await card.decide("ann", "changes", **more)
        assert (refused.status, refused.error.get("field")) == (422, field)
    wanted = await card.decide("ann", "changes", reason="In German, please")
    assert (wanted.status, wanted.json["status"], wanted.json["decided_by"]) == (200, "changes", "ann")
    assert {(item["status"], item["reason"]) for item in wanted.json["items"]} == {("denied", "In German, please")}
    await site.reached(card.task_id, "done")
    assert list((site.home / "annes").iterdir()) == []
    assert "ann wants it changed: In German, please" in str(site.model.requests[-1]["messages"])
    late = await card.decide(ADMIN, "changes", reason="In French")
    assert (late.status, late.error["code"]) == (409, "already_decided")


async def test_two_people_have_to_approve(site: Site) -> None:
    """The first vote decides nothing, the same person's second is refused, and an edit begins the count anew."""
    card = await asked(site)
    await card.ruled(TWO)
    first = await card.decide("ann")
    assert (first.status, first.json["status"], first.json["items"][0]["votes"]) == (200, "open", ["ann"])
    again = await card.decide("ann")
    assert (again.status, again.error["code"]) == (409, "voted_already")
    assert (await card.edit(ADMIN, NEW)).json["items"][0]["votes"] == []
    assert (await card.decide(ADMIN)).json["status"] == "open"
    assert (await card.decide("ann")).json["status"] == "approved"
    await site.reached(card.task_id, "done")
    assert [said.get("vote") for said in await card.decisions()] == [1, None, None, 1, None]


async def test_one_denial_ends_a_count_of_votes(site: Site) -> None:
    """Also by somebody who has approved before."""
    card = await asked(site)
    await card.ruled(TWO)
    await card.decide("ann")
    assert (await card.decide("ann", "denied", reason="no")).json["status"] == "denied"
    await site.reached(card.task_id, "done")


async def test_a_quorum_that_cannot_be_met(site: Site) -> None:
    """An approval is refused, a denial is not."""
    card = await asked(site)
    await card.ruled(ApproverRule(groups=(("ann",),), quorum=2))
    refused = await card.decide("ann")
    assert (refused.status, refused.error["code"]) == (409, "quorum_impossible")
    assert "there is only ann" in refused.error["message"]
    assert (await card.decide("ann", "denied")).status == 200
    await site.reached(card.task_id, "done")


async def test_whoever_may_not_decide(site: Site) -> None:
    """403 for somebody who sees the card, 404 for somebody who does not; both are written down in its task."""
    card = await asked(site)
    await card.ruled(ApproverRule(groups=((ADMIN, "bob"),)))
    for answer in (await card.decide("ann"), await card.edit("ann", NEW)):
        assert (answer.status, answer.error["code"]) == (403, "not_an_approver")
        assert f"it is for {ADMIN} or bob" in answer.error["message"]
    for answer in (await card.decide("bob"), await card.edit("bob", NEW)):
        assert (answer.status, answer.error["message"]) == (404, f"There is no approval {card.id}.")
    assert [(said["by"], said["tried"]) for said in await card.decisions()] == [
        ("ann", "approved"),
        ("ann", "edited"),
        ("bob", "approved"),
        ("bob", "edited"),
    ]
    unknown = Card(site=site, task_id=card.task_id, id=99)
    assert (await unknown.decide("ann")).status == (await unknown.edit("ann", NEW)).status == 404
    assert await events(site, "refused:not_found") == 4, "of an unknown card, too"


async def test_a_card_that_expired(site: Site) -> None:
    """Every word about it comes too late; it is asked again once, by whoever sees it, and that is another task."""
    card = await asked(site)
    await site.app.services.store.change(card.task_id, lambda state: expiry(state, state.approvals[0], LATE))
    for late in (
        await card.decide("ann"),
        await card.edit("ann", NEW),
        await card.decide("ann", "changes", reason="x"),
    ):
        assert (late.status, late.error["code"]) == (409, "already_decided")
        assert "has expired; nothing was run" in late.error["message"]
    site.model.will("Not needed.")
    path = f"/v1/approvals/{card.id}/ask-again"
    again, twice = await site.post("ann", path), await site.post(ADMIN, path)
    assert (again.status, again.json["task_id"]) == (201, twice.json["task_id"])
    assert (await site.post("bob", path)).status == 404
    await site.reached(again.json["task_id"], "done")
    [listed] = (await site.get("ann", "/v1/approvals?status=expired")).json["approvals"]
    assert (listed["id"], listed["items"][0]["able"]) == (card.id, [])


async def test_a_second_card_of_a_task(site: Site) -> None:
    """The file changed after the person looked: it is shown anew, and says that it is the second and why."""
    card = await asked(site)
    (site.home / "annes" / "a.md").write_text("of somebody else\n")
    await card.decide("ann")
    await site.reached(card.task_id, "waiting_approval")
    first, second = (await site.get("ann", f"/v1/tasks/{card.task_id}")).json["approvals"]
    assert [(one["number"], one["status"]) for one in (first, second)] == [(1, "approved"), (2, "open")]
    assert "changed since" in second["note"]
    assert "New file" in first["items"][0]["preview"]
    assert "-of somebody else" in second["items"][0]["preview"]
    listed = (await site.get("ann", "/v1/approvals")).json["approvals"]
    assert listed == [second, first]


async def events(site: Site, outcome: str) -> int:
    """How many events had an outcome."""
    statement = "SELECT count(*) FROM received WHERE outcome = :outcome"
    return int(await given.sql(site.app.services.store, statement, outcome=outcome))
