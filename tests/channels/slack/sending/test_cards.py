"""Cards as blocks: what they show, in how much room, and that nothing of it is markup."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.cards import card, text
from agent.domain import Approval, Call
from agent.ports.channels import Card
from channels.slack.cards import full_copy, messages
from channels.slack.messages import Message
from tests.agent.waiting import APPROVER, PEOPLE, call, waiting
from tests.channels.slack.texts import HOSTILE
from tests.golden.compare import assert_golden
from tests.servers.slack.block_kit import message_problems, pings, strings, too_long

DIFF = "--- report.md\n+++ report.md\n@@ -1,1 +1,2 @@\n-Total 3\n+Total **4**\n+```<!channel>```"


def drawn(*calls: Call, request: str = "", **changes: Any) -> list[Message]:
    """The messages of a card with these items."""
    made, words = shown(*calls, **changes)
    return messages(made, words, request=request)


def shown(*calls: Call, **changes: Any) -> tuple[Card, str]:
    """A card and its plain words."""
    state = waiting(*calls, **changes)
    approval: Approval = state.approvals[0]
    made = card(approval, state.task, PEOPLE)
    return made, text(approval, made, "chat")


def buttons(message: Message) -> list[str]:
    return [one["text"]["text"] for block in message.blocks if block["type"] == "actions" for one in block["elements"]]


def legal(message: Message) -> bool:
    """Whether Slack takes it, with room to spare: it refuses less than it documents when there are many blocks."""
    blocks = list(message.blocks)
    return not message_problems(blocks) and not too_long(blocks) and sum(map(len, strings(blocks))) < 11_000


def test_one_item_golden() -> None:
    """A change with its preview, who may decide it, and four buttons."""
    (message,) = drawn(call(title="Edit report.md", preview=DIFF))
    assert legal(message)
    assert buttons(message) == ["Approve", "Deny…", "Edit…", "Request changes…"]
    assert_golden("slack/card", list(message.blocks))


def test_batch_golden() -> None:
    """Each item has its own row, and the card buttons for all of them."""
    calls = (
        call(1, title="Write a.md"),
        call(2, title="Write b.md", votes=("bob",), rule=replace(APPROVER, quorum=2)),
        call(3, status="denied", title="Write c.md", decided_by="bob", reason="wrong quarter"),
    )
    (message,) = drawn(*calls, request="https://home.slack.com/archives/C1/p1")
    assert legal(message)
    assert buttons(message) == [
        *["Approve", "Deny…", "Edit…"] * 2,
        "Approve all (2)",
        "Deny all…",
        "Request changes…",
    ]
    assert_golden("slack/card-batch", list(message.blocks))


def test_verdict_golden() -> None:
    """The verdict stands where the buttons were, and what was approved can still be read."""
    (message,) = drawn(
        call(status="approved", decided_by="bob", votes=("bob",), preview=DIFF), status="approved", decided_by="bob"
    )
    assert legal(message)
    assert buttons(message) == []
    assert_golden("slack/card-approved", list(message.blocks))


def test_expired_golden() -> None:
    """An expired card offers to ask again."""
    (message,) = drawn(call(status="expired"), status="expired")
    assert buttons(message) == ["Ask again"]
    assert_golden("slack/card-expired", list(message.blocks))


def test_values_are_short_ids() -> None:
    """SLB-03: a button carries the card's token, its revision and a verb, whatever the arguments weigh."""
    (message,) = drawn(call(arguments=json.dumps({"path": "a", "content": "x" * 300_000})))
    values = [one["value"] for block in message.blocks if block["type"] == "actions" for one in block["elements"]]
    assert values
    assert all(len(value.encode()) <= 64 for value in values)


def test_nothing_in_it_is_markup() -> None:
    """SLT-07 SLT-16: mentions and fences in a preview are read as they are, and notify nobody."""
    (message,) = drawn(call(title="Write <!here> *x*", preview=DIFF, reason="<@U123>"))
    kinds = {kind for block in message.blocks for kind in _kinds(block)}
    assert "mrkdwn" not in kinds
    assert pings(message.text, list(message.blocks)) == []
    preformatted = [words for block in message.blocks for words in _preformatted(block)]
    assert preformatted == [DIFF]
    assert all(pings(part, []) == [] for part in message.plain)


def test_long_preview_is_attached_whole() -> None:
    """A card shows the beginning, says where the rest is, and the file has every character."""
    preview = "\n".join(f"+line {number}" for number in range(2_000))
    made, words = shown(call(preview=preview))
    (message,) = messages(made, words)
    assert legal(message)
    copy = full_copy(made)
    assert copy is not None
    assert copy[0] == "approval-7.txt"
    assert preview in copy[1]
    assert "the whole is in the file approval-7.txt" in "".join(strings(list(message.blocks)))


def test_short_cards_and_settled_ones_have_no_copy() -> None:
    """Nothing is attached that the card shows, or that nobody decides any more."""
    assert full_copy(shown(call())[0]) is None
    settled = call(status="denied", preview="x" * 9_000, decided_by="bob")
    assert full_copy(shown(settled, status="denied", decided_by="bob")[0]) is None


def test_edited_card_has_a_copy_of_its_own() -> None:
    """What an edit shows anew is another file."""
    copy = full_copy(shown(call(preview="x" * 9_000), revision=3)[0])
    assert copy is not None
    assert copy[0] == "approval-7-edit-2.txt"


@pytest.mark.parametrize("count", [1, 2, 6, 7, 24, 25, 60, 512])
def test_any_number_of_items(count: int) -> None:
    """SLL-07: no more than 50 blocks and 25 buttons of a row; every item is shown once, in order, over messages."""
    calls = [call(number, title=f"Write file {number}.md", preview="+" * 4_000) for number in range(1, count + 1)]
    made = drawn(*calls)
    assert all(map(legal, made))
    words = "\n".join(part for message in made for part in strings(list(message.blocks)))
    positions = [words.index(f"Write file {number}.md") for number in range(1, count + 1)]
    assert positions == sorted(positions)
    assert len(made) <= 13


def test_a_listed_item_is_decided_by_its_number() -> None:
    """SLL-07: where there is no room for buttons of its own, the words for it are there."""
    made = drawn(*(call(number) for number in range(1, 30)))
    assert [buttons(message) for message in made] == [["Approve all (29)", "Deny all…", "Request changes…"]]
    assert "/approve 7 3" in "".join(strings(list(made[-1].blocks)))


@pytest.mark.parametrize("count", [1, 7, 25, 100])
def test_verdicts_fit_the_messages_that_were_sent(count: int) -> None:
    """SLB-10: a settled card has as many messages as the open one, so that each is redrawn."""
    calls = [call(number) for number in range(1, count + 1)]
    settled = [
        call(number, status="denied", decided_by="bob", reason="no " * 500, preview="x" * 5_000)
        for number in range(1, count + 1)
    ]
    assert len(drawn(*calls)) == len(drawn(*settled, status="denied", decided_by="bob"))


def test_plain_words_have_everything() -> None:
    """SLL-11 SLE-21: refused blocks leave the whole card in words, with an instruction that works in a thread."""
    preview = "\n".join(f"line {number} <&>" for number in range(1_000))
    (message,) = drawn(call(preview=preview))
    whole = "\n".join(message.plain)
    assert all(f"line {number} &lt;&amp;&gt;" in whole for number in range(1_000))
    assert "/approve 7" in whole
    assert "mention me before it" in whole
    assert all(len(part.encode()) <= 4_000 for part in message.plain)


@given(HOSTILE, HOSTILE)
def test_any_text(title: str, preview: str) -> None:
    """Whatever an item says, Slack takes the card and nobody is notified."""
    for message in drawn(call(1, title=title, preview=preview), call(2, title=title, preview=preview)):
        assert legal(message)
        assert pings(message.text, list(message.blocks)) == []


@given(st.integers(1, 9), st.integers(0, 20_000))
def test_any_size(count: int, size: int) -> None:
    """SLL-06: measured as it is sent, with everything that Slack counts."""
    calls = [call(number, title="<" * 300, preview="&" * size, votes=("bob",)) for number in range(1, count + 1)]
    assert all(map(legal, drawn(*calls, expires_at=waiting().approvals[0].expires_at + timedelta(days=1))))


def _kinds(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [str(value.get("type")), *(kind for inner in value.values() for kind in _kinds(inner))]
    return [kind for inner in value for kind in _kinds(inner)] if isinstance(value, list) else []


def _preformatted(block: dict[str, Any]) -> list[str]:
    elements = block["elements"] if block["type"] == "rich_text" else []
    return [one["elements"][0]["text"] for one in elements if one["type"] == "rich_text_preformatted"]
