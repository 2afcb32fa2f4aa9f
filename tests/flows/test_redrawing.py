"""A card as it leaves: drawn where it was shown, drawn anew with each verdict, said once more where nothing can be
changed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from agent.domain import OPERATOR, Address, ButtonPress, IncomingMessage
from agent.errors import NotFound
from agent.outbox import Outbox
from agent.people import People
from agent.ports.channels import Feature, Outgoing, Shown
from storage.store.people import SqlRoster
from tests.flows.engine import Engine, engine, tool
from tests.servers.llm import Reply

HERE = Address(channel="chat", conversation="C1", thread="1")


class Drawn:
    """A chat platform that keeps what it was given to show."""

    name = "chat"

    def __init__(self, *features: Feature) -> None:
        self.features: frozenset[Feature] = frozenset(features)
        self.sent: list[Outgoing] = []
        self.redrawn: list[tuple[str, Outgoing]] = []

    async def start(self) -> None: ...

    async def stop(self) -> None: ...

    async def send(self, outgoing: Outgoing) -> str | None:
        self.sent.append(outgoing)
        return f"message {len(self.sent)}"

    async def settle(self, outgoing: Outgoing, sent_as: str) -> None:
        self.redrawn.append((sent_as, outgoing))

    async def progress(self, to: Address, shown: Shown) -> None: ...

    async def download(self, reference: str) -> bytes:
        raise NotFound(reference)

    def routes(self) -> Sequence[Any]:
        return ()


async def sends() -> str:
    return "sent"


async def parked(one: Engine, *calls: str) -> int:
    """A request from the chat that waits for its card; the card's id."""
    message = IncomingMessage(
        dedup_key="1",
        address=HERE,
        sender="ann",
        text="Send both",
        origin="message",
        received_at=one.store.clock.now(),
        reply_to=(HERE,),
        workspace="office",
    )
    one.model.will(Reply(calls=[(name, {}) for name in calls]), "Done.")
    task_id = (await one.inbox.accept(message)).task_id
    [card] = (await one.run(task_id)).approvals
    return card.approval_id


async def press(one: Engine, card: int, key: str, *items: int) -> None:
    now = one.store.clock.now()
    await one.approvals.decide(
        ButtonPress(dedup_key=key, presser=OPERATOR, verdict="approved", pressed_at=now, approval_id=card, items=items)
    )


def outbox(one: Engine, channel: Drawn) -> Outbox:
    return Outbox(one.store, {"chat": channel}, People([], SqlRoster(one.store.database)), one.store.clock)


async def test_a_card_is_drawn_and_drawn_anew_with_each_verdict(tmp_path: Path) -> None:
    """The same message: its buttons go away with the item, and all of them with the last."""
    chat = Drawn("buttons", "edits")
    async with engine(tmp_path, tool("one", sends), tool("two", sends)) as one:
        card, out = await parked(one, "one", "two"), outbox(one, chat)
        await out.flush()
        await press(one, card, "first", 1)
        await out.flush()
        await press(one, card, "second", 2)
        await out.flush()
    [sent] = chat.sent
    assert sent.card is not None
    assert sent.card.title == "Approval 1 (task 1): please decide"
    assert [[button.label for button in item.buttons] for item in sent.card.items] == [
        ["Approve", "Deny…", "Edit…"]
    ] * 2
    assert [sent_as for sent_as, _ in chat.redrawn] == ["message 1"] * 2
    half, whole = (outgoing.card for _, outgoing in chat.redrawn)
    assert half is not None
    assert whole is not None
    assert [item.verdict for item in half.items] == ["approved by operator", ""]
    assert (half.open, [bool(item.buttons) for item in half.items]) == (True, [False, True])
    assert (whole.open, whole.buttons, whole.footer) == (False, (), "Approved by operator.")


async def test_what_cannot_be_changed_is_said_once_more(tmp_path: Path) -> None:
    """A platform without edits: the verdict is a message of its own, without the previews that were read before."""
    chat = Drawn()
    async with engine(tmp_path, tool("one", sends)) as one:
        card, out = await parked(one, "one"), outbox(one, chat)
        await out.flush()
        await press(one, card, "first")
        await out.flush()
    first, second = chat.sent
    assert "/approve 1" in first.text
    assert "{}" in first.text
    assert second.text.endswith("one (approved by operator)\n\nApproved by operator.")
    assert chat.redrawn == []


async def test_a_card_that_was_decided_before_it_left_asks_for_nothing(tmp_path: Path) -> None:
    """It is drawn from its rows as they are when it is sent; there is nothing to change afterwards."""
    chat = Drawn("buttons", "edits")
    async with engine(tmp_path, tool("one", sends)) as one:
        card, out = await parked(one, "one"), outbox(one, chat)
        await press(one, card, "first")
        await out.flush()
    assert [(outgoing.delivery.kind, outgoing.card and outgoing.card.buttons) for outgoing in chat.sent] == [
        ("approval", ())
    ]
    assert [outgoing.card and outgoing.card.open for _, outgoing in chat.redrawn] == [False]


@pytest.mark.parametrize("features", [(), ("edits",)])
async def test_a_withdrawn_card_says_so_where_it_was_shown(tmp_path: Path, features: tuple[Feature, ...]) -> None:
    """E21: no live card is left behind."""
    chat = Drawn(*features)
    async with engine(tmp_path, tool("one", sends)) as one:
        await parked(one, "one")
        out = outbox(one, chat)
        await out.flush()
        await one.approvals.cancel(1)
        await out.flush()
    told = [*chat.sent[1:], *(outgoing for _, outgoing in chat.redrawn)]
    cards = [outgoing for outgoing in told if outgoing.delivery.kind == "settle"]
    assert [outgoing.card and outgoing.card.footer for outgoing in cards] == [
        "Cancelled with its task; nothing was run."
    ]
