"""A database of an older version, taken over with its rows."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import timedelta
from operator import methodcaller

import pytest
from alembic import command
from alembic.config import Config
from sqlalchemy import Connection, inspect

from agent.domain import Address, Approval, ApproverRule
from agent.ports.access import NewAudit
from agent.ports.store import Step
from storage import schema
from storage.database import open_database
from storage.store.access import SqlAccess
from storage.store.people import SqlRoster
from storage.store.sql import SqlStore, open_store
from tests.clock import START, FakeClock
from tests.storage import given

NEW_IN_2 = {"tokens", "login_links", "browser_sessions", "audit"}
NEW_IN_3 = {"persons", "links", "pairings"}
NEW_IN_4 = {"live_messages", "leases"}
AT = int(START.timestamp()) * 1_000_000
DAY = 86_400 * 1_000_000
TakeOver = Callable[..., Awaitable[SqlStore]]
CONSOLE = Address(channel="console", conversation="ann")


def up_to(revision: str) -> Callable[[Connection], None]:
    """What a version whose newest revision this was left behind."""

    def upgrade(connection: Connection) -> None:
        config = Config()
        config.set_main_option("script_location", str(schema.MIGRATIONS).replace("%", "%%"))
        config.attributes["connection"] = connection
        command.upgrade(config, revision)

    return upgrade


@pytest.fixture
async def take_over(request: pytest.FixtureRequest, url: str) -> AsyncIterator[TakeOver]:
    """Opens, with today's code, a database that an older revision left behind with these rows."""
    own: str = request.getfixturevalue("empty_database") if "://" in url else url
    opened: list[SqlStore] = []

    async def open_older(revision: str, *rows: str) -> SqlStore:
        if revision != schema.HEAD:
            database = await open_database(own, schema=up_to(revision))
            for row in rows:
                await database.write(methodcaller("exec_driver_sql", row))
            await database.close()
        opened.append(await open_store(own, clock=FakeClock()))
        return opened[-1]

    yield open_older
    for store in opened:
        await store.close()


def task(number: int, origin: str = "message", status: str = "done") -> str:
    """A task in a session of its own; as 0001 and 0002 had them."""
    return (
        "INSERT INTO tasks (task_id, session_id, seq, origin, requester, reply_to, workspace, prompt, files, status,"
        f" created_at, run_after, entries) VALUES ({number}, {number}, 1, '{origin}', 'ann',"
        f""" '[{{"channel":"slack","conversation":"C{number}","thread":null}}]', 'demo', 'hello', '[]', '{status}',"""
        f" {AT}, {AT}, 1)"
    )


def session(number: int) -> str:
    return (
        "INSERT INTO sessions (session_id, channel, conversation, workspace, last_seq)"
        f" VALUES ({number}, 'slack', 'C{number}', 'demo', 1)"
    )


def key(name: str, task_id: int) -> str:
    return (
        "INSERT INTO received (dedup_key, fingerprint, task_id, session_id, received_at)"
        f" VALUES ('{name}', 'f-{name}', {task_id}, {task_id}, {AT})"
    )


def card(number: int, approvers: str, status: str = "open", *, call_ids: str = '["c1"]') -> str:
    """A card of the task of the same number, for a day."""
    return (
        "INSERT INTO approvals (approval_id, task_id, token, kind, status, approvers, call_ids, note, created_at,"
        f" expires_at) VALUES ({number}, {number}, 't{number}', 'change', '{status}', '{approvers}', '{call_ids}', 'n',"
        f" {AT}, {AT + DAY})"
    )


def call(task_id: int, call_id: str, approval_id: str, status: str = "waiting") -> str:
    return (
        "INSERT INTO calls (task_id, call_id, turn, position, tool, capability, arguments, sha256, status, approval_id,"
        f" item, targets, preview, title, reason) VALUES ({task_id}, '{call_id}', 1, 1, 'write_file', 'file:write',"
        f""" '{{"path":"a.md"}}', 'x', '{status}', {approval_id}, 1, '[]', '+a', 'Write a.md', '')"""
    )


def delivery(number: int, kind: str, card_id: str, channel: str, conversation: str, thread: str = "") -> str:
    return (
        "INSERT INTO deliveries (delivery_id, task_id, kind, channel, conversation, thread, text, buttons, approval_id,"
        f" dedup_key, status, next_attempt_at, expires_at) VALUES ({number}, 1, '{kind}', '{channel}',"
        f" '{conversation}', '{thread}', '', '[]', {card_id}, 'd{number}', 'pending', {AT}, {AT + DAY})"
    )


async def test_the_first_revision_is_taken_over(take_over: TakeOver) -> None:
    """Its tasks are there, the new tables work, and a second start finds nothing to do."""
    hook = "INSERT INTO hooks (name, token_sha256, deliver) VALUES ('kept', 'x', '[]')"
    for starts, revision in enumerate(("0001", schema.HEAD), 1):
        store = await take_over(revision, hook, session(1), task(1), key("k", 1))
        assert await tables(store) >= NEW_IN_2 | NEW_IN_3 | NEW_IN_4
        assert await store.database.read(lambda connection: connection.execute(schema.VERSION).scalar()) == schema.HEAD
        await SqlAccess(store.database).audit(NewAudit(at=START, who="Ann", what="login"))
        assert await given.sql(store, "SELECT count(*) FROM audit") == starts
        assert [hook.name for hook in await store.hooks()] == ["kept"]
        assert await given.sql(store, "SELECT prompt FROM tasks") == "hello"
        assert await SqlRoster(store.database).persons() == []


async def test_what_was_received_before_stays_known(take_over: TakeOver) -> None:
    """A repeat after the upgrade makes no second task, also where retention has removed the first."""
    rows = (session(1), task(1), session(2), task(2, "webhook"), key("chat", 1), key("hook", 2), key("gone", 3))
    store = await take_over("0002", *rows)
    known = [await store.received(name) for name in ("chat", "hook", "gone")]
    assert [(one.kind, one.outcome, one.who, one.task_id, one.session_id) for one in known if one] == [
        ("message", "task", "ann", 1, 1),
        ("webhook", "task", "ann", 2, 2),
        ("message", "task", "", 3, 3),
    ]
    assert known[1] is not None
    assert (known[1].received_at, known[1].fingerprint) == (START, "f-hook")
    again = await given.accept(store, dedup_key="chat", fingerprint="f-chat")
    assert (again.fresh, again.task_id, again.status) == (False, 1, "done")
    assert "received_before" not in await tables(store)


async def test_open_cards_can_still_be_decided(take_over: TakeOver) -> None:
    """A card's approvers become the rule of each of its calls; nobody stays nobody, and one is brought to mind."""
    rows = (
        *(
            statement
            for number in (1, 2, 3)
            for statement in (session(number), task(number, "message", "waiting_approval"))
        ),
        card(1, '["approver","bob"]', call_ids='["c1","c2"]'),
        *(call(1, name, "1") for name in ("c1", "c2")),
        call(1, "c3", "NULL", "done"),
        card(2, "[]"),
        call(2, "c1", "2"),
        card(3, '["approver"]', "denied"),
        call(3, "c1", "3", "denied"),
    )
    store = await take_over("0002", *rows)
    first, second, third = [await store.find_approval(approval_id=number) for number in (1, 2, 3)]
    assert rules(first) == [ApproverRule(groups=(("approver", "bob"),))] * 2
    assert rules(second) == [ApproverRule(groups=((),))]
    assert (first.revision, first.remind_at) == (1, START + timedelta(hours=18))
    assert third.remind_at is None
    assert [one.approval_id for one in await store.approvals_to_remind(START + timedelta(hours=18))] == [1, 2]
    state = await store.load(1)
    assert not state.damaged
    assert [(one.call_id, one.rule is None, one.votes) for one in state.calls] == [
        ("c1", False, ()), ("c2", False, ()), ("c3", True, ()),
    ]  # fmt: skip


def rules(approval: Approval) -> list[ApproverRule | None]:
    return [item.rule for item in approval.items]


async def test_a_card_is_shown_where_it_was_sent(take_over: TakeOver) -> None:
    """Every address of its cards, in their order; what was said about it later does not count."""
    rows = (
        session(1), task(1, status="waiting_approval"), card(1, '["approver"]'), call(1, "c1", "1"),
        delivery(1, "approval", "1", "slack", "C1", "1.0"), delivery(2, "approval", "1", "console", "ann"),
        delivery(3, "settle", "1", "slack", "C9"), delivery(4, "reply", "NULL", "slack", "C8"),
    )  # fmt: skip
    store = await take_over("0002", *rows)
    assert (await store.find_approval(approval_id=1)).shown_at == (given.CHAT, CONSOLE)
    due = await store.due(START, 10, frozenset())
    assert [one.delivery_id for one in due] == [1, 2, 3, 4]
    assert due[0].approval_id == 1


async def test_a_damaged_card_does_not_stop_the_upgrade(take_over: TakeOver) -> None:
    """Approvers that cannot be read become a rule that cannot be read: nobody may decide, and its task says so."""
    rows = (session(1), task(1, status="waiting_approval"), card(1, '["approver'), call(1, "c1", "1"))
    store = await take_over("0002", *rows)
    state = await store.load(1)
    assert state.damaged
    assert state.calls[0].rule == ApproverRule(groups=((),))


async def test_what_chat_platforms_need_begins_empty(take_over: TakeOver) -> None:
    """The tasks and deliveries of 0003 await no file and have no part sent; all of the new can be used with them."""
    of_0003 = delivery(1, "reply", "NULL", "slack", "C1").replace("text, buttons,", "text,").replace("'', '[]',", "'',")
    store = await take_over("0003", session(1), task(1, status="queued"), of_0003)
    before = (await store.load(1)).task
    assert (before.awaited_files, before.message_id, before.files, before.prompt) == ((), None, (), "hello")
    [due] = await store.due(START, 10, frozenset())
    assert (due.delivery_id, due.parts) == (1, ())
    await store.part_sent(1, "1.5")
    await store.save_live_message(1, CONSOLE, "2.5")
    assert await store.live_message(1, CONSOLE) == "2.5"
    assert await store.lease("poll", "one", 30)
    [state] = await store.claim("worker", 1)
    await store.advance(given.key(state), Step(files=("inbox/a.png",)))
    assert (await store.load(1)).task.files == ("inbox/a.png",)


@pytest.mark.parametrize("url", ["sqlite"], indirect=True)
async def test_ids_go_on_where_they_were(take_over: TakeOver) -> None:
    """An approval's id is never given a second time, also when the row that had it is gone."""
    rows = (session(1), task(1), card(7, "[]").replace("(7, 7,", "(7, 1,"), "DELETE FROM approvals")
    store = await take_over("0002", *rows)
    assert (await given.parked(store)).approvals[0].approval_id == 8


async def tables(store: SqlStore) -> set[str]:
    return set(await store.database.read(lambda connection: inspect(connection).get_table_names()))
