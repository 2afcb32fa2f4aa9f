"""How a stranger comes in."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from agent.domain import OPERATOR, Member
from agent.errors import BadInput, Conflict, Forbidden, NotFound
from agent.pairing import HOLDS, LETTERS, MOST_OPEN, TRIES, TRIES_WITHIN, Pairing
from agent.people import PersonSettings
from agent.ports.access import NewAudit
from tests.agent.rows_of_people import Rows, described, opened
from tests.clock import START

ZOE = Member(name="Zoe", roles=frozenset({"member", "admin"}))
APPROVER = Member(name="Bob", roles=frozenset({"member", "approver"}))
WRONG = "AAAA-AAAA"


@pytest.fixture
async def rows(tmp_path: Path) -> AsyncIterator[Rows]:
    async with opened(tmp_path) as found:
        yield found


@pytest.fixture
def pairing(rows: Rows) -> Pairing:
    return rows.pairing(PersonSettings(name="Ann", roles=("approver",)))


async def code_of(pairing: Pairing, identity: str = "slack:U1", shown_name: str = "Eve") -> str:
    knock = await pairing.knock(identity, shown_name)
    assert knock.code is not None
    assert knock.code in knock.text
    return knock.code


async def test_a_stranger_is_shown_a_code(pairing: Pairing) -> None:
    """Eight letters in two groups, none of which is taken for another, and what to do with it."""
    code = await code_of(pairing)
    assert len(code) == 9
    assert code[4] == "-"
    assert set(code.replace("-", "")) <= set(LETTERS)
    assert not set(LETTERS) & set("ILOU01")
    assert f"/pair {code}" in (await pairing.knock("slack:U1", "Eve")).text


async def test_the_code_stays_while_it_is_open(rows: Rows, pairing: Pairing) -> None:
    """Whoever asks again finds the same one, until it has expired; others have others."""
    first = await code_of(pairing)
    rows.clock.advance(HOLDS.total_seconds() - 1)
    assert await code_of(pairing) == first != await code_of(pairing, "slack:U2")
    rows.clock.advance(1)
    assert await code_of(pairing) != first


async def test_who_asks_is_listed_for_admins(rows: Rows, pairing: Pairing) -> None:
    """The first first, without those whose code has expired."""
    await code_of(pairing, "slack:U1", "Eve")
    rows.clock.advance(60)
    await code_of(pairing, "telegram:7", "Tom")
    assert [(one.identity, one.shown_name) for one in await pairing.waiting(ZOE)] == [
        ("slack:U1", "Eve"),
        ("telegram:7", "Tom"),
    ]
    rows.clock.advance(HOLDS.total_seconds() - 60)
    assert [one.identity for one in await pairing.waiting(OPERATOR)] == ["telegram:7"]


async def test_nobody_floods_the_list(pairing: Pairing) -> None:
    """At most 20 strangers of a channel ask at a time; those who do keep their code, other channels are open."""
    first = await code_of(pairing, "slack:U0")
    for number in range(1, MOST_OPEN):
        await code_of(pairing, f"slack:U{number}")
    refused = await pairing.knock("slack:late", "Late")
    assert refused.code is None
    assert "Ask an admin" in refused.text
    assert await code_of(pairing, "slack:U0") == first
    await code_of(pairing, "telegram:7")
    await pairing.reject("slack:U3", ZOE)
    await code_of(pairing, "slack:late")


async def test_an_admin_admits_a_new_person(rows: Rows, pairing: Pairing) -> None:
    """Under a name and with roles of their choice, from now on known by their identity."""
    code = await code_of(pairing, shown_name="~*Eve*~")
    member = await pairing.admit(code, ZOE, "Eve", ["approver"], way="console", client="::1")
    assert described(member) == ("Eve", ["approver", "member"], ["slack:U1"])
    assert await pairing.people.known_as("slack:U1") == member
    assert await pairing.waiting(ZOE) == []
    [act] = await rows.access.audits()
    assert (act.who, act.what, act.subject, act.way, act.client) == (
        "Zoe",
        "pairing_admitted",
        "Eve",
        "console",
        "::1",
    )
    assert act.detail == {"identity": "slack:U1", "new": True, "roles": ["approver"], "code": code.replace("-", "")}


async def test_without_a_name_it_is_their_own(pairing: Pairing) -> None:
    """As the platform gave it, if a person can be named so."""
    assert (await pairing.admit(await code_of(pairing), ZOE)).name == "Eve"
    odd = await code_of(pairing, "slack:U2", "~*Tom*~")
    with pytest.raises(BadInput, match="is no name"):
        await pairing.admit(odd, ZOE)
    assert (await pairing.admit(odd, ZOE, "Tom")).name == "Tom"


@pytest.mark.parametrize("shown_name", ["Ann", "ann", "Cem", "CEM", "operator", "admin"])
async def test_nobody_becomes_somebody_by_calling_themselves_so(rows: Rows, pairing: Pairing, shown_name: str) -> None:
    """A shown name is anybody's choice: it links to nobody we know, unless the admin says so."""
    await rows.add("Cem", "admin")
    code = await code_of(pairing, shown_name=shown_name)
    with pytest.raises((BadInput, Conflict)):
        await pairing.admit(code, ZOE)
    assert await pairing.people.known_as("slack:U1") is None
    assert (await pairing.admit(code, ZOE, "Eve")).roles == {"member"}


@pytest.mark.parametrize("name", ["Ann", "Cem"])
async def test_an_identity_is_linked_to_somebody_there_is(rows: Rows, pairing: Pairing, name: str) -> None:
    """Of the configuration or added; they keep their roles."""
    await rows.add("Cem", "approver")
    code = await code_of(pairing)
    with pytest.raises(BadInput, match=f"{name} is known already and keeps their roles"):
        await pairing.admit(code, ZOE, name, ["admin"])
    member = await pairing.admit(code.lower().replace("-", " "), ZOE, name)
    assert described(member) == (name, ["approver", "member"], ["slack:U1"])


@pytest.mark.parametrize("name", ["operator", "Operator", "ANN", "approver", "a:b", ""])
async def test_names_that_cannot_be_given(pairing: Pairing, name: str) -> None:
    """Nobody is the operator by way of a chat; the code stays open for another try."""
    code = await code_of(pairing)
    with pytest.raises((BadInput, Conflict)):
        await pairing.admit(code, ZOE, name)
    assert [one.identity for one in await pairing.waiting(ZOE)] == ["slack:U1"]


async def test_only_admins_let_somebody_in(rows: Rows, pairing: Pairing) -> None:
    """Whoever else tries learns nothing about codes."""
    code = await code_of(pairing)
    for tried in (code, WRONG):
        with pytest.raises(Forbidden, match="it is for the role admin"):
            await pairing.admit(tried, APPROVER, "Eve", ["admin"])
        with pytest.raises(Forbidden):
            await pairing.reject(tried, APPROVER)
    with pytest.raises(Forbidden):
        await pairing.reject("slack:U1", APPROVER)
    with pytest.raises(Forbidden):
        await pairing.waiting(APPROVER)
    assert len(await pairing.waiting(ZOE)) == 1
    assert await rows.acts() == []


async def test_codes_are_not_to_be_guessed(rows: Rows, pairing: Pairing) -> None:
    """Five wrong ones and an admin waits an hour, even with the right one; another admin does not."""
    code = await code_of(pairing)
    for _ in range(TRIES):
        with pytest.raises(NotFound, match="Nobody who asks to be let in was shown this code"):
            await pairing.admit(WRONG, ZOE, way="api")
        rows.clock.advance(60)
    for tried in (code, WRONG):
        with pytest.raises(Conflict, match="Too many wrong codes"):
            await pairing.admit(tried, ZOE)
        with pytest.raises(Conflict, match="Too many wrong codes"):
            await pairing.reject(tried, ZOE)
    assert await rows.acts() == [("Zoe", "pairing_refused", "")] * TRIES
    with pytest.raises(NotFound):
        await pairing.admit(WRONG, OPERATOR)
    rows.clock.advance(TRIES_WITHIN.total_seconds() - TRIES * 60)
    assert (await pairing.admit(await code_of(pairing), ZOE, "Eve")).name == "Eve"


@pytest.mark.parametrize("code", ["", "ABCD", "ABCDEFGHJ", "1234-5678", "ILOU-ILOU", "slack", "a\0b"])
async def test_what_is_no_code_is_no_try(rows: Rows, pairing: Pairing, code: str) -> None:
    """A typing mistake is told and not counted."""
    with pytest.raises(BadInput, match="is no code; one looks like ABCD-EFGH"):
        await pairing.admit(code, ZOE)
    assert await rows.acts() == []


async def test_an_expired_code_is_a_wrong_one(rows: Rows, pairing: Pairing) -> None:
    """After an hour it lets nobody in."""
    code = await code_of(pairing)
    rows.clock.advance(HOLDS.total_seconds())
    with pytest.raises(NotFound, match="codes hold for an hour"):
        await pairing.admit(code, ZOE)


async def test_a_code_lets_in_once(pairing: Pairing) -> None:
    """Used is used; only the admin who used it gets the same answer again, in case that they never got the first."""
    code = await code_of(pairing)
    eve = await pairing.admit(code, ZOE, "Eve")
    assert await pairing.admit(code, ZOE, "Eve") == eve
    with pytest.raises(NotFound):
        await pairing.admit(code, ZOE, "Mallory")
    assert "Mallory" not in await pairing.people.by_name()


async def test_a_stranger_is_turned_away(rows: Rows, pairing: Pairing) -> None:
    """By code or by identity; they may ask again and get another code."""
    code = await code_of(pairing)
    await pairing.reject(code, ZOE)
    again = await code_of(pairing)
    assert again != code
    await pairing.reject("slack:U1", ZOE, way="cli")
    assert await pairing.waiting(ZOE) == []
    with pytest.raises(NotFound, match="slack:U1 does not ask to be let in"):
        await pairing.reject("slack:U1", ZOE)
    assert await rows.acts() == [("Zoe", "pairing_rejected", "slack:U1")] * 2


async def test_a_stranger_does_not_become_somebody_who_was_here(rows: Rows, pairing: Pairing) -> None:
    """What they call themselves is their own choice; the files of whoever had that name are not. An admin says it."""
    await rows.add("Eve")
    await rows.worked("Eve")
    assert await rows.roster.remove_person("Eve", NewAudit(at=START, who="Zoe", what="person_removed"))
    code = await code_of(pairing)
    with pytest.raises(Conflict, match="was here before") as refusal:
        await pairing.admit(code, ZOE)
    assert refusal.value.code == "name_used"
    assert await pairing.people.known_as("slack:U1") is None
    assert described(await pairing.admit(code, ZOE, "Eve")) == ("Eve", ["member"], ["slack:U1"])
    assert (await pairing.admit(code, ZOE)).name == "Eve", "the same once more is the same"
