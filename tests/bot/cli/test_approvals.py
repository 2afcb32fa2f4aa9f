"""`approvals`, `approve`, `deny`, `changes`, `edit` as processes: what the operator reads and says at the terminal."""

from __future__ import annotations

import pytest

from tests.bot.conftest import Home

pytestmark = pytest.mark.slow


@pytest.fixture
def asked(home: Home) -> Home:
    """Approval 1 waits, for two files."""
    home.signoff("ask", "write", code=3)
    return home


def test_a_card_is_read_edited_and_approved(asked: Home) -> None:
    """With the words that are understood here; what runs is what was written, to its last line end."""
    read = asked.signoff("approvals").out
    for said in (
        "Approval 1 (task 1): please decide",
        "operator: write",
        "1. Write",
        "For approver.",
        "signoff deny 1",
    ):
        assert said in read, said
    assert "/approve" not in read
    (asked.folder / "mine.txt").write_bytes(b"mine\r\nand more\r\n")
    shown = asked.signoff("edit", "1", "--item", "2", "--argument", f"content=@{asked.folder / 'mine.txt'}").out
    assert "Item 2 was edited by operator." in shown
    assert "and more" in shown
    shown = asked.signoff("edit", "1", "--argument", "path=c.md", "--argument", "content=C").out
    assert "Write new file c.md" in shown
    assert asked.signoff("approve", "1").out == "Approval 1: items 1, 2 approved by operator.\n"
    asked.signoff("ask", "hi")
    assert (asked.folder / "office/b.md").read_bytes() == b"mine\r\nand more\r\n"
    assert (asked.folder / "office/c.md").read_text() == "C"
    assert not (asked.folder / "office/a.md").exists()
    told = asked.signoff("tasks", "1").out
    for said in ("• operator edited item 2", "• operator edited item 1", "• operator approved items 1, 2"):
        assert said in told, said


def test_items_are_decided_apart(asked: Home) -> None:
    """Each word says what became of which item, and what is left."""
    denied = asked.signoff("deny", "1", "--item", "2", "--reason", "not this one").out
    assert denied == "Approval 1: item 2 denied by operator: not this one. 1 item still waits for a decision.\n"
    assert asked.signoff("approve", "1").out == "Approval 1: item 1 approved by operator.\n"


def test_changes_are_asked_for(asked: Home) -> None:
    """Nothing of the card is run, and the agent goes on."""
    said = asked.signoff("changes", "1", "--reason", "shorter").out
    assert said == "Approval 1: nothing of it is run, and what should be different goes back to the agent.\n"
    asked.signoff("ask", "hi")
    assert list((asked.folder / "office").glob("*.md")) == []
    [card] = asked.signoff("tasks", "1", "--json").json["approvals"]
    assert (card["status"], [item["reason"] for item in card["items"]]) == ("changes", ["shorter", "shorter"])


REFUSED = [
    (("edit", "1", "--argument", "path=../x"), "../x leaves the workspace"),
    (("edit", "1", "--argument", "content=A\n"), "Nothing was changed"),
    (("edit", "1", "--argument", "colour=red"), "colour"),
    (("edit", "1", "--argument", "content"), "write NAME=VALUE"),
    (("edit", "1", "--argument", "content=@/no/such/file"), "cannot be read as UTF-8 text"),
    (("edit", "1", "--argument", "content=@/dev/zero"), "/dev/zero is no file"),
    (("edit", "1", "--item", "9", "--argument", "content=x"), "has the items 1 to 2; 9 is none of them"),
    (("edit", "7", "--argument", "content=x"), "There is no approval 7."),
    (("changes", "1", "--reason", " "), "Say what should be different."),
    (("changes", "7", "--reason", "x"), "There is no approval 7."),
    (("approve", "1", "--item", "9"), "has the items 1 to 2; 9 is none of them"),
    (("approve", "1", "--outcome", "again"), "An outcome is only for a card that asks"),
]


def test_what_cannot_be_is_one_line(asked: Home) -> None:
    """Exit 2, nothing on stdout, what is wrong and what to do; the card is as it was."""
    before = asked.signoff("approvals").out
    for arguments, said in REFUSED:
        refused = asked.signoff(*arguments, code=2)
        assert (refused.out, refused.err.count("\n")) == ("", 1), arguments
        assert said in refused.err, arguments
    assert asked.signoff("approvals").out == before
    told = asked.signoff("tasks", "1").out
    assert "• operator tried to edit item 1 and was refused: " in told
