"""The people we know."""

from __future__ import annotations

from collections.abc import AsyncIterator
from decimal import Decimal
from pathlib import Path

import pytest
from pydantic import ValidationError

from agent.domain import OPERATOR, Address
from agent.errors import BadInput, Conflict, NotFound
from agent.people import PersonSettings, direct_address, is_identity
from agent.ports.access import NewAudit
from tests.agent.rows_of_people import Rows, described, opened
from tests.clock import START

ANN = PersonSettings(name="Ann", roles=("approver",), timezone="Europe/Berlin", budget_day_usd=Decimal(20))
REMOVED = NewAudit(at=START, who="operator", what="person_removed")


@pytest.fixture
async def rows(tmp_path: Path) -> AsyncIterator[Rows]:
    async with opened(tmp_path) as found:
        yield found


async def test_the_operator_always_exists(rows: Rows) -> None:
    """With every role, in the time zone of the installation; on no channel."""
    people = rows.people(timezone="Asia/Tokyo")
    [operator] = await people.all()
    assert (operator.name, operator.roles, operator.timezone) == ("operator", OPERATOR.roles, "Asia/Tokyo")
    assert people.operator == operator == await people.member("operator")
    assert operator.identities == frozenset()


async def test_everybody_is_a_member(rows: Rows) -> None:
    """Roles say what else somebody is; the time zone of the installation is that of whoever has none."""
    people = rows.people(ANN, PersonSettings(name="Bob"), timezone="Asia/Tokyo")
    await rows.add("zoe", "admin")
    await rows.add("Cem", timezone="Europe/Rome")
    assert [member.name for member in await people.all()] == ["operator", "Ann", "Bob", "Cem", "zoe"]
    found = await people.by_name()
    assert found["Ann"].roles == {"member", "approver"}
    assert found["Bob"].roles == found["Cem"].roles == {"member"}
    assert found["zoe"].roles == {"member", "admin"}
    zones = [found[name].timezone for name in ("Ann", "Bob", "Cem", "zoe")]
    assert zones == ["Europe/Berlin", "Asia/Tokyo", "Europe/Rome", "Asia/Tokyo"]
    assert [await people.member(name) for name in found] == list(found.values())


async def test_a_cap_of_ones_own(rows: Rows) -> None:
    """Nobody we know has none."""
    people = rows.people(ANN)
    await rows.add("Cem")
    caps = [await people.budget_day_usd(name) for name in ("Ann", "Cem", "operator", "webhook:x")]
    assert caps == [Decimal(20), None, None, None]


async def test_an_unknown_person_is_not_found(rows: Rows) -> None:
    """Names are exact, and what can be no name is nobody's."""
    people = rows.people(ANN)
    await rows.add("Cem")
    for name in ("ann", "cem", "CEM", "nobody", "", "a\0b", "slack:U1"):
        with pytest.raises(NotFound, match="There is nobody named"):
            await people.member(name)


async def test_a_change_holds_at_once(rows: Rows) -> None:
    """For whoever reads the same database: another process, an open card."""
    people, elsewhere = rows.people(ANN), rows.people(ANN)
    await rows.add("Cem", "approver")
    assert (await elsewhere.member("Cem")).roles == {"member", "approver"}
    await rows.change("Cem")
    assert (await elsewhere.member("Cem")).roles == {"member"} == (await elsewhere.by_name())["Cem"].roles
    await rows.roster.remove_person("Cem", REMOVED)
    assert "Cem" not in await people.by_name()
    with pytest.raises(NotFound):
        await elsewhere.member("Cem")


async def test_identities_are_linked_to_people(rows: Rows) -> None:
    """Of the configuration or added; each is one person's, a person may have several."""
    people = rows.people(ANN)
    await rows.add("Cem")
    for name, identity in (("Ann", "slack:U1"), ("Ann", "telegram:7"), ("Cem", "slack:U2")):
        await rows.link(name, identity)
    ann = await people.known_as("telegram:7")
    assert described(ann) == ("Ann", ["approver", "member"], ["slack:U1", "telegram:7"])
    assert described(await people.known_as("slack:U2")) == ("Cem", ["member"], ["slack:U2"])
    assert (await people.by_name())["Ann"] == ann
    for stranger in ("slack:U3", "slack:u1", "telegram:U1", "Ann", "console:Ann", ""):
        assert await people.known_as(stranger) is None


async def test_whoever_was_removed_is_a_stranger(rows: Rows) -> None:
    """Also on the channels where they were known; a name given anew finds none of that."""
    people = rows.people(ANN)
    await rows.add("Cem")
    await rows.link("Cem", "slack:U2")
    await rows.link("Ann", "slack:U1")
    await rows.roster.remove_person("Cem", REMOVED)
    assert await people.known_as("slack:U2") is None
    await rows.add("Cem")
    assert await people.known_as("slack:U2") is None
    assert await rows.people().known_as("slack:U1") is None  # Ann was taken out of the configuration


async def test_the_configuration_wins(rows: Rows) -> None:
    """Over an added person of the same name, in whatever letters, and over a link of an identity that stands there."""
    await rows.add("ANN", "admin")
    await rows.add("Cem", "admin")
    await rows.link("Cem", "slack:U1")
    people = rows.people(PersonSettings(name="Ann", slack="U1"))
    assert [described(member) for member in await people.all()][1:] == [
        ("Ann", ["member"], ["slack:U1"]),
        ("Cem", ["admin", "member"], []),
    ]
    assert described(await people.known_as("slack:U1")) == ("Ann", ["member"], ["slack:U1"])
    with pytest.raises(NotFound):
        await people.member("ANN")


@pytest.mark.parametrize("name", ["Ann", "ann", "ANN", "operator", "Admin", "", "a:b"])
async def test_names_that_are_not_to_be_had(rows: Rows, name: str) -> None:
    """Those of the configuration, in whatever letters, and what is no name."""
    with pytest.raises((BadInput, Conflict)):
        rows.people(ANN).new_name(name)
    assert rows.people(ANN).new_name("Anna") == "Anna"


@pytest.mark.parametrize(
    "name", ["Ann", "Ann-Marie O'Neil", "ann@example.com", "Ümit", "Straße", "王芳 Lee", "Анна", "Ελένη", "a", "J. R."]
)
def test_names_that_people_have(name: str) -> None:
    """In every script, with spaces and signs that names have."""
    assert PersonSettings(name=name).name == name


@pytest.mark.parametrize(
    "name",
    [
        "",
        " Ann",
        "Ann ",
        "a:b",
        "a/b",
        "Ann*",
        "[a]",
        "a\nb",
        "_",
        "-x",
        "x" * 65,
        "Operator",
        "MEMBER",
        "A\N{CYRILLIC SMALL LETTER EN}n",
        "\N{GREEK CAPITAL LETTER ALPHA}nn",
        "\N{LATIN SMALL LIGATURE FF}",
        "\N{FULLWIDTH LATIN CAPITAL LETTER A}nn",
        "Ann  Lee",
        "\N{CYRILLIC SMALL LETTER O}perator",
    ],
)
def test_names_that_would_be_mistaken_for_something_else(name: str) -> None:
    """Parts of an address, patterns, roles, the operator."""
    with pytest.raises(ValidationError):
        PersonSettings(name=name)


@pytest.mark.parametrize(
    ("identity", "is_one"),
    [
        ("slack:U012AB3CD", True),
        ("telegram:4242", True),
        ("teams:29:1abc-_D", True),
        ("lines:bob", True),
        ("console:Ann", False),
        ("cli:operator", False),
        ("webhook:demo", False),
        ("cron:daily", False),
        ("slack:", False),
        ("slack", False),
        (":U1", False),
        ("Slack:U1", False),
        ("slack:U 1", False),
        ("slack:U1/7", False),
        ("slack:Zoë", False),
        ("slack:U1\n", False),
        ("slack:" + "U" * 129, False),
    ],
)
def test_what_an_identity_is(identity: str, is_one: bool) -> None:
    """An id on a chat platform; where a name is all there is, it would open somebody else's console."""
    assert is_identity(identity) == is_one


def test_where_a_person_is_written_to_alone() -> None:
    """The conversation is the person's own id."""
    assert direct_address("slack:U1") == Address(channel="slack", conversation="U1")
    assert direct_address("teams:29:1a") == Address(channel="teams", conversation="29:1a")
