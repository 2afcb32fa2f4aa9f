"""The people we know: those of the configuration, those an admin added, and the operator, who owns the data."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Annotated, get_args

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from agent.domain import OPERATOR, Address, Member, Role
from agent.errors import BadInput, Conflict, NotFound
from agent.platform_ids import SlackMember, TelegramUser
from agent.policy import PolicySettings
from agent.ports.people import Link, Person, Roster
from agent.zones import Zone

# No `:` and `/`, which separate the parts of an address, and nothing that a pattern over addresses would read.
_NAME = re.compile(r"[^\W_](?:[\w .@'-]{0,62}[\w.])?")
_ALIKE = frozenset({"LATIN", "CYRILLIC", "GREEK", "ARMENIAN", "CHEROKEE"})
_IDENTITY = re.compile(r"[a-z][a-z0-9_-]{0,31}:[!-.0-~]{1,128}")
_NO_CHAT = frozenset({"console", "cli", "webhook", "cron", "callback"})
"""Where nobody is told from others by a platform's id: a link to one of these would open another person's console."""


def person_name(text: str) -> str:
    """A name that a person can have, as it is; ValueError says why it cannot be one."""
    if not is_name(text):
        raise ValueError(f"{text!r} is no name: use letters, digits, spaces and . _ - @ ', at most 64 characters")
    if unicodedata.normalize("NFKC", text) != text or "  " in text or len(_alphabets(text)) > 1:
        raise ValueError(
            f"{text!r} looks like another name than it is: use plain letters of one alphabet, and single spaces"
        )
    if text.casefold() in {*get_args(Role), OPERATOR.name}:
        raise ValueError(f"{text!r} is the name of a role or of the operator; give the person another one")
    return text


def _alphabets(text: str) -> set[str]:
    """Those of a text whose letters pass for each other's, such as the a of each."""
    first_words = {unicodedata.name(letter, "").partition(" ")[0] for letter in text if letter.isalpha()}
    return first_words & _ALIKE


def is_name(text: str) -> bool:
    """Whether a person, or the operator, could have this name."""
    return bool(_NAME.fullmatch(text))


def is_identity(text: str) -> bool:
    """Whether this is `channel:id` of somebody on a chat platform."""
    return bool(_IDENTITY.fullmatch(text)) and text.partition(":")[0] not in _NO_CHAT


def direct_address(identity: str) -> Address:
    """Where a person is written to alone."""
    channel, _, who = identity.partition(":")
    return Address(channel=channel, conversation=who)


def console_of(member: Member) -> Address:
    """A member's conversation in the console, without a thread."""
    return Address(channel="console", conversation=member.name)


def home_of(member: Member) -> Address:
    """Where a member works alone: in their console, or, when it is only a channel that lets them in and their identity
    is their name, in their direct messages. What is open to every console is not open to those."""
    return console_of(member) if is_name(member.name) else direct_address(member.name)


class PersonSettings(BaseModel):
    """One of `people`. Everybody is a member; `roles` says what else. `slack` and `telegram` are their ids there.
    `budget_day_usd` replaces `agent.budget.member_day_usd`, `timezone` replaces `bot.timezone`, `policy` only tightens.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: Annotated[str, AfterValidator(person_name)]
    roles: tuple[Role, ...] = ()
    timezone: Zone | None = None
    budget_day_usd: Annotated[Decimal, Field(gt=0)] | None = None
    policy: PolicySettings = PolicySettings()
    slack: SlackMember | None = None
    telegram: TelegramUser | None = None

    @property
    def identities(self) -> frozenset[str]:
        """The person's ids on channels."""
        ids = {"slack": self.slack, "telegram": self.telegram}
        return frozenset(f"{channel}:{one}" for channel, one in ids.items() if one is not None)


class People:
    """Everybody by name and by identity; `operator` always exists.

    The configuration wins: an added person of a name that stands there does not count, nor does a link of an identity
    that stands there. What was added is read at each use, so that a change holds at once in every process.
    """

    def __init__(self, settings: Iterable[PersonSettings], roster: Roster, *, timezone: str = "UTC") -> None:
        self._settings = {person.name: person for person in settings}
        self._roster = roster
        self._timezone = timezone
        self._taken = {name.casefold() for name in (OPERATOR.name, *self._settings)}
        self._configured = {identity: one.name for one in self._settings.values() for identity in one.identities}

    @property
    def operator(self) -> Member:
        """Whoever owns the data directory."""
        return replace(OPERATOR, timezone=self._timezone)

    def configured(self, name: str) -> bool:
        """Whether the configuration has this name, upper and lower case being one."""
        return name.casefold() in self._taken

    def new_name(self, text: str) -> str:
        """A name that somebody can be added under, as far as the configuration goes; BadInput, Conflict."""
        try:
            name = person_name(text)
        except ValueError as error:
            raise BadInput(f"{error}.", field="name") from None
        if self.configured(name):
            raise Conflict(f"There is somebody named {name} in config.yaml; take another name.", code="person_exists")
        return name

    async def member(self, name: str) -> Member:
        """One person, by the exact name; NotFound."""
        if name == OPERATOR.name:
            return self.operator
        person = await self._person(name)
        if person is None:
            raise NotFound(f"There is nobody named {name!r}; `signoff people` lists who there is.")
        return self._member(person, await self._roster.links(name))

    async def known_as(self, identity: str) -> Member | None:
        """Whose an identity (`channel:id`) is; None for a stranger."""
        name = self._configured.get(identity)
        if name is None:
            link = await self._roster.link(identity)
            name = link.member if link else None
        try:
            return None if name is None else await self.member(name)
        except NotFound:  # taken out of the configuration
            return None

    async def all(self) -> Sequence[Member]:
        """The operator, then the others in the order of the configuration, then those who were added, by name."""
        added = [person for person in await self._roster.persons() if not self.configured(person.name)]
        links = await self._roster.links()
        return (
            self.operator,
            *(self._member(person, links) for person in self._settings.values()),
            *(self._member(person, links) for person in added),
        )

    async def by_name(self) -> Mapping[str, Member]:
        """Everybody."""
        return {member.name: member for member in await self.all()}

    async def budget_day_usd(self, name: str) -> Decimal | None:
        """What a person's tasks may cost a day; None for whoever has no cap of their own, or is nobody we know."""
        person = await self._person(name)
        return person.budget_day_usd if person else None

    async def _person(self, name: str) -> PersonSettings | Person | None:
        if self.configured(name):
            return self._settings.get(name)
        return await self._roster.person(name) if is_name(name) else None

    def _member(self, person: PersonSettings | Person, links: Sequence[Link]) -> Member:
        linked = {link.identity for link in links if link.member == person.name} - self._configured.keys()
        named = person.identities if isinstance(person, PersonSettings) else frozenset()
        return Member(
            name=person.name,
            identities=named | linked,
            roles=frozenset({"member", *person.roles}),
            timezone=person.timezone or self._timezone,
            budget_day_usd=person.budget_day_usd,
        )
