"""Who may do what: powers, not tools, and the people who decide."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import reduce
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Discriminator, Field, PlainValidator, RootModel, Tag

from agent.domain import ApproverRule, Member
from agent.durations import Seconds

POWERS = (
    "file:read", "file:write", "memory:write", "skill:read", "skill:write", "execute", "network", "message:send",
    "schedule:write",
)  # fmt: skip
"""The powers a policy may name; a misspelt one must not silently protect nothing."""

DEFAULT_RULE = ApproverRule(groups=(("approver",),), expires_seconds=86_400)
"""Who is asked where the policy names nobody."""


MOST_APPROVERS = 100
"""How many people `by` may ask for; more is a typing mistake."""


@dataclass(frozen=True, kw_only=True, slots=True)
class By:
    """How many different people, and whether whoever asked for the task is none of them."""

    other: bool = False
    quorum: int = 1


def _by(written: Any) -> By:
    parts = written if isinstance(written, list) else [written]
    numbers = [part for part in parts if type(part) is int and 1 <= part <= MOST_APPROVERS]
    others = [part for part in parts if part == "other"]
    if not parts or len(numbers) + len(others) != len(parts) or len(numbers) > 1 or len(others) > 1:
        raise ValueError("write `other`, how many different people (such as 2), or both: [other, 2]")
    return By(other=bool(others), quorum=numbers[0] if numbers else 1)


class AskSettings(BaseModel):
    """Ask these roles or members, for so long; an empty list is nobody.

    `by`: `other` (not whoever asked for the task), a number of different people, or both. `always_ask`: no grant and no
    looser policy of a workspace does away with it.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    ask: tuple[str, ...]
    by: Annotated[By, PlainValidator(_by)] = By()
    expires: Seconds = DEFAULT_RULE.expires_seconds
    always_ask: bool = False


def _known(power: str) -> str:
    # Letters in brackets would count for how well a pattern fits.
    if "[" in power or not any(fnmatchcase(known, power) for known in POWERS):
        raise ValueError(f"there is no such power (there are: {', '.join(POWERS)}, and patterns such as *:read)")
    return power


Power = Annotated[str, AfterValidator(_known)]
RuleSettings = Annotated[
    Annotated[Literal["allow", "deny"], Tag("word")] | Annotated[AskSettings, Tag("rule")],
    # Chosen by shape, so that an error names the key inside `{ask: …}` and not the other form.
    Discriminator(lambda value: "word" if isinstance(value, str) else "rule"),
]


class PolicySettings(RootModel[dict[Power, RuleSettings]]):
    """Power or pattern to `allow`, `deny` or `{ask: [approver], by: other, expires: 24h}`."""

    model_config = ConfigDict(frozen=True)

    root: dict[Power, RuleSettings] = Field(default_factory=dict)

    def named(self) -> Iterator[tuple[str, str]]:
        """Every role or name that is asked, with its power."""
        for power, said in self.root.items():
            if isinstance(said, AskSettings):
                yield from ((power, name) for name in said.ask)


@dataclass(frozen=True, slots=True)
class Allow:
    """It runs without asking."""


@dataclass(frozen=True, slots=True)
class Deny:
    """It never runs."""


@dataclass(frozen=True, slots=True)
class Ask:
    """It waits for somebody of this rule."""

    rule: ApproverRule


Rule = Allow | Deny | Ask


def is_read(power: str) -> bool:
    """Whether a power changes nothing."""
    return power.endswith(":read")


def default(power: str) -> Rule:
    """What holds without an entry."""
    return Allow() if is_read(power) else Ask(DEFAULT_RULE)


def said(settings: PolicySettings, power: str) -> Rule | None:
    """What the entry that fits best says: the exact name, then the pattern with most letters; of equals the strictest.
    None without one."""
    patterns = [pattern for pattern in settings.root if fnmatchcase(power, pattern)]
    best = max((_weight(pattern, power) for pattern in patterns), default=None)
    rules = [_rule(settings.root[pattern]) for pattern in patterns if _weight(pattern, power) == best]
    return strictest(*rules) if rules else None


def strictest(*rules: Rule) -> Rule:
    """What satisfies each of several rules: deny before ask before allow, and of two that ask both hold."""
    if any(isinstance(rule, Deny) for rule in rules):
        return Deny()
    asked = [rule.rule for rule in rules if isinstance(rule, Ask)]
    return Ask(reduce(_both, asked)) if asked else Allow()


def fits(member: Member, rule: ApproverRule, requester: str) -> bool:
    """Whether a person may decide what this requester asked for: each group names them by role or by name."""
    if not rule.groups or (rule.other and is_requester(member, requester)):
        return False
    return all(member.name in group or not member.roles.isdisjoint(group) for group in rule.groups)


def is_requester(member: Member, requester: str) -> bool:
    """Whether somebody is whoever asked, perhaps as a guest, named by an identity, before they were known."""
    return member.name == requester or requester in member.identities


def electors(rule: ApproverRule, people: Mapping[str, Member], requester: str) -> list[str]:
    """The names of those who may decide, in the order of `people`."""
    return [name for name, member in people.items() if fits(member, rule, requester)]


def _both(first: ApproverRule, second: ApproverRule) -> ApproverRule:
    return ApproverRule(
        groups=tuple(dict.fromkeys((*first.groups, *second.groups))),
        other=first.other or second.other,
        quorum=max(first.quorum, second.quorum),
        expires_seconds=min(first.expires_seconds, second.expires_seconds),
        always_ask=first.always_ask or second.always_ask,
    )


def _weight(pattern: str, power: str) -> tuple[bool, int]:
    return pattern == power, sum(letter not in "*?" for letter in pattern)


def _rule(written: Literal["allow", "deny"] | AskSettings) -> Rule:
    if not isinstance(written, AskSettings):
        return Allow() if written == "allow" else Deny()
    return Ask(
        ApproverRule(
            groups=(written.ask,),
            other=written.by.other,
            quorum=written.by.quorum,
            expires_seconds=written.expires,
            always_ask=written.always_ask,
        )
    )
