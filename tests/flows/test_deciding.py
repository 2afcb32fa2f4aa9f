"""People and cards through the whole product: who decides, once, on what was shown; every try is written down."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from agent.domain import OPERATOR, Address, Approval, ButtonPress, IncomingMessage, Member
from agent.errors import BadInput, Conflict, Forbidden, NotFound
from agent.ports.access import NewAudit
from agent.ports.people import Person
from agent.ports.store import TaskState
from bot.api.tasks import ask_again
from bot.api.viewer import terminal
from tests.clock import FakeClock
from tests.flows.bot import Bot, running, tool_texts
from tests.flows.test_sign_off import writes
from tests.servers.llm import Reply
from tests.storage import given

BOB = {"name": "bob", "roles": ["approver"]}
CID = {"name": "cid", "roles": ["approver"]}
DAN = {"name": "dan", "roles": ["approver"]}
MIA = {"name": "mia"}
EDIT = ("edit_file", {"path": "old.md", "old": "one", "new": "two"})
REMEMBER = ("memory_write", {"content": "The quarter ends in March."})


@pytest.fixture
async def bot(tmp_path: Path) -> AsyncIterator[Bot]:
    async with running(tmp_path, people=[BOB, CID, MIA]) as bot:
        yield bot


async def asked(bot: Bot, *replies: Reply | str) -> tuple[TaskState, Approval]:
    """A request that came to its card."""
    bot.model.will(*replies)
    state = await bot.ask("Write")
    return state, await bot.card(state.task.task_id)


async def request(bot: Bot, name: str) -> int:
    """A request of somebody in the console; its task's id."""
    address = Address(channel="console", conversation=name, thread="1")
    message = IncomingMessage(
        dedup_key=f"request:{name}",
        address=address,
        sender=name,
        text="Write",
        origin="console",
        received_at=bot.app.services.clock.now(),
        reply_to=(address,),
        workspace="office",
    )
    return (await bot.app.services.inbox.accept(message)).task_id


async def tried(bot: Bot, task_id: int, code: str) -> dict[str, Any]:
    """The try that was refused with a code, as the journal tells it; nothing else was decided."""
    state = await bot.app.services.store.load(task_id)
    [entry] = [said for said in bot.decisions(state) if said.get("code") == code]
    assert entry["verdict"] == "refused"
    return entry


async def received(bot: Bot, key: str) -> tuple[str, str, int | None]:
    """How an event was answered, whose it was, and of which task."""
    row = await bot.app.services.store.received(key)
    assert row is not None
    return row.outcome, row.who, row.task_id


def press(bot: Bot, by: Member, key: str = "one press", **fields: Any) -> ButtonPress:
    now = bot.app.services.clock.now()
    return ButtonPress(**{"dedup_key": key, "presser": by, "verdict": "approved", "pressed_at": now, **fields})


# --- who ---


async def test_another_member_of_the_conversation_cannot_decide(bot: Bot) -> None:
    """E13: refused, told for whom it is, and the click is written down: as received, and in the journal."""
    state, card = await asked(bot, writes("a.md"), "Done.")
    with pytest.raises(Forbidden, match="mia may not decide approval 1; it is for approver"):
        await bot.app.services.approvals.decide(press(bot, await bot.person("mia"), token=card.token))
    entry = await tried(bot, state.task.task_id, "not_an_approver")
    assert (entry["by"], entry["tried"], entry["approval_id"]) == ("mia", "approved", card.approval_id)
    assert await received(bot, "one press") == ("refused:not_an_approver", "mia", state.task.task_id)
    assert bot.files() == []


async def test_who_somebody_is_counts_and_not_where_they_write(bot: Bot) -> None:
    """E14: an unknown sender of an allowed conversation, with whatever name and roles they come."""
    state, card = await asked(bot, writes("a.md"), "Done.")
    unknown = Member(name="lines:U9", identities=frozenset({"lines:U9"}), roles=frozenset({"approver", "admin"}))
    with pytest.raises(Forbidden):
        await bot.press(card, by=unknown)
    assert (await tried(bot, state.task.task_id, "not_an_approver"))["by"] == "lines:U9"
    assert bot.files() == []


async def test_no_approvers_means_nobody(tmp_path: Path) -> None:
    """E15: not everybody, and not the operator either; the card says what an admin must do."""
    async with running(tmp_path, people=[BOB], policy={"file:write": {"ask": []}}) as bot:
        _, card = await asked(bot, writes("a.md"), "Done.")
        for name in ("bob", "operator"):
            with pytest.raises(Forbidden):
                await bot.press(card, by=await bot.person(name))
        assert bot.files() == []


async def test_a_role_that_is_taken_away_holds_for_open_cards(bot: Bot) -> None:
    """At once, also for somebody who looks at the card already."""
    services = bot.app.services
    now = services.clock.now()
    dan = Person(name="dan", roles=("approver",), added_at=now, added_by="operator")
    audit = NewAudit(at=now, who="operator", what="person_changed", subject="dan")
    await services.roster.add_person(dan, audit)
    state, card = await asked(bot, writes("a.md"), "Done.")
    member = await bot.person("dan")
    await services.roster.change_person(Person(name="dan", roles=(), added_at=now, added_by="operator"), audit)
    with pytest.raises(Forbidden):
        await bot.press(card, by=member)
    await tried(bot, state.task.task_id, "not_an_approver")
    await services.roster.change_person(dan, audit)
    await bot.press(card, by=await bot.person("dan"))
    assert (await bot.reached(state.task.task_id, "done")).calls[0].decided_by == "dan"


async def test_two_others_must_approve_where_the_policy_says_so(tmp_path: Path) -> None:
    """`by: [other, 2]`: not whoever asked, and not the same person twice; then it runs once."""
    policy = {"file:write": {"ask": ["approver"], "by": ["other", 2]}}
    async with running(tmp_path, people=[BOB, CID, DAN], policy=policy) as bot:
        bot.model.will(writes("a.md"), "Done.")
        task_id = await request(bot, "bob")
        card = await bot.card(task_id)
        with pytest.raises(Forbidden, match="2 of approver, but not bob, who asked"):
            await bot.press(card, by=await bot.person("bob"))
        assert (await bot.press(card, by=await bot.person("cid"))).status == "open"
        with pytest.raises(Conflict, match="1 of 2: cid"):
            await bot.press(card, by=await bot.person("cid"))
        assert (await bot.press(card, by=await bot.person("dan"))).status == "approved"
        done = await bot.reached(task_id, "done")
        assert [status for status, _ in bot.results(done)] == ["done"]
        assert [said.get("code", said["verdict"]) for said in bot.decisions(done)] == [
            "not_an_approver", "approved", "voted_already", "approved",
        ]  # fmt: skip


async def test_who_asks_again_is_not_who_asked(tmp_path: Path) -> None:
    """E5: `by: other` goes on to leave out the first one, or anybody could make that one an approver of their own."""
    policy = {"file:write": {"ask": ["approver"], "by": "other", "expires": "60s"}}
    clock = FakeClock()
    async with running(tmp_path, people=[BOB, CID], policy=policy, clock=clock) as bot:
        bot.model.will(writes("a.md"), writes("a.md"), "Done.")
        first = await bot.card(await request(bot, "bob"))
        clock.advance(61)
        services = bot.app.services
        await services.approvals.sweep()
        await bot.reached(first.task_id, "expired")
        again = await ask_again(services, terminal(services.people, services.workspaces), first.approval_id)
        assert again.requester == "bob"
        card = await bot.card(again.task_id)
        with pytest.raises(Forbidden, match="but not bob, who asked"):
            await bot.press(card, by=await bot.person("bob"))
        await bot.press(card, by=await bot.person("cid"))
        await bot.reached(again.task_id, "done")
        [row] = await services.access.audits(what="approval_asked_again")
        assert (row.who, row.subject, row.detail) == ("operator", str(first.approval_id), {"task": again.task_id})


async def test_items_of_two_powers_are_decided_by_their_own_people(tmp_path: Path) -> None:
    """One card for both calls of a turn; "all" leaves to the other person what is theirs."""
    policy = {"file:write": {"ask": ["bob"]}, "memory:write": {"ask": ["cid"], "expires": "1h"}}
    async with running(tmp_path, people=[BOB, CID], policy=policy) as bot:
        write = ("write_file", {"path": "a.md", "content": "a"})
        state, card = await asked(bot, Reply(calls=[write, REMEMBER]), "Done.")
        assert round((card.expires_at - card.created_at).total_seconds()) == 3600, "the first of them to expire"
        half = await bot.press(card, by=await bot.person("bob"))
        assert [item.status for item in half.items] == ["approved", "waiting"]
        with pytest.raises(Forbidden, match="it is for cid"):
            await bot.press(card, by=await bot.person("bob"))
        await bot.press(card, "denied", by=await bot.person("cid"), reason="not for ever")
        done = await bot.reached(state.task.task_id, "done")
        assert [status for status, _ in bot.results(done)] == ["done", "denied"]


# --- what is unknown, or of somebody else ---


async def test_an_unknown_card_is_said_and_written_down(bot: Bot) -> None:
    """By id or by token; there is no task to write it to."""
    with pytest.raises(NotFound, match=r"There is no approval 99\."):
        await bot.app.services.approvals.decide(press(bot, OPERATOR, "by id", approval_id=99))
    with pytest.raises(NotFound, match="There is no such card"):
        await bot.app.services.approvals.decide(press(bot, OPERATOR, "by token", token="none"))
    assert await received(bot, "by id") == ("refused:not_found", "operator", None)
    assert await received(bot, "by token") == ("refused:not_found", "operator", None)


async def test_pressing_without_end_does_not_fill_the_journal(bot: Bot) -> None:
    """Each try is among what was received; the journal, which each look reads whole, tells once of the same."""
    state, card = await asked(bot, writes("a.md"))
    mia = await bot.person("mia")
    for verdict in ("approved", "approved", "denied", "approved", "denied"):
        with pytest.raises(Forbidden):
            await bot.press(card, verdict, by=mia)
    after = await bot.app.services.store.load(state.task.task_id)
    assert [said["tried"] for said in bot.decisions(after)] == ["approved", "denied"]
    statement = "SELECT count(*) FROM received WHERE outcome = 'refused:not_an_approver' AND who = 'mia'"
    assert await given.sql(bot.app.services.store, statement) == 5


async def test_a_card_of_another_workspace_is_an_unknown_one(bot: Bot) -> None:
    """The same words as for an id that there is not; the try is in the journal of the task that it was about."""
    state, card = await asked(bot, writes("a.md"), "Done.")
    approvals, bob = bot.app.services.approvals, await bot.person("bob")
    with pytest.raises(NotFound, match=r"^There is no approval 1\.$"):
        await approvals.decide(press(bot, bob, approval_id=card.approval_id), within=frozenset({"elsewhere"}))
    assert (await tried(bot, state.task.task_id, "not_found"))["by"] == "bob"
    assert await received(bot, "one press") == ("refused:not_found", "bob", state.task.task_id)
    mine = press(bot, bob, "another", approval_id=card.approval_id)
    await approvals.decide(mine, within=frozenset({"office"}))
    assert (await bot.reached(state.task.task_id, "done")).task.answer == "Done."


# --- once ---


async def test_a_repeated_press_gets_the_first_answer(bot: Bot) -> None:
    """A platform sends an event again when it heard no answer: nothing is decided twice, nothing is written twice."""
    state, card = await asked(bot, writes("a.md", "b.md"), "Done.")
    approvals = bot.app.services.approvals
    bob, mia = await bot.person("bob"), await bot.person("mia")
    for _ in range(2):
        with pytest.raises(BadInput, match="mia may not decide"):
            await approvals.decide(press(bot, mia, "hers", token=card.token))
    for _ in range(2):
        assert (await approvals.decide(press(bot, bob, "his", token=card.token, items=(1,)))).status == "open"
    now = await bot.app.services.store.load(state.task.task_id)
    assert [said["by"] for said in bot.decisions(now)] == ["mia", "bob"]
    acts = await bot.app.services.access.audits()
    assert [(act.who, act.what, act.subject) for act in acts] == [
        ("bob", "approval_decided", str(card.approval_id)),
        ("mia", "press_refused", str(card.approval_id)),
    ]


async def test_of_two_approvers_at_once_one_decides(bot: Bot) -> None:
    """E1: compare and set; the other is told who did, and the effect happens once."""
    state, card = await asked(bot, writes("a.md"), "Done.")
    people = [await bot.person("bob"), await bot.person("cid")]
    answers = await asyncio.gather(*(bot.press(card, by=by) for by in people * 3), return_exceptions=True)
    winner = next(answer for answer in answers if isinstance(answer, Approval)).decided_by
    told = [str(answer) for answer in answers if isinstance(answer, Conflict)]
    assert told == [f"Approval 1 was already decided by {winner}: approved."] * 5
    done = await bot.reached(state.task.task_id, "done")
    assert [status for status, _ in bot.results(done)] == ["done"]
    assert [said["verdict"] for said in bot.decisions(done)].count("approved") == 1


async def test_a_press_on_a_withdrawn_card_does_nothing(bot: Bot) -> None:
    """E21: the task was cancelled; the try is written down after its end."""
    state, card = await asked(bot, writes("a.md"), "Done.")
    await bot.app.services.approvals.cancel(state.task.task_id)
    with pytest.raises(Conflict, match="was cancelled with its task"):
        await bot.press(card)
    after = await bot.app.services.store.load(state.task.task_id)
    assert (after.task.status, after.approvals[0].status, bot.files()) == ("cancelled", "cancelled", [])
    assert bot.decisions(after)[-1]["code"] == "already_decided"


# --- batches ---


async def test_three_verdicts_on_one_card_keep_the_order_of_the_calls(bot: Bot) -> None:
    """E20: decided alone and in any order; the results come in call order."""
    state, card = await asked(bot, writes("a.md", "b.md", "c.md"), "Done.")
    await bot.press(card, items=(3,))
    await bot.press(card, "denied", items=(1,), reason="not this")
    await bot.press(card, items=(2,))
    done = await bot.reached(state.task.task_id, "done")
    assert bot.files() == ["b.md", "c.md"]
    texts = tool_texts(bot.model.requests[-1])
    assert ["not this" in texts[0], "b.md" in texts[1], "c.md" in texts[2]] == [True, True, True]
    assert [status for status, _ in bot.results(done)] == ["denied", "done", "done"]


async def test_while_a_card_is_open_nothing_else_is_tried(bot: Bot) -> None:
    """E19: no turn of the model before the verdict, and every other way to write stops at a card of its own."""
    bot.file("old.md", "one\n")
    ways = [writes("new.md"), Reply(calls=[EDIT]), Reply(calls=[REMEMBER])]
    state, _ = await asked(bot, *ways, "I give up.")
    for turns in range(1, len(ways) + 1):
        await asyncio.sleep(0.1)
        assert len(bot.model.requests) == turns
        now = await bot.app.services.store.load(state.task.task_id)
        assert now.task.status == "waiting_approval"
        await bot.deny(state.task.task_id, reason="not that way")
    done = await bot.reached(state.task.task_id, "done")
    assert [status for status, _ in bot.results(done)] == ["denied"] * 3
    assert [card.status for card in done.approvals] == ["denied"] * 3
    assert (bot.files(), bot.file("old.md")) == (["old.md"], "one\n")


# --- changes ---


async def test_what_should_be_different_goes_back_to_the_model(bot: Bot) -> None:
    """Nothing of the card runs, and the model proposes anew in the same task."""
    state, card = await asked(bot, writes("a.md", "b.md"), writes("c.md"), "Done.")
    changed = await bot.press(card, "changes", reason="one file, by region", by=await bot.person("bob"))
    assert (changed.status, changed.decided_by) == ("changes", "bob")
    second = await bot.card(state.task.task_id)
    assert (bot.files(), second.items[0].title) == ([], "Write new file c.md")
    for text in tool_texts(bot.model.requests[-1]):
        assert "bob wants it changed: one file, by region" in text
    done = await bot.approve(state.task.task_id)
    assert (bot.files(), done.task.answer) == (["c.md"], "Done.")


# --- what a card showed ---


async def test_an_earlier_card_keeps_what_it_showed(bot: Bot) -> None:
    """The file changed between card and approval: the new card shows the new difference, the old one the old."""
    bot.file("a.md", "one\n")
    state, card = await asked(bot, Reply(calls=[("write_file", {"path": "a.md", "content": "two\n"})]), "Done.")
    bot.file("a.md", "somebody else\n")
    await bot.press(card, by=await bot.person("bob"))
    again = await bot.card(state.task.task_id)
    earlier = await bot.app.services.store.find_approval(approval_id=card.approval_id)
    assert (earlier.status, earlier.items[0].status, earlier.items[0].votes) == ("approved", "approved", ("bob",))
    assert "-one" in earlier.items[0].preview
    assert "-somebody else" in again.items[0].preview
    assert (again.items[0].votes, again.items[0].reason) == ((), "")
    await bot.press(again, by=await bot.person("cid"))
    await bot.reached(state.task.task_id, "done")
    assert bot.file("a.md") == "two\n"
    first, second = (await bot.app.services.store.load(state.task.task_id)).approvals
    assert (first.items[0].decided_by, second.items[0].decided_by) == ("bob", "cid")
