"""People who were added, their identities on channels, and those who ask to come in; on both engines."""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest

from agent.domain import Address
from agent.errors import Conflict
from agent.ports.access import Act, LoginLink, NewAudit, NewBrowserSession, NewToken
from agent.ports.people import Link, Pairing, Person
from agent.ports.store import CallChange, Step
from storage.store.access import SqlAccess
from storage.store.people import SqlRoster
from storage.store.sql import SqlStore
from tests.clock import START
from tests.storage import given
from tests.storage.conftest import OpenStore

HOUR = timedelta(hours=1)
ANN = Person(name="Ann", roles=("member",), added_at=START, added_by="operator")
BOB = Person(
    name="Bob Müller",
    roles=("member", "approver"),
    added_at=START,
    added_by="Ann",
    timezone="Europe/Berlin",
    budget_day_usd=Decimal("1.50"),
)
KNOCK = Pairing(identity="slack:U1", shown_name="annie", code="ABCDEFGH", asked_at=START, expires_at=START + HOUR)


def act(what: Act = "person_added", subject: str = "") -> NewAudit:
    return NewAudit(at=START, who="operator", what=what, subject=subject, way="cli")


def link(identity: str = "slack:U1", member: str = "Ann") -> Link:
    return Link(identity=identity, member=member, shown_name="annie", linked_at=START, linked_by="operator")


def knock(number: int, channel: str = "slack", **changes: Any) -> Pairing:
    return replace(KNOCK, identity=f"{channel}:U{number}", code=f"{channel}-{number}", **changes)


@pytest.fixture
def roster(store: SqlStore) -> SqlRoster:
    return SqlRoster(store.database)


@pytest.fixture
def access(store: SqlStore) -> SqlAccess:
    return SqlAccess(store.database)


async def acts(access: SqlAccess) -> list[str]:
    """What the audit tells, oldest first."""
    return [row.what for row in reversed(await access.audits())]


# --- persons ---


async def test_people_are_listed_by_name(roster: SqlRoster) -> None:
    """With everything that was said of them; None is as configured for everybody."""
    assert await roster.persons() == []
    for person in (replace(ANN, name="carl"), BOB, ANN):
        await roster.add_person(person, act())
    assert await roster.persons() == [ANN, BOB, replace(ANN, name="carl")]
    assert await roster.person("Bob Müller") == BOB


@pytest.mark.parametrize("name", ["ann", "ANN", " Ann", "Änn", ""])
async def test_a_person_is_found_by_the_exact_name(roster: SqlRoster, name: str) -> None:
    """Who is not exactly this is nobody."""
    await roster.add_person(ANN, act())
    assert await roster.person(name) is None
    assert not await roster.change_person(replace(ANN, name=name), act())
    assert not await roster.remove_person(name, act())


@pytest.mark.parametrize(
    ("first", "second"), [("Ann", "Ann"), ("Ann", "aNN"), ("Bob Müller", "BOB MÜLLER"), ("Strauß", "STRAUSS")]
)
async def test_a_name_is_given_once(roster: SqlRoster, access: SqlAccess, first: str, second: str) -> None:
    """Upper and lower case are one, in every script; the first keeps what it has, and the audit tells of one."""
    await roster.add_person(replace(ANN, name=first), act())
    with pytest.raises(Conflict, match="take another name") as caught:
        await roster.add_person(replace(BOB, name=second), act())
    assert caught.value.code == "person_exists"
    assert await roster.persons() == [replace(ANN, name=first)]
    assert await acts(access) == ["person_added"]


async def test_a_person_is_changed(roster: SqlRoster, access: SqlAccess) -> None:
    """Roles, time zone and budget as given, also back to none; who added them stays."""
    await roster.add_person(ANN, act())
    changed = replace(ANN, roles=("admin",), timezone="UTC", budget_day_usd=Decimal(2))
    assert await roster.change_person(replace(changed, added_by="x", added_at=START + HOUR), act("person_changed"))
    assert await roster.person("Ann") == changed
    assert await roster.change_person(ANN, act("person_changed"))
    assert await roster.person("Ann") == ANN
    assert not await roster.change_person(BOB, act("person_changed"))
    assert await acts(access) == ["person_added", "person_changed", "person_changed"]


async def test_whoever_is_removed_leaves_no_way_in(roster: SqlRoster, access: SqlAccess) -> None:
    """Links, tokens, login links and browsers go; what others have stays, and what happened stays in the audit."""
    for person in (ANN, BOB):
        await roster.add_person(person, act())
        await enter(roster, access, person.name)
    assert await roster.remove_person("Ann", act("person_removed", "Ann"))
    assert not await roster.remove_person("Ann", act("person_removed", "Ann"))
    assert await ways_in(roster, access, "Ann") == []
    assert len(await ways_in(roster, access, BOB.name)) == 4
    assert await roster.persons() == [BOB]
    assert (await acts(access)).count("person_removed") == 1
    await roster.add_person(ANN, act())
    assert await ways_in(roster, access, "Ann") == []


async def test_a_vote_is_not_taken_over_with_a_name(store: SqlStore, roster: SqlRoster) -> None:
    """On open cards the approvals of whoever had the name before are gone; those of others, and what was decided,
    stay."""
    state = await given.claimed(store)
    made = [given.call(f"c{number}", position=number, votes=("Ann", "Bob")) for number in (1, 2)]
    asked = Step(new_calls=tuple(made), approval=given.card("c1", "c2"), entries=given.said("?"))
    await store.advance(given.key(state), replace(asked, status="waiting_approval"))
    decided = Step(call_changes=(CallChange(call_id="c2", status="approved"),))
    await store.change(state.task.task_id, lambda _: decided)
    await roster.add_person(ANN, act())
    after = await store.load(state.task.task_id)
    assert [call.votes for call in after.calls] == [("Bob",), ("Ann", "Bob")]


async def test_whoever_gets_the_name_of_somebody_before_finds_no_way_in(roster: SqlRoster, access: SqlAccess) -> None:
    """One of the configuration has no row here that could be removed with what belongs to it."""
    await enter(roster, access, "Ann")
    await roster.add_person(ANN, act())
    assert await ways_in(roster, access, "Ann") == []
    await enter(roster, access, "Bob Müller")
    await roster.ask_pairing(KNOCK, 20)
    assert await roster.admit(KNOCK, BOB, link("slack:U1", BOB.name), act("pairing_admitted"))
    assert [one.identity for one in await roster.links(BOB.name)] == ["slack:U1"]
    assert await ways_in(roster, access, BOB.name) == []


async def test_a_name_that_is_taken_keeps_what_belongs_to_it(roster: SqlRoster, access: SqlAccess) -> None:
    """Who tries to add it again changes nothing."""
    await roster.add_person(ANN, act())
    await enter(roster, access, "Ann")
    with pytest.raises(Conflict):
        await roster.add_person(ANN, act())
    assert len(await ways_in(roster, access, "Ann")) == 4


async def test_whether_somebody_of_a_name_was_here(roster: SqlRoster, store: SqlStore) -> None:
    """They asked for something, or had a conversation in the console; letter by letter the same name."""
    assert not await roster.has_worked("Ann")
    await store.new_session(Address(channel="console", conversation="Ann"), "office", "")
    await store.new_session(Address(channel="slack", conversation="Cid"), "office", "")
    assert await roster.has_worked("Ann")
    await given.accept(store, sender="Bob")
    assert await roster.has_worked("Bob")
    assert [name for name in ("ann", "BOB", "Cid") if await roster.has_worked(name)] == []


async def enter(roster: SqlRoster, access: SqlAccess, name: str) -> None:
    """Every way in there is; a link that nobody used yet, too."""
    await roster.add_link(link(f"slack:{name}", name), act("identity_linked"))
    token = NewToken(member=name, label="ci", sha256="t", scopes=(), created_at=START)
    await access.save_token(token, act("token_made"))
    for number in (1, 2):
        await access.save_login_link(LoginLink(sha256=f"{name}{number}", member=name, expires_at=START + HOUR))
    browser = NewBrowserSession(member=name, sha256=name, csrf_token="c", seen_at=START, rotated_at=START)
    assert await access.log_in(f"{name}1", browser, act("login"))


async def ways_in(roster: SqlRoster, access: SqlAccess, name: str) -> list[object]:
    found = [
        await roster.link(f"slack:{name}"),
        *await access.tokens(name),
        await access.login_link(f"{name}2"),
        await access.browser_session(name),
    ]
    return [one for one in found if one is not None]


# --- links ---


async def test_identities_belong_to_people(roster: SqlRoster, access: SqlAccess) -> None:
    """Listed by identity; nobody need have been added here, the configuration has people too."""
    for identity, member in (("telegram:7", "Ann"), ("slack:U1", "Ann"), ("slack:U2", "Cleo")):
        await roster.add_link(link(identity, member), act("identity_linked"))
    assert [one.identity for one in await roster.links()] == ["slack:U1", "slack:U2", "telegram:7"]
    assert await roster.link("slack:U2") == link("slack:U2", "Cleo")
    assert await roster.link("slack:u2") is None
    assert await roster.remove_link("slack:U2", act("identity_unlinked"))
    assert not await roster.remove_link("slack:U2", act("identity_unlinked"))
    assert await roster.link("slack:U2") is None
    assert await acts(access) == ["identity_linked"] * 3 + ["identity_unlinked"]


@pytest.mark.parametrize("member", ["Ann", "Bob"])
async def test_an_identity_has_one_owner(roster: SqlRoster, access: SqlAccess, member: str) -> None:
    """Linked is linked, to whomever; the message says to whom, and what to do."""
    await roster.add_link(link(), act("identity_linked"))
    with pytest.raises(Conflict, match="slack:U1 belongs to Ann already; unlink it first") as caught:
        await roster.add_link(replace(link(), member=member, shown_name="x"), act("identity_linked"))
    assert caught.value.code == "identity_linked"
    assert await roster.links() == [link()]
    assert await acts(access) == ["identity_linked"]


async def test_linking_ends_the_asking(roster: SqlRoster) -> None:
    """Nobody admits whom an admin has linked by hand; and a link that fails ends nothing."""
    await roster.ask_pairing(KNOCK, 20)
    await roster.ask_pairing(knock(2), 20)
    await roster.add_link(link(), act("identity_linked"))
    assert await roster.pairings(START) == [knock(2)]
    assert not await roster.admit(KNOCK, None, link(), act("pairing_admitted"))


async def test_shown_names_may_hold_anything(roster: SqlRoster) -> None:
    """They come from a platform, where people choose them."""
    name = "a\x00\u202eb 😀"
    await roster.ask_pairing(replace(KNOCK, shown_name=name), 20)
    await roster.add_link(replace(link("slack:U9"), shown_name=name), act("identity_linked"))
    kept = name.replace("\x00", "\N{REPLACEMENT CHARACTER}")
    assert [one.shown_name for one in await roster.pairings(START)] == [kept]
    assert [one.shown_name for one in await roster.links()] == [kept]


# --- pairings ---


async def test_a_stranger_keeps_the_code(roster: SqlRoster) -> None:
    """However often they knock while it is open; after that it is another one."""
    assert await roster.ask_pairing(KNOCK, 20) == KNOCK
    again = replace(KNOCK, code="OTHER", shown_name="y", asked_at=START + HOUR / 2, expires_at=START + HOUR * 2)
    assert await roster.ask_pairing(again, 20) == KNOCK
    late = replace(again, asked_at=START + HOUR)
    assert await roster.ask_pairing(late, 20) == late
    assert await roster.pairings(START + HOUR) == [late]


async def test_only_so_many_ask_at_once(roster: SqlRoster) -> None:
    """Of one channel; another channel, those who ask already, and the time that passes make room."""
    for number in range(3):
        assert await roster.ask_pairing(knock(number), 3)
    assert await roster.ask_pairing(knock(3), 3) is None
    assert await roster.ask_pairing(knock(3, "telegram"), 3)
    assert await roster.ask_pairing(knock(3, "slack2"), 3)
    assert await roster.ask_pairing(knock(0, shown_name="again"), 3) == knock(0)
    assert [one.identity for one in await roster.pairings(START)] == [
        "slack2:U3", "slack:U0", "slack:U1", "slack:U2", "telegram:U3",
    ]  # fmt: skip
    later = knock(3, asked_at=START + HOUR, expires_at=START + 2 * HOUR)
    assert await roster.ask_pairing(later, 3) == later


async def test_the_longest_waiting_come_first(roster: SqlRoster) -> None:
    """Only those that are open at that moment."""
    for number, minutes in ((1, 20), (2, 0), (3, 10)):
        asked = START + timedelta(minutes=minutes)
        await roster.ask_pairing(knock(number, asked_at=asked, expires_at=asked + HOUR), 20)
    assert [one.identity for one in await roster.pairings(START)] == ["slack:U2", "slack:U3", "slack:U1"]
    assert [one.identity for one in await roster.pairings(START + HOUR)] == ["slack:U3", "slack:U1"]


async def test_an_admitted_stranger_is_a_person(roster: SqlRoster, access: SqlAccess) -> None:
    """The person, the link and the audit are there together, and the code is used up."""
    await roster.ask_pairing(KNOCK, 20)
    assert await roster.admit(KNOCK, ANN, link(), act("pairing_admitted"))
    assert (await roster.persons(), await roster.links()) == ([ANN], [link()])
    assert await roster.pairings(START) == []
    assert not await roster.admit(KNOCK, BOB, link("slack:U2"), act("pairing_admitted"))
    assert (await roster.persons(), await roster.links()) == ([ANN], [link()])
    assert await acts(access) == ["pairing_admitted"]


async def test_a_known_person_gets_one_more_identity(roster: SqlRoster) -> None:
    """Without being added once more."""
    await roster.add_person(ANN, act())
    await roster.add_link(link("telegram:7"), act("identity_linked"))
    await roster.ask_pairing(KNOCK, 20)
    assert await roster.admit(KNOCK, None, link(), act("pairing_admitted"))
    assert [one.identity for one in await roster.links()] == ["slack:U1", "telegram:7"]
    assert await roster.persons() == [ANN]


async def test_a_failed_admission_changes_nothing(roster: SqlRoster, access: SqlAccess) -> None:
    """A name that is taken, an identity that is linked: the code can be used again, with another name."""
    await roster.add_person(ANN, act())
    await roster.ask_pairing(KNOCK, 20)
    with pytest.raises(Conflict, match="somebody named ANN"):
        await roster.admit(KNOCK, replace(ANN, name="ANN"), link(member="ANN"), act("pairing_admitted"))
    await roster.add_link(link("slack:U2", "Cleo"), act("identity_linked"))
    with pytest.raises(Conflict, match="belongs to Cleo"):
        await roster.admit(KNOCK, BOB, link("slack:U2", BOB.name), act("pairing_admitted"))
    assert await roster.pairings(START) == [KNOCK]
    assert await roster.persons() == [ANN]
    assert await acts(access) == ["person_added", "identity_linked"]
    assert await roster.admit(KNOCK, BOB, link(member=BOB.name), act("pairing_admitted"))


@pytest.mark.parametrize(
    ("pairing", "late"),
    [(replace(KNOCK, code="WRONG"), timedelta()), (replace(KNOCK, identity="slack:U2"), timedelta()), (KNOCK, HOUR)],
    ids=["another code", "another identity", "too late"],
)
async def test_a_code_admits_one_stranger_in_its_time(roster: SqlRoster, pairing: Pairing, late: timedelta) -> None:
    """A pairing that was looked at and has ended or been replaced since admits nobody."""
    await roster.ask_pairing(KNOCK, 20)
    assert not await roster.admit(pairing, ANN, link(), replace(act("pairing_admitted"), at=START + late))
    assert (await roster.persons(), await roster.links()) == ([], [])
    moment_before = replace(act("pairing_admitted"), at=KNOCK.expires_at - timedelta(microseconds=1))
    assert await roster.admit(KNOCK, ANN, link(), moment_before)


async def test_a_rejected_stranger_may_knock_again(roster: SqlRoster, access: SqlAccess) -> None:
    """The code is gone; a new one can be asked for."""
    await roster.ask_pairing(KNOCK, 20)
    assert await roster.reject("slack:U1", act("pairing_rejected"))
    assert not await roster.reject("slack:U1", act("pairing_rejected"))
    assert not await roster.admit(KNOCK, ANN, link(), act("pairing_admitted"))
    anew = replace(KNOCK, code="ANEW")
    assert await roster.ask_pairing(anew, 20) == anew
    assert await acts(access) == ["pairing_rejected"]


# --- at the same moment ---


async def test_two_admins_admit_one_stranger(roster: SqlRoster, open_another: OpenStore) -> None:
    """Under different names, at two processes: one of them does."""
    for attempt in range(5):
        pairing = knock(attempt)
        await roster.ask_pairing(pairing, 20)
        rosters = [roster, SqlRoster((await open_another()).database)]
        admitted = await asyncio.gather(
            *(
                one.admit(
                    pairing,
                    replace(ANN, name=f"P{attempt}{place}"),
                    link(pairing.identity, f"P{attempt}{place}"),
                    act("pairing_admitted"),
                )
                for place, one in enumerate(rosters)
            )
        )
        assert sorted(admitted) == [False, True]
        owner = await roster.link(pairing.identity)
        assert owner
        assert [person.name for person in await roster.persons() if person.name.startswith(f"P{attempt}")] == [
            owner.member
        ]


async def test_many_knock_at_once(roster: SqlRoster, open_another: OpenStore) -> None:
    """At two processes, together no more than are let in; the same stranger gets one code everywhere."""
    rosters = [roster, SqlRoster((await open_another()).database)]
    knocks = (rosters[n % 2].ask_pairing(knock(n), 3) for n in range(10))
    assert Counter(one is None for one in await asyncio.gather(*knocks)) == {False: 3, True: 7}
    same = (rosters[n % 2].ask_pairing(replace(KNOCK, identity="x:1", code=f"code {n}"), 3) for n in range(8))
    assert len(set(await asyncio.gather(*same))) == 1
    assert len(await roster.pairings(START)) == 4


async def test_a_name_is_given_once_by_many(roster: SqlRoster, open_another: OpenStore) -> None:
    """Who is slower hears that it is taken, not that a database failed."""
    rosters = [roster, SqlRoster((await open_another()).database)]
    adds = (rosters[n % 2].add_person(replace(ANN, added_by=f"admin {n}"), act()) for n in range(6))
    outcomes = await asyncio.gather(*adds, return_exceptions=True)
    assert Counter(type(outcome).__name__ for outcome in outcomes) == {"NoneType": 1, "Conflict": 5}
    links = (rosters[n % 2].add_link(link(member=f"M{n}"), act("identity_linked")) for n in range(6))
    outcomes = await asyncio.gather(*links, return_exceptions=True)
    assert Counter(type(outcome).__name__ for outcome in outcomes) == {"NoneType": 1, "Conflict": 5}


async def test_damaged_roles_are_none(store: SqlStore, roster: SqlRoster) -> None:
    """A row that cannot be read gives no power, and hides nobody else."""
    for person in (ANN, BOB):
        await roster.add_person(person, act())
    await given.sql(store, "UPDATE persons SET roles = '[\"admin' WHERE name = 'Ann'")
    assert [person.roles for person in await roster.persons()] == [(), BOB.roles]
