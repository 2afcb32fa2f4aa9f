"""Claims, leases and crashes on both engines."""

from __future__ import annotations

import asyncio

import pytest
from sqlalchemy import Connection, text

from agent.domain import Address
from agent.errors import LeaseLost
from agent.ports.store import Step
from storage.store import queue
from storage.store.sql import SqlStore
from tests.clock import FakeClock
from tests.storage import given
from tests.storage.conftest import OpenStore

JSON_OF_CARDS = {"calls": ("targets", "rule", "votes"), "approvals": ("call_ids", "shown_at", "kept")}


async def lose_lease(store: SqlStore, task_id: int) -> None:
    """What 30 seconds without a heartbeat make of a lease."""
    await given.sql(store, "UPDATE tasks SET lease_until = 0 WHERE task_id = :task", task=task_id)


async def test_claim_takes_the_oldest_first_and_no_more_than_asked(store: SqlStore) -> None:
    """A claim is a new epoch of a running task."""
    first, second, third = await given.accept_many(store, 3)
    states = await store.claim("worker", 2)
    assert [state.task.task_id for state in states] == [first, second]
    assert {(s.task.status, s.task.epoch, s.task.lease_owner) for s in states} == {("running", 1, "worker")}
    assert [state.task.task_id for state in await store.claim("worker", 2)] == [third]
    assert await store.claim("worker", 2) == []


async def test_claim_returns_the_tasks_own_session(store: SqlStore) -> None:
    """Each state carries the session of its task, not the first one of the table."""
    await given.accept_many(store, 3)
    states = await store.claim("worker", 3)
    assert [state.session for state in states] == [(await store.load(s.task.task_id)).session for s in states]
    assert [state.session.address.conversation for state in states] == ["C0", "C1", "C2"]


async def test_a_claim_takes_the_head_of_each_session(store: SqlStore) -> None:
    """Of several queued tasks of a session only the first is taken, and other sessions do not suffer from it."""
    first, _, _ = [await given.accept(store) for _ in range(3)]
    other = await given.accept(store, address=given.OTHER_CHAT)
    assert [state.task.task_id for state in await store.claim("worker", 10)] == [first.task_id, other.task_id]


async def test_a_session_runs_one_task_at_a_time(store: SqlStore) -> None:
    """What comes later in a session waits until everything older has ended, also while that waits for a person."""
    state = await given.claimed(store)
    later = await given.accept(store)
    assert await store.claim("worker", 10) == []
    step = Step(new_calls=(given.call(),), approval=given.card("c1"), status="waiting_approval")
    await store.advance(given.key(state), step)
    assert await store.claim("worker", 10) == []
    await store.change(state.task.task_id, lambda _: Step(status="cancelled"))
    assert [state.task.task_id for state in await store.claim("worker", 10)] == [later.task_id]


async def test_the_database_refuses_a_second_active_run(store: SqlStore) -> None:
    """One active run per session is a rule of the database, and breaking it is no error for who claims."""
    await given.claimed(store)
    later = await given.accept(store)
    moved = "UPDATE tasks SET seq = 0 WHERE task_id = :task"  # in front, so that the claim looks at it
    await given.sql(store, moved, task=later.task_id)
    assert await store.claim("worker", 10) == []
    assert (await store.load(later.task_id)).task.status == "queued"


async def test_a_task_waits_for_its_time(store: SqlStore, clock: FakeClock) -> None:
    """Queued with `run_after` in the future, it is claimed when that has come."""
    state = await given.claimed(store)
    step = Step(status="queued", run_after=given.START_PLUS_MINUTE)
    await store.advance(given.key(state), step)
    assert await store.claim("worker", 1) == []
    clock.advance(60)
    assert [again.task.epoch for again in await store.claim("worker", 1)] == [2]


async def test_two_workers_and_one_task(store: SqlStore, open_another: OpenStore) -> None:
    """J8: of many claims at once for one task exactly one gets it."""
    stores = [store, await open_another()]
    for _ in range(10):
        await given.accept_many(store, 1)
        claims = await asyncio.gather(*(stores[n % 2].claim(f"worker {n}", 1) for n in range(8)))
        taken = [state for states in claims for state in states]
        assert len(taken) == 1
        await given.finish(store, taken[0])


async def test_claims_at_once_take_each_task_once(store: SqlStore, open_another: OpenStore) -> None:
    """J8: nobody takes more than it asked for, and together they take every task once."""
    accepted = await given.accept_many(store, 40)
    stores = [store, await open_another(), await open_another()]
    taken: list[int] = []

    async def work(owner: str, own: SqlStore) -> None:
        while states := await own.claim(owner, 3):
            assert len(states) <= 3
            taken.extend(state.task.task_id for state in states)

    await asyncio.gather(*(work(f"worker {number}", one) for number, one in enumerate(stores)))
    taken.extend(state.task.task_id for state in await store.claim("last", 100))
    assert sorted(taken) == accepted


async def test_a_killed_workers_task_is_taken_up(store: SqlStore) -> None:
    """J5: when the lease has run out, a worker of any name gets the task with a new epoch."""
    state = await given.claimed(store, owner="killed")
    assert await store.reap() == []
    assert await store.claim("other", 1) == []
    await lose_lease(store, state.task.task_id)
    await store.reap()
    [again] = await store.claim("other", 1)
    assert (again.task.task_id, again.task.epoch, again.task.crashes) == (state.task.task_id, 2, 1)


async def test_a_live_long_task_stays_with_its_worker(store: SqlStore) -> None:
    """J6: a heartbeat gives the lease back its whole length."""
    state = await given.claimed(store)
    await lose_lease(store, state.task.task_id)
    assert await store.heartbeat("worker", [state.task.task_id]) == set()
    await store.reap()
    assert await store.claim("other", 1) == []
    assert (await store.load(state.task.task_id)).task.status == "running"


async def test_a_zombie_writes_nothing(store: SqlStore) -> None:
    """J6: a run that lost its lease hits no row: not as another owner, not as an older epoch, not after the end."""
    zombie = await given.claimed(store)
    task_id = zombie.task.task_id
    await lose_lease(store, task_id)
    await store.reap()
    step = Step(entries=given.said("late"), deliveries=(given.delivery(),), status="done", answer="late")
    with pytest.raises(LeaseLost):
        await store.advance(given.key(zombie), step)
    [heir] = await store.claim("worker", 1)  # the same name: only the epoch tells them apart
    with pytest.raises(LeaseLost):
        await store.advance(given.key(zombie), step)
    assert await store.heartbeat("someone else", [task_id]) == set()
    await given.finish(store, heir)
    with pytest.raises(LeaseLost):
        await store.advance(given.key(heir), step)
    state = await store.load(task_id)
    assert [entry.data["text"] for entry in state.entries] == ["bye"]
    assert await given.sql(store, "SELECT count(*) FROM deliveries") == 0


async def test_three_crashes_without_progress_are_reported(store: SqlStore) -> None:
    """A task that takes its worker down three times is named; a journal row in between starts the count anew."""
    state = await given.claimed(store)
    task_id = state.task.task_id
    reported = []
    for crash in range(5):
        if crash == 1:
            await store.advance(given.key(state), Step(entries=given.said("progress")))
        await lose_lease(store, task_id)
        reported.append(await store.reap())
        [state] = await store.claim("worker", 1) if crash < 4 else [state]
    assert reported == [[], [], [], [task_id], [task_id]]
    assert (await store.load(task_id)).task.status == "queued"


async def test_what_others_write_is_no_progress(store: SqlStore) -> None:
    """Refused presses on its cards do not keep a task alive that takes its worker down again and again."""
    task_id = (await given.claimed(store)).task.task_id
    reported = []
    for _ in range(3):
        await store.change(task_id, lambda _: Step(entries=given.said("tried")))
        await lose_lease(store, task_id)
        reported.append(await store.reap())
        await store.claim("worker", 1)
    assert reported == [[], [], [task_id]]


async def test_a_boot_requeues_everything_and_counts_a_crash(store: SqlStore) -> None:
    """The sole runner takes up what its predecessor left, without waiting for leases."""
    states = [await given.claimed(store, address=Address(channel="cli", conversation=place)) for place in ("a", "b")]
    assert await store.requeue() == 2
    assert {state.task.crashes for state in await store.claim("new", 10)} == {1}
    with pytest.raises(LeaseLost):
        await store.advance(given.key(states[0]), Step())


async def test_a_drain_requeues_ones_own_without_a_crash(store: SqlStore) -> None:
    """A worker that stops lets go of its tasks only, and nothing is held against them."""
    own = await given.claimed(store, owner="mine", address=Address(channel="cli", conversation="a"))
    other = await given.claimed(store, owner="other", address=Address(channel="cli", conversation="b"))
    assert await store.requeue("mine") == 1
    task = (await store.load(own.task.task_id)).task
    assert (task.status, task.crashes, task.lease_owner) == ("queued", 0, None)
    assert (await store.load(other.task.task_id)).task.status == "running"


async def test_a_heartbeat_brings_the_wish_to_stop(store: SqlStore) -> None:
    """Only the owner's own tasks, and only those somebody asked to stop."""
    first, second = await given.accept_many(store, 2)
    await store.claim("worker", 2)
    await store.request_cancel(second)
    assert await store.heartbeat("worker", [first, second]) == {second}
    assert await store.heartbeat("worker", [first]) == set()
    assert await store.heartbeat("worker", []) == set()


async def test_waiting_tasks_cost_a_claim_nothing(store: SqlStore) -> None:
    """10,000 tasks that wait for a person: a claim looks at the queued ones through an index that holds no others."""

    def fill(connection: Connection) -> str:
        _many_waiting(connection, 10_000)
        plan = "EXPLAIN QUERY PLAN" if connection.dialect.name == "sqlite" else "EXPLAIN (COSTS OFF)"
        if connection.dialect.name == "postgresql":
            connection.execute(text("ANALYZE"))
        claim = queue.claim_statement(connection.dialect.name)
        values = {"owner": "worker", "free": 10, "now": given.EXPIRY, "lease": 1}
        with given.explaining(connection, plan):
            return "\n".join(str(row) for row in connection.execute(claim, values))

    plan = await store.database.write(fill)
    assert "ix_tasks_queued" in plan
    assert "SCAN tasks" not in plan
    assert "Seq Scan on tasks" not in plan


def _many_waiting(connection: Connection, number: int) -> None:
    sessions = [{"place": f"C{place}"} for place in range(number)]
    connection.execute(
        text("INSERT INTO sessions (channel, conversation, workspace, last_seq) VALUES ('slack', :place, 'demo', 1)"),
        sessions,
    )
    connection.execute(
        text(
            "INSERT INTO tasks (session_id, seq, origin, requester, reply_to, workspace, prompt, files, status,"
            " created_at, run_after) SELECT session_id, 1, 'message', 'ann', '[]', 'demo', 'hi', '[]',"
            " 'waiting_approval', 0, 0 FROM sessions"
        )
    )


@pytest.mark.parametrize("column", ["reply_to", "files"])
async def test_a_damaged_task_is_claimed_beside_the_others(store: SqlStore, column: str) -> None:
    """JSON that cannot be read marks its own task and hides no other; its requester can still be told."""
    first, second = await given.accept_many(store, 2)
    await given.sql(store, f"UPDATE tasks SET {column} = '[{{' WHERE task_id = :task", task=first)
    states = await store.claim("worker", 9)
    assert [(state.task.task_id, state.damaged) for state in states] == [(first, True), (second, False)]
    assert states[0].task.reply_to == (states[0].session.address,)
    assert len(await store.tasks()) == 2


@pytest.mark.parametrize(
    ("table", "column"),
    [(table, column) for table, columns in JSON_OF_CARDS.items() for column in columns],
)
async def test_a_damaged_call_or_card_marks_its_task(store: SqlStore, table: str, column: str) -> None:
    """A call whose targets are unknown must not run, and nobody may decide a card of unknown approvers."""
    state = await given.parked(store)
    await given.sql(store, f"UPDATE {table} SET {column} = '[{{'")
    assert (await store.load(state.task.task_id)).damaged
    await store.change(state.task.task_id, lambda _: Step(status="queued"))
    assert [state.damaged for state in await store.claim("worker", 9)] == [True]
