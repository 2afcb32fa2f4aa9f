"""What is looked at: earlier conversation, lists, money, webhooks."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from decimal import Decimal

import pytest
from sqlalchemy import Connection, event

from agent.domain import Address, Hook, Usage
from agent.errors import NotFound
from agent.ports.store import Earlier, NewArtifact, Step
from storage.store import earlier
from storage.store.sql import SqlStore
from tests.clock import START, FakeClock
from tests.storage import given

USED = Usage(model="m", input_tokens=10, output_tokens=5, cost_usd=Decimal("0.000000123456"))
UNKNOWN = replace(USED, cost_usd=None)


def made(path: str) -> NewArtifact:
    return NewArtifact(name=path, path=path, media_type="text/plain", size_bytes=1, sha256="a" * 64)


async def talk(store: SqlStore, number: int) -> None:
    """So many ended tasks in CHAT."""
    for turn in range(1, number + 1):
        state = await given.claimed(store)
        step = Step(entries=given.said(f"answer {turn}"), artifacts=(made("a.md"), made(f"{turn}.md")), status="done")
        await store.advance(given.key(state), step)


async def test_earlier_reads_the_newest_whole_and_the_others_short(store: SqlStore) -> None:
    """Entries from `whole_from` on, requests and files from `summary_from` on, nothing before."""
    await talk(store, 5)
    current = await given.claimed(store)
    session = replace(current.session, summary_from=2, whole_from=4)
    past = (await store.earlier(session, current.task.seq)).tasks
    assert [one.task.seq for one in past] == [2, 3, 4, 5]
    assert [[entry.data["text"] for entry in one.entries] for one in past] == [[], [], ["answer 4"], ["answer 5"]]
    assert past[0].artifacts == ("a.md", "2.md")
    assert (await store.earlier(session, 4)).tasks == past[:2]
    assert (await store.earlier(session, 2)).tasks == []
    assert await store.earlier(session, current.task.seq, after_seq=3) == Earlier(tasks=past[2:], before=2)


async def test_earlier_holds_what_has_ended_only(store: SqlStore) -> None:
    """Another session's tasks and tasks that wait are not part of it."""
    await talk(store, 1)
    await given.finish(store, await given.claimed(store, address=given.OTHER_CHAT))
    waiting = await given.parked(store)
    assert [one.task.seq for one in (await store.earlier(waiting.session, 99)).tasks] == [1]


async def test_earlier_takes_two_queries(store: SqlStore) -> None:
    """However long a session is: one query for the tasks with their files, one for the whole journals."""
    await talk(store, 3)
    session = (await given.claimed(store)).session

    def counted(connection: Connection) -> list[str]:
        statements: list[str] = []
        event.listen(connection, "before_cursor_execute", lambda *arguments: statements.append(arguments[2]))
        earlier.earlier(connection, session, 4, 0)
        return statements

    assert len(await store.database.read(counted)) == 2


async def test_late_cards(store: SqlStore, clock: FakeClock) -> None:
    """Cards are late from their last moment on; an unknown one is not found."""
    first = await given.parked(store)
    second = await given.parked(store, address=given.OTHER_CHAT)
    assert await store.expired_approvals(given.EXPIRY - timedelta(microseconds=1)) == []
    late = await store.expired_approvals(given.EXPIRY)
    assert [card.task_id for card in late] == [first.task.task_id, second.task.task_id]
    assert late[0] == first.approvals[0] == await store.find_approval(approval_id=late[0].approval_id)
    for lookup in ({"approval_id": 999}, {"token": "unknown"}):
        with pytest.raises(NotFound):
            await store.find_approval(**lookup)


async def test_one_artifact(store: SqlStore) -> None:
    """Found by its id; an unknown id is NotFound."""
    await talk(store, 1)
    [first, second] = await store.artifacts((await store.tasks(limit=1))[0].task_id)
    assert (first.path, second.path) == ("a.md", "1.md")
    assert await store.artifact(second.artifact_id) == second
    with pytest.raises(NotFound, match="no artifact 999"):
        await store.artifact(999)


async def test_money_is_exact(store: SqlStore, clock: FakeClock) -> None:
    """Costs add up to the last digit, per requester, since a moment."""
    ann = await given.claimed(store)
    await store.advance(given.key(ann), Step(usage=(USED,) * 3))
    clock.advance(60)
    bob = await given.claimed(store, sender="bob", address=given.OTHER_CHAT)
    await store.advance(given.key(bob), Step(usage=(USED, UNKNOWN)))
    assert await store.spent_usd(START) == Decimal("0.000000493824")
    assert await store.spent_usd(START, "ann") == Decimal("0.000000370368")
    assert await store.spent_usd(given.START_PLUS_MINUTE) == Decimal("0.000000123456")
    assert await store.spent_usd(given.START_PLUS_MINUTE, "ann") == 0


@pytest.mark.parametrize(
    ("used", "cost"),
    [
        ((), None),
        ((USED, UNKNOWN), None),
        ((USED, USED), Decimal("0.000000246912")),
        ((replace(USED, cost_usd=Decimal(0)),), Decimal(0)),
    ],
    ids=["no model call", "a part unknown", "known", "free"],
)
async def test_unknown_cost_is_never_zero(store: SqlStore, used: tuple[Usage, ...], cost: Decimal | None) -> None:
    """A task's cost is known when all of its parts are."""
    state = await given.claimed(store)
    await store.advance(given.key(state), Step(usage=used))
    assert await store.cost_usd(state.task.task_id) == cost


async def test_hooks_are_made_and_replaced(store: SqlStore) -> None:
    """A hook is known by its name."""
    first = Hook(name="demo", token_sha256="a" * 64)
    full = Hook(
        name="ci",
        token_sha256="b" * 64,
        workspace="sales",
        deliver=("answer", "slack:C1"),
        rate_per_minute=60,
        callback_secret="whsec_x",
    )
    await store.save_hook(first)
    await store.save_hook(full)
    assert await store.hooks() == [full, first]
    rotated = replace(full, token_sha256="c" * 64)
    await store.save_hook(rotated)
    assert await store.hook("ci") == rotated
    assert await store.hook("unknown") is None


async def test_a_follow_up_address_is_not_a_new_session(store: SqlStore) -> None:
    """Sessions are found by all three parts of an address, an empty thread being one of them."""
    plain = Address(channel="slack", conversation="C1")
    ids = [(await given.accept(store, address=address)).session_id for address in (plain, given.CHAT, plain)]
    assert ids[0] == ids[2] != ids[1]
