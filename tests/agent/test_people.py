"""The people we know."""

from __future__ import annotations

from decimal import Decimal

import pytest
from pydantic import ValidationError

from agent.domain import OPERATOR
from agent.errors import NotFound
from agent.people import People, PersonSettings

ANN = PersonSettings(name="Ann", roles=("approver",), timezone="Europe/Berlin", budget_day_usd=Decimal(20))


def test_the_operator_always_exists() -> None:
    """With every role, in the time zone of the installation."""
    [operator] = People(timezone="Asia/Tokyo").all()
    assert (operator.name, operator.roles, operator.timezone) == ("operator", OPERATOR.roles, "Asia/Tokyo")


def test_everybody_is_a_member() -> None:
    """Roles say what else somebody is; the time zone of the installation is that of whoever has none."""
    people = People([ANN, PersonSettings(name="Bob")], timezone="Asia/Tokyo")
    assert [member.name for member in people.all()] == ["operator", "Ann", "Bob"]
    assert people.member("Ann").roles == {"member", "approver"}
    assert people.member("Bob").roles == {"member"}
    assert (people.member("Ann").timezone, people.member("Bob").timezone) == ("Europe/Berlin", "Asia/Tokyo")


def test_a_cap_of_ones_own() -> None:
    """Nobody we know has none."""
    people = People([ANN])
    assert [people.budget_day_usd(name) for name in ("Ann", "operator", "webhook:x")] == [Decimal(20), None, None]


def test_an_unknown_person_is_not_found() -> None:
    """Names are exact."""
    with pytest.raises(NotFound, match="nobody named 'ann'"):
        People([ANN]).member("ann")


@pytest.mark.parametrize("name", ["Ann", "Ann-Marie O'Neil", "ann@example.com", "Ümit", "王芳", "a", "J. R."])
def test_names_that_people_have(name: str) -> None:
    """In every script, with spaces and signs that names have."""
    assert PersonSettings(name=name).name == name


@pytest.mark.parametrize(
    "name", ["", " Ann", "Ann ", "a:b", "a/b", "Ann*", "[a]", "a\nb", "_", "-x", "x" * 65, "Operator", "MEMBER"]
)
def test_names_that_would_be_mistaken_for_something_else(name: str) -> None:
    """Parts of an address, patterns, roles, the operator."""
    with pytest.raises(ValidationError):
        PersonSettings(name=name)
