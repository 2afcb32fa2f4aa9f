"""Cards as they are drawn: read by a person once, and within every limit whatever is on them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent.buttons import Value
from agent.cards import card
from agent.domain import Call
from agent.ports.channels import Card
from channels.telegram.cards import CardMessage, full_copy, messages
from channels.telegram.text import MESSAGE_UNITS, units
from tests.agent.waiting import PEOPLE, call, waiting
from tests.channels.telegram.shown import entities, legal
from tests.golden.compare import assert_golden

DIFF = "--- report.md\n+++ report.md\n@@ -1 +1 @@\n-Total: 4\n+Total: <b>5</b> [x](tg://user?id=1)"


def drawn(*calls: Call, **changes: Any) -> Card:
    """A card with these items."""
    state = waiting(*calls, **changes)
    return card(state.approvals[0], state.task, PEOPLE)


def seen(message: CardMessage) -> dict[str, Any]:
    """A message as a person sees it: its words, what is formatted in them, and the rows of buttons."""
    return {
        "text": message.part.text.split("\n"),
        "formats": [f"{kind}: {words}" for kind, words in entities(message.part)],
        "buttons": [[button.label for button in row] for row in message.rows],
    }


CARDS = {
    "card": drawn(call(preview=DIFF)),
    "card-noted": drawn(call(edited_by="bob", original="{}"), note="The file has changed since.", revision=2),
    "card-batch": drawn(call(1), call(2, preview=DIFF), call(3, status="denied", decided_by="cid", reason="Too much.")),
    "card-outcome": drawn(call(status="unknown", title="Send mail to eve@example.org")),
    "card-approved": drawn(
        call(status="approved", decided_by="bob", preview=DIFF), status="approved", decided_by="bob"
    ),
    "card-expired": drawn(call(status="expired"), status="expired"),
    "card-many": drawn(*(call(number) for number in range(1, 31))),
}


@pytest.mark.parametrize("name", CARDS)
def test_a_card_looks_as_it_did(name: str) -> None:
    """The files beside this test are what people have looked at."""
    assert_golden(f"telegram/{name}", [seen(message) for message in messages(CARDS[name])])


def test_a_button_carries_its_token_and_nothing_else() -> None:
    """TGB-01 TGB-02: 64 bytes at most, whatever the tool and its arguments are called."""
    long = Value(token="x" * 32, revision=999_999_999, verb="happened", item=9_999)
    assert len(str(long).encode()) <= 64
    named = drawn(call(tool="инструмент" * 9, title="写" * 300))
    buttons = [button for message in messages(named) for row in message.rows for button in row]
    assert {button.value for button in buttons} == {"t:1:approve", "t:1:deny", "t:1:edit:1", "t:1:changes"}


def test_every_item_of_a_batch_has_its_row() -> None:
    """Which one it is stands on the button; what decides all of them is below the last."""
    made = messages(drawn(*(call(number) for number in range(1, 11))))
    first, last = ([[button.label for button in row] for row in message.rows] for message in made)
    assert first == [[f"{n}. Approve", f"{n}. Deny…", f"{n}. Edit…"] for n in range(1, 9)]
    assert last[-2:] == [["Approve all (10)", "Deny all…"], ["Request changes…"]]


def test_a_card_of_very_many_items_lists_them() -> None:
    """A person would not go through so many buttons; words decide single ones, and the file shows all."""
    many = CARDS["card-many"]
    [message] = messages(many)
    assert "30. Write 30.md" in message.part.text
    assert "/approve 7 N" in message.part.text
    assert [len(row) for row in message.rows] == [2, 1]
    copy = full_copy(many)
    assert copy is not None
    assert "+text 30" in copy[1]


def test_what_is_cut_is_attached_whole() -> None:
    """Nobody decides about what they cannot read; what fits needs no file, and a decided card neither."""
    long = "\n".join(f"+line {number}" for number in range(2_000))
    name, text = full_copy(drawn(call(preview=long))) or ("", "")
    assert name == "approval-7.txt"
    assert long in text
    [message] = messages(drawn(call(preview=long)))
    assert "the whole is in the file approval-7.txt" in message.part.text
    assert full_copy(drawn(call(preview="x" * 3_000))) is None
    assert full_copy(drawn(call(preview=long, status="denied"), status="denied")) is None
    assert (full_copy(drawn(call(preview=long), revision=3)) or ("",))[0] == "approval-7-edit-2.txt"


TEXT = st.text(st.sampled_from("ab \n`<&_*[]()@/🙂é\u0301漢\t"), max_size=3_000)


@settings(max_examples=30, deadline=None)
@given(titles=st.lists(TEXT, min_size=1, max_size=45), preview=TEXT, note=TEXT)
def test_any_card_is_taken(titles: list[str], preview: str, note: str) -> None:
    """TGF-07: every message within limits, as many after the verdict as before, nothing hidden without being said."""
    calls = [call(number, title=title or "x", preview=preview) for number, title in enumerate(titles, 1)]
    before = drawn(*calls, note=note)
    denied = [replace(one, status="denied", decided_by="bob") for one in calls]
    after = drawn(*denied, note=note, status="denied", decided_by="bob")
    assert len(messages(before)) == len(messages(after))
    for message in (*messages(before), *messages(after)):
        legal(message.part, MESSAGE_UNITS)
        assert sum(map(len, message.rows)) <= 100
        assert all(len(row) <= 8 for row in message.rows)
        assert all(
            units(button.label) <= 64 and len(button.value.encode()) <= 64 for row in message.rows for button in row
        )
    shown = "".join(message.part.text for message in messages(before))
    copy = full_copy(before)
    assert all(one.preview.strip() in shown for one in before.items) or (copy is not None and preview in copy[1])
