"""Where a card is shown."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError
from structlog.testing import capture_logs

from agent.asking import ApprovalsSettings, Asking, Places
from agent.domain import Address, ApproverRule
from agent.people import PersonSettings
from tests.agent.rows_of_people import Rows, opened
from tests.agent.waiting import CHAT, waiting

APPROVERS = ApproverRule(groups=(("approver",),))
HOOK = Address(channel="webhook", conversation="demo", thread="1")
BOARD, ANN, BEN = (Address(channel="lines", conversation=where) for where in ("board", "A1", "B1"))
ANN_ELSEWHERE = Address(channel="other", conversation="A2")


@pytest.fixture
async def rows(tmp_path: Path) -> AsyncIterator[Rows]:
    """Ann decides and is known on two channels, Ben decides and is on one, Cid asks; Dora is on none."""
    async with opened(tmp_path) as rows:
        for name, identity in (("Ann", "lines:A1"), ("Ann", "other:A2"), ("Ben", "lines:B1"), ("Cid", "lines:C1")):
            await rows.link(name, identity)
        yield rows


async def places(
    rows: Rows,
    to: Sequence[str] | None,
    *rules: ApproverRule,
    channels: Collection[str] = ("lines", "console"),
    **task: Any,
) -> Places:
    """Where a card of Cid's task is shown."""
    people = rows.people(
        PersonSettings(name="Ann", roles=("admin", "approver")),
        PersonSettings(name="Ben", roles=("approver",)),
        PersonSettings(name="Cid"),
        PersonSettings(name="Dora", roles=("approver",)),
    )
    asking = Asking(people=people, to={} if to is None else {"demo": to}, channels=channels)
    state = waiting()
    return await asking.places(
        replace(state, task=replace(state.task, **({"requester": "Cid"} | task))), rules or (APPROVERS,)
    )


async def test_in_the_conversation_where_nothing_else_is_said(rows: Rows) -> None:
    """Where the answer goes, also when that is more than one place."""
    assert (await places(rows, None)).card == (CHAT,)
    assert (await places(rows, None, reply_to=(HOOK, CHAT))).card == (HOOK, CHAT)


async def test_of_a_task_without_a_person_every_admin_is_told(rows: Rows) -> None:
    """A hook's: besides where its sender looks, alone, on the channels that run."""
    assert await places(rows, None, reply_to=(HOOK,)) == Places(card=(HOOK, ANN))
    both = await places(rows, None, reply_to=(), channels=("lines", "other"))
    assert both.card == (ANN, ANN_ELSEWHERE)


@pytest.mark.parametrize(
    ("to", "card", "where"),
    [
        (["lines:board"], (BOARD,), "lines:board"),
        (["lines:board/7"], (replace(BOARD, thread="7"),), "lines:board/7"),
        (["console"], (), "the console"),
        (["Ben", "console"], (BEN,), "Ben and the console"),
        (["approver"], (ANN, BEN), "operator, Ann, Ben and Dora"),
        (["Ann", "lines:board", "approver"], (ANN, BOARD, BEN), "Ann, lines:board, operator, Ben and Dora"),
        (["Dora"], (), "Dora"),
    ],
)
async def test_where_the_workspace_says(rows: Rows, to: list[str], card: tuple[Address, ...], where: str) -> None:
    """Only there, each place once; whoever is on no channel that runs sees it in the console."""
    assert await places(rows, to) == Places(card=card, where=where)


async def test_only_those_are_asked_who_may_decide(rows: Rows) -> None:
    """Of a role those who fit a rule of the card, which leaves out whoever asks where the rule does."""
    others = ApproverRule(groups=(("approver",),), other=True)
    assert (await places(rows, ["approver"], others, requester="Ann")).card == (BEN,)
    assert (await places(rows, ["approver"], others, APPROVERS, requester="Ann")).card == (ANN, BEN)
    assert (await places(rows, ["approver"], ApproverRule(groups=(("Ben",),)))).card == (BEN,)


@pytest.mark.parametrize(
    ("to", "channels", "card", "missed"),
    [
        (["slack:C1"], ("lines", "console"), (), "slack:C1 (the channel slack does not run)"),
        (["slack:C1", "Ben"], ("lines", "console"), (BEN,), "slack:C1 (the channel slack does not run)"),
        (["Cid"], ("lines", "console"), (), "Cid (none who may decide this)"),
        (["Eve"], ("lines", "console"), (), "Eve (none who may decide this)"),
        (["console"], ("lines",), (), "the console (it does not run)"),
        (["Dora", "Ben"], ("lines",), (BEN,), "Dora (known on no channel that runs)"),
        (["operator", "Dora"], ("lines",), (), "Dora (known on no channel that runs)"),
    ],
)
async def test_what_cannot_be_reached_is_told(
    rows: Rows, to: list[str], channels: Sequence[str], card: tuple[Address, ...], missed: str
) -> None:
    """On the card and in the log; never is another place taken instead."""
    with capture_logs() as logs:
        found = await places(rows, to, channels=channels)
    assert (found.card, found.note) == (card, f"It should also be asked, and could not be: {missed}.")
    assert logs == [{"event": "approval_places_missed", "log_level": "warning", "task": 1, "missed": [missed]}]


@pytest.mark.parametrize("to", [[], ["slack:"], ["webhook:demo"], ["console:Ann"], ["cli:operator"], ["callback:x"]])
def test_what_may_not_be_said(to: list[str]) -> None:
    """Nobody at all, what is no conversation, and where nobody could be asked."""
    with pytest.raises(ValidationError):
        ApprovalsSettings(to=tuple(to))
