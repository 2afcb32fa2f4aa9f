"""A card in each of its states: what is asked, what is offered, what it says when it is settled."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from bot.api.approvals import ApprovalView, ItemView
from bot.web.rendering import Rendering
from bot.web.sheets import new_sheets
from tests.bot.web.page import Page

NOW = datetime(2026, 3, 2, 8, 0, tzinfo=UTC)
rendering = Rendering()


def item(number: int = 1, **changes: Any) -> ItemView:
    given = {
        "item": number, "tool": "write_file", "capability": "file:write", "arguments": {"path": "a.md"},
        "title": "Write a.md", "preview": "New file a.md: 2 bytes, 1 line\n\nx\n", "status": "waiting", "reason": "",
    }  # fmt: skip
    return ItemView.model_validate(given | changes)


def card(*items: ItemView, may: bool = True, **changes: Any) -> Page:
    given = {
        "id": 7, "task_id": 1, "kind": "change", "status": "open", "approvers": ["approver"],
        "items": items or (item(),), "note": "", "created_at": NOW, "expires_at": NOW,
        "decided_by": None, "decided_at": None,
    }  # fmt: skip
    view = ApprovalView.model_validate(given | changes)
    html = rendering.render(
        "card.html",
        card=view,
        note="",
        zone="UTC",
        now=NOW,
        csrf="token",
        decides=lambda card: may and card.status == "open",
    )
    page = Page(html)
    assert list(page.dangers()) == []
    return page


def buttons(page: Page) -> list[dict[str, str]]:
    """What the forms of a card would send, without the token."""
    sent: list[dict[str, str]] = []
    for element in page.elements:
        if element.tag == "form":
            sent.append({})
        if element.tag == "input" and element.attributes.get("name") != "csrf_token":
            sent[-1][element.attributes["name"]] = element.attributes.get("value", "")
    return sent


def test_one_change() -> None:
    """Approve, or deny with a reason."""
    assert buttons(card()) == [{"verdict": "denied", "reason": ""}, {"verdict": "approved"}]


def test_several_changes() -> None:
    """Each with a verdict of its own, as long as it has none, and one for all that are left."""
    page = card(item(1), item(2, status="denied", reason="too long"), item(3))
    assert buttons(page) == [
        {"verdict": "approved", "items": "1"},
        {"verdict": "denied", "items": "1", "reason": ""},
        {"verdict": "approved", "items": "3"},
        {"verdict": "denied", "items": "3", "reason": ""},
        {"verdict": "denied", "reason": ""},
        {"verdict": "approved"},
    ]
    assert "Reason: too long" in page.text


def test_an_effect_that_is_unknown() -> None:
    """Three things a person can say of it, and no verdict."""
    page = card(item(status="unknown"), kind="outcome")
    assert "Did this happen?" in page.text
    assert [form["outcome"] for form in buttons(page)] == ["happened", "again", "skip"]


def test_somebody_who_may_not_decide() -> None:
    """Sees all of it and for whom it waits; with nobody named, what an admin has to do."""
    page = card(may=False)
    assert buttons(page) == []
    assert "Waits for: approver." in page.text
    assert "Nobody may approve this" in card(may=False, approvers=[]).text


@pytest.mark.parametrize(
    ("status", "said"),
    [
        ("approved", "Signed off by Ann"),
        ("denied", "Denied by Ann"),
        ("changes", "Denied by Ann"),
        ("expired", "Expired, nothing was run"),
        ("cancelled", "Cancelled, nothing was run"),
        ("superseded", "Replaced by a newer card"),
    ],
)
def test_a_settled_card(status: str, said: str) -> None:
    """Says what became of it and offers nothing more, but to ask again when it expired."""
    page = card(item(status="done"), status=status, decided_by="Ann", decided_at=NOW)
    assert said in " ".join(page.text.split())
    actions = [element.attributes["action"] for element in page.elements if element.tag == "form"]
    assert actions == (["/approvals/7/again"] if status == "expired" else [])


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
