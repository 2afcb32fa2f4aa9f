"""`signoff people …` as processes: who there is, who they are elsewhere, who is let in."""

from __future__ import annotations

import asyncio

import pytest

from bot.config import load_config
from bot.services import connected
from tests.bot.conftest import Home

pytestmark = pytest.mark.slow
PEOPLE = [{"name": "Ann", "roles": ["approver"]}]


@pytest.fixture
def house(home: Home) -> Home:
    home.configure(people=PEOPLE)
    return home


def code_of(home: Home, identity: str = "lines:7", shown_name: str = "Eve") -> str:
    """What a stranger is shown who writes on a channel."""

    async def knock() -> str:
        async with connected(load_config(home.folder / "config.yaml")) as services:
            return str((await services.pairing.knock(identity, shown_name)).code)

    return asyncio.run(knock())


def test_people_are_administered_beside_a_server(house: Home) -> None:
    """Added, changed, linked and removed, each printed as it is then, and listed with everybody else."""
    with house.serving():
        added = house.signoff("people", "add", "Cem", "--role", "approver", "--budget", "2.50", "--json").json
        cem = {
            "name": "Cem",
            "roles": ["approver", "member"],
            "timezone": "UTC",
            "source": "added",
            "identities": [],
            "budget_day_usd": 2.5,
        }
        assert added == cem
        house.signoff("people", "link", "Cem", "lines:9")
        changed = house.signoff(
            "people", "change", "Cem", "--timezone", "Asia/Tokyo", "--budget", "general", "--json"
        ).json
        assert changed == cem | {"timezone": "Asia/Tokyo", "budget_day_usd": None, "identities": ["lines:9"]}
        assert house.signoff("people", "link", "Ann", "lines:8").out == "Ann: approver, member; UTC; lines:8\n"
        listed = house.signoff("people", "--json").json["people"]
        assert [(one["name"], one["source"], one["identities"]) for one in listed] == [
            ("operator", "operator", []),
            ("Ann", "configuration", ["lines:8"]),
            ("Cem", "added", ["lines:9"]),
        ]
        assert house.signoff("people", "unlink", "lines:8").out == "lines:8 is linked to nobody.\n"
        assert house.signoff("people", "remove", "Cem").out == "Cem is removed.\n"
        assert [one["name"] for one in house.signoff("people", "--json").json["people"]] == ["operator", "Ann"]


def test_strangers_are_let_in_and_turned_away(house: Home) -> None:
    """By the code they were shown, which no list has; as somebody there is, or as somebody new."""
    code = code_of(house)
    pending = house.signoff("people", "pending")
    assert "lines:7" in pending.out
    assert code not in pending.out
    assert house.signoff("people", "admit", code, "--as", "Ann", "--json").json["identities"] == ["lines:7"]
    new = house.signoff("people", "admit", code_of(house, "lines:8", "Tom"), "--role", "admin", "--json").json
    assert (new["name"], new["roles"], new["identities"]) == ("Tom", ["admin", "member"], ["lines:8"])
    code_of(house, "lines:9")
    assert house.signoff("people", "pending", "--json").json["strangers"][0]["identity"] == "lines:9"
    assert house.signoff("people", "reject", "lines:9").out == "lines:9 is turned away.\n"
    assert house.signoff("people", "pending", "--json").json == {"strangers": []}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("add", "ann"), "There is somebody named ann in config.yaml"),
        (("add", "a:b"), "'a:b' is no name"),
        (("add", "Cem", "--role", "king"), "roles.0: Input should be 'member', 'approver' or 'admin'"),
        (("add", "Cem", "--timezone", "Mars"), "timezone: 'Mars' is no IANA time zone"),
        (("add", "Cem", "--budget", "much"), "--budget much: write an amount in USD"),
        (("add", "Cem", "--budget", "-1"), "budget_day_usd: Input should be greater than 0"),
        (("change", "Ann", "--role", "admin"), "Ann stands in config.yaml under `people`"),
        (("change", "Cem"), "nobody named 'Cem'"),
        (("remove", "operator"), "The operator is whoever owns the data"),
        (("link", "Cem", "lines:7"), "nobody named 'Cem'"),
        (("link", "Ann", "console:Ann"), "'console:Ann' is no identity"),
        (("unlink", "lines:7"), "'lines:7' is linked to nobody"),
        (("admit", "1234"), "'1234' is no code; one looks like ABCD-EFGH"),
        (("admit", "AAAA-AAAA"), "Nobody who asks to be let in was shown this code"),
        (("reject", "lines:7"), "lines:7 does not ask to be let in"),
    ],
)
def test_bad_input_is_one_line(house: Home, arguments: tuple[str, ...], said: str) -> None:
    """Exit 2, nothing on stdout, and what to do about it."""
    refused = house.signoff("people", *arguments, code=2)
    assert refused.out == ""
    assert refused.err.startswith("signoff: ")
    assert refused.err.count("\n") == 1
    assert said in refused.err
