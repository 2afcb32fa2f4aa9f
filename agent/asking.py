"""Where a card is shown: in the conversation, or where the workspace says, and then only there."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, get_args

import structlog
from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from agent import policy_texts as texts
from agent.addresses import parse
from agent.domain import OPERATOR, Address, ApproverRule, Member, Role
from agent.people import People, direct_address
from agent.policy import fits
from agent.ports.store import TaskState

log = structlog.get_logger()

CONSOLE = "console"
"""As an entry of `to`: only where every card is anyhow."""
_UNSEEN = frozenset({"console", "cli", "webhook", "callback", "cron"})
"""Channels where a card cannot be sent to somebody who did not ask."""
_NO_PERSON = frozenset({"webhook", "callback", "cron"})
"""Channels where nobody reads what is sent."""


def _entry(text: str) -> str:
    if ":" not in text:
        return text
    address = parse(text)
    if address is None or address.channel in _UNSEEN:
        raise ValueError(f"{text!r} is no conversation; write slack:C0123, a role, a person, or console")
    return text


class ApprovalsSettings(BaseModel):
    """`to`: conversations (`slack:C0123`), people and roles (their direct messages), or `console`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    to: Annotated[tuple[Annotated[str, AfterValidator(_entry)], ...], Field(min_length=1)]


@dataclass(frozen=True, kw_only=True, slots=True)
class Places:
    """The addresses that get a card, where that is in words, and what is to be said about it on the card."""

    card: tuple[Address, ...]
    where: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True)
class Spot:
    """One that an entry of `to` names, in words; the console is `reached` without an address."""

    words: str
    reached: bool
    addresses: Sequence[Address] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Asking:
    """Finds the places. `to` is what each workspace says, `channels` are those that run."""

    people: People
    to: Mapping[str, Sequence[str]]
    channels: Collection[str]

    async def places(self, state: TaskState, rules: Sequence[ApproverRule]) -> Places:
        """Where a card with items of these rules is shown.

        What the workspace names and cannot be reached is left out and told of, never replaced by another place.
        """
        task = state.task
        if task.workspace not in self.to:
            return await self._conversation(task.reply_to)
        people = await self.people.by_name()
        able = {
            name: member for name, member in people.items() if any(fits(member, one, task.requester) for one in rules)
        }
        found = [spot for entry in self.to[task.workspace] for spot in spots(entry, people, able, self.channels)]
        missed = list(dict.fromkeys(spot.words for spot in found if not spot.reached))
        if missed:
            log.warning("approval_places_missed", task=task.task_id, missed=missed)
        return Places(
            card=tuple(dict.fromkeys(address for spot in found for address in spot.addresses)),
            where=texts.listed(dict.fromkeys(spot.words for spot in found if spot.reached)),
            note=texts.not_asked(missed) if missed else "",
        )

    async def _conversation(self, reply_to: Sequence[Address]) -> Places:
        """Where the answer goes; when no person reads there, also every admin's direct messages."""
        if any(to.channel not in _NO_PERSON for to in reply_to):
            return Places(card=tuple(reply_to))
        people = (await self.people.by_name()).values()
        admins = [to for member in people if "admin" in member.roles for to in direct(member, self.channels)]
        return Places(card=(*reply_to, *admins))


def spots(entry: str, people: Mapping[str, Member], able: Collection[str], channels: Collection[str]) -> Iterator[Spot]:
    """Whom an entry of `to` names. Of the people only those who are `able` to decide something are asked."""
    address = parse(entry)
    if address is not None:
        runs = address.channel in channels
        yield Spot(texts.conversation(entry, address.channel, runs=runs), runs, [address] if runs else ())
    elif entry == CONSOLE:
        yield Spot(texts.console(runs=CONSOLE in channels), CONSOLE in channels)
    else:
        asked = [name for name in named(entry, people) if name in able]
        if not asked:
            yield Spot(texts.nobody_able(entry), reached=False)
        for name in asked:
            own = direct(people[name], channels)
            reached = bool(own) or CONSOLE in channels or name == OPERATOR.name  # who has the terminal
            yield Spot(name if reached else texts.on_no_channel(name), reached, own)


def named(entry: str, people: Mapping[str, Member]) -> list[str]:
    """Who an entry names: everybody of a role, or one person."""
    if entry in get_args(Role):
        return [name for name, member in people.items() if entry in member.roles]
    return [entry] if entry in people else []


def direct(member: Member, channels: Collection[str]) -> list[Address]:
    """A person's direct messages on the channels that run."""
    found = map(direct_address, sorted(member.identities))
    return [address for address in found if address.channel in channels]
