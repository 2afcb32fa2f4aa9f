"""The people we know: those of the configuration, and the operator who owns the data directory."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Annotated, get_args

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from agent.domain import OPERATOR, Member, Role
from agent.errors import NotFound
from agent.zones import Zone

# No `:` and `/`, which separate the parts of an address, and nothing that a pattern over addresses would read.
_NAME = re.compile(r"[^\W_](?:[\w .@'-]{0,62}[\w.])?")


def _name(text: str) -> str:
    if not _NAME.fullmatch(text):
        raise ValueError(f"{text!r} is no name: use letters, digits, spaces and . _ - @ ', at most 64 characters")
    if text.casefold() in {*get_args(Role), OPERATOR.name}:
        raise ValueError(f"{text!r} is the name of a role or of the operator; give the person another one")
    return text


class PersonSettings(BaseModel):
    """One of `people`. Everybody is a member; `roles` says what else. `budget_day_usd` replaces
    `agent.budget.member_day_usd`, `timezone` replaces `bot.timezone`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: Annotated[str, AfterValidator(_name)]
    roles: tuple[Role, ...] = ()
    timezone: Zone | None = None
    budget_day_usd: Annotated[Decimal, Field(gt=0)] | None = None


class People:
    """Everybody by name; `operator` always exists."""

    def __init__(self, settings: Iterable[PersonSettings] = (), *, timezone: str = "UTC") -> None:
        members = [replace(OPERATOR, timezone=timezone), *(_member(person, timezone) for person in settings)]
        self._members = {member.name: member for member in members}

    def member(self, name: str) -> Member:
        """One person; NotFound."""
        if name not in self._members:
            raise NotFound(f"There is nobody named {name!r}; people are listed under `people` in config.yaml.")
        return self._members[name]

    def all(self) -> Sequence[Member]:
        """The operator, then the others in the order of the configuration."""
        return tuple(self._members.values())

    def budget_day_usd(self, name: str) -> Decimal | None:
        """What a person's tasks may cost a day; None for whoever has no cap of their own, or is nobody we know."""
        member = self._members.get(name)
        return member.budget_day_usd if member else None


def _member(person: PersonSettings, timezone: str) -> Member:
    return Member(
        name=person.name,
        roles=frozenset({"member", *person.roles}),
        timezone=person.timezone or timezone,
        budget_day_usd=person.budget_day_usd,
    )
