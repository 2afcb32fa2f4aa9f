"""Who may do what: powers, not tools, and the people who decide."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Discriminator, Field, RootModel, Tag

from agent.domain import UNATTENDED, ApproverRule, Member, Origin
from agent.durations import Seconds

POWERS = (
    "file:read", "file:write", "memory:write", "skill:read", "skill:write", "execute", "network", "message:send",
    "schedule:write",
)  # fmt: skip
"""The powers a policy may name; a misspelt one must not silently protect nothing."""

DEFAULT_RULE = ApproverRule(groups=(("approver",),), expires_seconds=86_400)
"""Who is asked where the policy names nobody."""


class AskSettings(BaseModel):
    """Ask these roles or members, for so long; an empty list is nobody."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    ask: tuple[str, ...]
    expires: Seconds = DEFAULT_RULE.expires_seconds


def _known(power: str) -> str:
    if not any(fnmatchcase(known, power) for known in POWERS):
        raise ValueError(f"there is no such power (there are: {', '.join(POWERS)}, and patterns such as *:read)")
    return power


Power = Annotated[str, AfterValidator(_known)]
RuleSettings = Annotated[
    Annotated[Literal["allow", "deny"], Tag("word")] | Annotated[AskSettings, Tag("rule")],
    # Chosen by shape, so that an error names the key inside `{ask: …}` and not the other form.
    Discriminator(lambda value: "word" if isinstance(value, str) else "rule"),
]


class PolicySettings(RootModel[dict[Power, RuleSettings]]):
    """Power or pattern to `allow`, `deny` or `{ask: [approver], expires: 24h}`."""

    model_config = ConfigDict(frozen=True)

    root: dict[Power, RuleSettings] = Field(default_factory=dict)


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


def rule(settings: PolicySettings, capability: str, origin: Origin) -> Rule:
    """What a policy says about a power. Without an entry `:read` is allowed and everything else asks.

    An unattended task (webhook, cron) asks for every power that is not `:read` even where the policy allows it.
    """
    said = _said(settings, capability)
    if said is None:
        said = Allow() if capability.endswith(":read") else Ask(DEFAULT_RULE)
    if isinstance(said, Allow) and origin in UNATTENDED and not capability.endswith(":read"):
        return Ask(DEFAULT_RULE)
    return said


def fits(member: Member, rule: ApproverRule, requester: str) -> bool:
    """Whether a person may decide what this requester asked for: each group names them by role or by name."""
    if not rule.groups or (rule.other and member.name == requester):
        return False
    return all(member.name in group or not member.roles.isdisjoint(group) for group in rule.groups)


def electors(rule: ApproverRule, people: Mapping[str, Member], requester: str) -> list[str]:
    """The names of those who may decide, in the order of `people`."""
    return [name for name, member in people.items() if fits(member, rule, requester)]


def _said(settings: PolicySettings, capability: str) -> Rule | None:
    """The entry that fits best: the exact name, then the pattern with most letters, then the strictest."""
    patterns = [pattern for pattern in settings.root if fnmatchcase(capability, pattern)]
    if not patterns:
        return None
    best = max(_weight(pattern, capability) for pattern in patterns)
    rules = [_rule(settings.root[pattern]) for pattern in patterns if _weight(pattern, capability) == best]
    return min(rules, key=lambda said: (Deny, Ask, Allow).index(type(said)))


def _weight(pattern: str, capability: str) -> tuple[bool, int]:
    return pattern == capability, sum(letter not in "*?" for letter in pattern)


def _rule(said: Literal["allow", "deny"] | AskSettings) -> Rule:
    if isinstance(said, AskSettings):
        return Ask(ApproverRule(groups=(said.ask,), expires_seconds=said.expires))
    return Allow() if said == "allow" else Deny()
