"""A card in each of its states: what is asked, what is offered, what it says when it is settled."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from agent.domain import Member
from bot.api.approvals import ApprovalView, ItemView
from bot.api.viewer import SCOPES, Viewer
from bot.web.rendering import Rendering
from bot.web.rights import rights
from bot.web.sheets import new_sheets
from bot.web.work import Draft
from tests.bot.web.page import Page

NOW = datetime(2026, 3, 2, 8, 0, tzinfo=UTC)
RULE = {"groups": [["approver"]], "other": False, "quorum": 1}
rendering = Rendering()


def item(number: int = 1, **changes: Any) -> ItemView:
    """One that Ann and Bob may decide, unless it is decided already."""
    status = changes.get("status", "waiting")
    given = {
        "item": number, "tool": "write_file", "capability": "file:write", "arguments": {"path": "a.md"},
        "title": "Write a.md", "preview": "New file a.md: 2 bytes, 1 line\n\nx\n", "status": status, "reason": "",
        "rule": RULE, "able": ["Ann", "Bob"] if status in {"waiting", "unknown"} else [], "votes": [],
        "decided_by": None, "original": None, "edited_by": None,
    }  # fmt: skip
    return ItemView.model_validate(given | changes)


def shown(*items: ItemView, **changes: Any) -> ApprovalView:
    given = {
        "id": 7, "task_id": 1, "number": 1, "requester": "Eve", "kind": "change", "status": "open", "revision": 3,
        "items": items or (item(),), "note": "", "created_at": NOW, "expires_at": NOW, "remind_at": NOW,
        "decided_by": None, "decided_at": None,
    }  # fmt: skip
    return ApprovalView.model_validate(given | changes)


def card(*items: ItemView, by: str = "Ann", note: str = "", draft: Draft | None = None, **changes: Any) -> Page:
    """A card as somebody sees it."""
    viewer = Viewer(member=Member(name=by), scopes=SCOPES, workspaces=None, way="console")
    html = rendering.render(
        "card.html",
        card=shown(*items, **changes),
        note=note,
        draft=draft,
        zone="UTC",
        now=NOW,
        csrf="token",
        viewer=viewer,
        rights_to=lambda card: rights(viewer, card),
    )
    page = Page(html)
    assert list(page.dangers()) == []
    return page


def forms(page: Page) -> list[tuple[str, dict[str, str]]]:
    """Where the forms of a card go and what they would send, without the token and the revision that each sends."""
    sent: list[tuple[str, dict[str, str]]] = []
    for element in page.elements:
        attributes = element.attributes
        if element.tag == "form":
            sent.append((attributes["action"].removeprefix("/approvals/7"), {}))
        if element.tag in {"input", "textarea"}:
            sent[-1][1][attributes["name"]] = attributes.get("value", "")
    for where, fields in sent:
        assert fields.pop("csrf_token") == "token"
        assert where == "/again" or fields.pop("revision") == "3", "an old card is not decided by mistake"
    return sent


def words(page: Page) -> str:
    return " ".join(page.text.split())


CHANGES = ("", {"verdict": "changes", "reason": ""})
EDIT = ("/edit", {"item": "1", "argument.path": ""})


def test_one_change() -> None:
    """Edit, have it proposed differently, deny with a reason, approve."""
    assert forms(card()) == [
        EDIT,
        CHANGES,
        ("", {"verdict": "denied", "reason": ""}),
        ("", {"verdict": "approved"}),
    ]


def test_several_changes() -> None:
    """Each with a verdict of its own, as long as it has none, and one for all that are left."""
    page = card(item(1), item(2, status="denied", reason="too long"), item(3))
    assert forms(page) == [
        ("", {"verdict": "approved", "items": "1"}),
        EDIT,
        ("", {"verdict": "denied", "items": "1", "reason": ""}),
        ("", {"verdict": "approved", "items": "3"}),
        ("/edit", {"item": "3", "argument.path": ""}),
        ("", {"verdict": "denied", "items": "3", "reason": ""}),
        CHANGES,
        ("", {"verdict": "denied", "reason": ""}),
        ("", {"verdict": "approved"}),
    ]
    assert "Reason: too long" in page.text
    assert "Approve all (2)" in page.text


def test_an_effect_that_is_unknown() -> None:
    """Three things a person can say of it, of several for each of them, too; nothing to edit or to deny."""
    page = card(item(status="unknown"), kind="outcome")
    assert "Did this happen?" in page.text
    said = [{"verdict": "approved", "outcome": outcome} for outcome in ("happened", "again", "skip")]
    assert [fields for _, fields in forms(page)] == said
    several = forms(card(item(1, status="unknown"), item(2, status="unknown"), kind="outcome"))
    assert [fields.get("items", "all") for _, fields in several] == ["1"] * 3 + ["2"] * 3 + ["all"] * 3


def test_somebody_who_may_not_decide() -> None:
    """Sees all of it and for whom it waits; whoever asked may still have it proposed differently."""
    page = card(by="Cem")
    assert forms(page) == []
    assert "Waits for Ann or Bob." in page.text
    assert forms(card(by="Eve")) == [CHANGES]
    assert forms(card(item(status="unknown"), by="Eve", kind="outcome")) == []


def test_items_for_different_people() -> None:
    """Whoever may decide some of them decides these, and sees whom the others wait for."""
    page = card(item(1), item(2, able=["Bob"]), item(3, able=["Bob"]))
    assert [fields["items"] for _, fields in forms(page) if "items" in fields] == ["1", "1"]
    assert "exactly what you see here. Items 2, 3: Waits for Bob." in words(page)
    for name in ("Bob", "Cem"):
        assert ("Waits for" in card(item(1), item(2, able=["Bob"]), by=name).text) is (name == "Cem")
    assert "Approve 1 of 3" in page.text
    assert "Deny 1 of 3 …" in page.text


def test_two_have_to_approve() -> None:
    """It says how far they are; whoever has approved is told who is missing and can only take it back by a denial."""
    rule = {"groups": [["approver"]], "other": True, "quorum": 2}
    one = item(rule=rule, able=["Ann", "Bob", "Cem"])
    assert "Waits for 2 of Ann, Bob or Cem. Eve, who asked, may not." in words(card(one, by="Dan"))
    voted = one.model_copy(update={"votes": ["Ann"]})
    page = card(voted)
    for said in ("1 of 2 approved", "Approved by Ann. That is you", "Waits for Bob or Cem."):
        assert said in words(page), said
    assert [fields["verdict"] for where, fields in forms(page) if not where] == ["changes", "denied"]
    assert [fields["verdict"] for where, fields in forms(card(voted, by="Bob")) if not where][-1] == "approved"


def test_what_nobody_can_approve() -> None:
    """Says what an admin has to do; whoever fits the rule can still deny it."""
    nobody = card(item(able=[]))
    assert forms(nobody) == []
    assert "Nobody may approve this: it takes approver, and there is no such person. An admin adds" in words(nobody)
    alone = card(item(rule=RULE | {"quorum": 2}, able=["Ann"]))
    assert "there is only Ann" in words(alone)
    assert [fields["verdict"] for where, fields in forms(alone) if not where] == ["changes", "denied"]


def test_many_who_may_decide_are_not_all_named() -> None:
    """A card stays a card."""
    page = card(item(able=[f"P{number}" for number in range(200)]), by="Eve")
    assert "Waits for P0, P1, P2, P3, P4 or 195 others." in page.text


def test_why_a_card_looks_as_it_does() -> None:
    """Which card of its task, that it was brought to mind, why it was made anew, and who changed what."""
    edited = item(arguments={"path": "b.md"}, original={"path": "a.md"}, edited_by="Bob")
    page = card(edited, number=2, remind_at=None, note="Look again.")
    for said in ("card 2 of task 1", "a reminder was sent", "Bob changed what the agent had proposed", "Look again."):
        assert said in words(page), said
    assert "a.md" in page.text


def test_what_was_written_for_a_card_that_changed_is_kept() -> None:
    """In the open form of its item, and only there."""
    page = card(item(1), item(2), draft=Draft(item=2, fields={"path": "mine.md"}))
    assert page.text.count("mine.md") == 1
    details = [element.attributes for element in page.elements if element.tag == "details"]
    assert [one["id"] for one in details if "open" in one] == ["edit-7-2"]


def test_an_argument_that_is_no_text_is_edited_as_json() -> None:
    """With its name, and as long as it takes; a text is there letter by letter."""
    page = card(item(arguments={"path": "\na", "sheets": [{"name": "T"}]}))
    assert "sheets (JSON)" in page.text
    assert '"name": "T"' in page.text
    fields = [element.attributes for element in page.elements if element.tag == "textarea"]
    assert [(one["name"], one["rows"]) for one in fields] == [("argument.path", "12"), ("argument.sheets", "12")]


@pytest.mark.parametrize(
    ("status", "said"),
    [
        ("approved", "Signed off by Ann"),
        ("denied", "Denied by Ann"),
        ("changes", "Changes requested by Ann"),
        ("expired", "Expired, nothing was run"),
        ("cancelled", "Cancelled, nothing was run"),
        ("superseded", "Replaced by a newer card"),
    ],
)
def test_a_settled_card(status: str, said: str) -> None:
    """Says what became of it and offers nothing more, but to ask again when it expired."""
    page = card(item(status="done"), status=status, decided_by="Ann", decided_at=NOW)
    assert said in words(page)
    assert forms(page) == ([("/again", {})] if status == "expired" else [])


def test_a_call_without_a_preview_shows_what_would_run() -> None:
    """Its name and all of its arguments."""
    page = card(item(preview="", tool="own", arguments={"deep": {"x": "<b>"}}))
    assert '"x": "<b>"' in page.text


SHEETS = {
    "sheets": [{"name": "T", "rows": [["A", 1, None], [{"number": "2.50"}, {"date": "2026-03-02"}, True], [{"x": 1}]]}]
}


def test_a_new_sheet_is_shown_as_one() -> None:
    """Every cell as it will be, also one that is not understood; anything but a new file keeps its text."""
    new = item(tool="write_sheet", arguments=SHEETS, preview="New file a.xlsx: 9 bytes")
    [sheet] = new_sheets(new)
    assert sheet.rows == [["A", "1", ""], ["2.50", "2026-03-02", "true"], ['{"x": 1}']]
    assert "The same as text" in card(new).text
    others: list[dict[str, Any]] = [
        {"preview": "T!A1: 1 → 2"},
        {"tool": "write_file"},
        {"arguments": {"sheets": "none"}},
        {"arguments": []},
    ]
    for changes in others:
        assert new_sheets(new.model_copy(update=changes)) == []


def test_whoever_edited_an_item_is_not_offered_to_sign_it_off() -> None:
    """Where the policy asks for another person; they can still deny and edit it, and it says who may not."""
    rule = RULE | {"other": True}
    edited = item(rule=rule, original={"path": "b.md"}, edited_by="Ann")
    assert "approved" not in {fields.get("verdict") for _, fields in forms(card(edited))}
    assert {"denied", "changes"} <= {fields.get("verdict") for _, fields in forms(card(edited))}
    assert "Waits for Bob. Neither Eve, who asked, nor Ann, who edited it, may." in words(card(edited))
    assert "approved" in {fields.get("verdict") for _, fields in forms(card(edited, by="Bob"))}
    only = item(rule=rule, original={"path": "b.md"}, edited_by="Ann", able=["Ann"])
    assert "Nobody may approve this" in words(card(only))
