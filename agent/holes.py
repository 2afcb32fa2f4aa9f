"""What is wrong with the policies beside the people there are: what nobody can approve, what is not asked. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import get_args

from agent import policy_texts as texts
from agent.asking import spots
from agent.domain import OPERATOR, UNATTENDED, Member, Origin, Role
from agent.policy import POWERS, Allow, Ask, PolicySettings, Rule, electors, is_read, said
from agent.rules import Rules

ALWAYS = frozenset({"cli", "cron"})
"""Where tasks come from without a channel that runs."""
ATTENDED_TASK: Origin = "message"
UNATTENDED_TASK: Origin = "webhook"


@dataclass(frozen=True, slots=True)
class Hole:
    """A sentence about something that is probably not meant. `blocks`: what is asked for can never be approved."""

    text: str
    blocks: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Tightened:
    """What tightens, by its place in the configuration: for the tasks of a `requester`, or from a `channel` (None: a
    pattern over channels). `origins` are those of such tasks."""

    place: str
    policy: PolicySettings
    origins: Sequence[Origin]
    requester: str = ""
    channel: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Survey:
    """What is looked at: the policies, everybody there is, where each workspace asks, the channels that run, those of
    them that let everybody in and those that let nobody in but people we know."""

    rules: Rules
    people: Mapping[str, Member]
    to: Mapping[str, Sequence[str]]
    channels: Collection[str]
    open_channels: Collection[str]
    closed_channels: Collection[str]

    def holes(self) -> list[Hole]:
        """Everything that was found, what blocks first."""
        found = [*self._powers(), *self._roles(), *self._tightening(), *self._places()]
        found += [Hole(texts.open_to_all(channel)) for channel in self.open_channels]
        known = {identity.partition(":")[0] for member in self.people.values() for identity in member.identities}
        found += [Hole(texts.open_to_nobody(channel)) for channel in self.closed_channels if channel not in known]
        return sorted(found, key=lambda hole: not hole.blocks)

    # --- powers ---

    def _powers(self) -> Iterator[Hole]:
        """The same problem of the same powers in several workspaces is told once."""
        told: dict[tuple[Hole, tuple[str, ...], str], dict[str, None]] = {}
        for workspace, by, problems in self._problems():
            by_problem: dict[Hole, list[str]] = {}
            for power, problem in problems.items():
                by_problem.setdefault(problem, []).append(power)
            for problem, powers in by_problem.items():
                told.setdefault((problem, tuple(powers), by), {})[workspace] = None
        for (problem, named, by), workspaces in told.items():
            yield Hole(texts.hole(named, workspaces, by, problem.text), problem.blocks)

    def _problems(self) -> Iterator[tuple[str, str, Mapping[str, Hole]]]:
        """The problems of each power by workspace; where something tightens, what is blocked by that."""
        for workspace in self._workspaces():
            name = workspace or texts.PRIVATE
            base = self._problems_of(workspace, ATTENDED_TASK)
            yield name, "", base
            blocked = {power for power, hole in base.items() if hole.blocks}
            for own in tightened(self.rules):
                for origin in own.origins:
                    problems = self._problems_of(workspace, origin, own)
                    yield (
                        name,
                        own.place,
                        {power: one for power, one in problems.items() if one.blocks and power not in blocked},
                    )

    def _problems_of(self, workspace: str | None, origin: Origin, own: Tightened | None = None) -> Mapping[str, Hole]:
        tightening, requester = ([own.policy], own.requester) if own else ([], "")
        found = {
            power: self._problem(power, self.rules.over(power, workspace, origin, tightening), requester)
            for power in POWERS
            if own is None or said(own.policy, power) is not None
        }
        return {power: hole for power, hole in found.items() if hole is not None}

    def _problem(self, power: str, rule: Rule, requester: str) -> Hole | None:
        match rule:
            case Allow():
                return None if is_read(power) else Hole(texts.ALLOWED)
            case Ask(asked):
                able = electors(asked, self.people, requester)
                if len(able) < asked.quorum:
                    return Hole(texts.too_few(asked, able), blocks=True)
                return Hole(texts.only_ones(able)) if asked.other and len(able) == asked.quorum else None
            case _:
                return None

    # --- names ---

    def _roles(self) -> Iterator[Hole]:
        """Roles that are asked and that nobody has; without people there is only the operator, who has them all."""
        policies = (self.rules.agent, *self.rules.workspaces.values(), *(own.policy for own in tightened(self.rules)))
        asked = {name for policy in policies for _, name in policy.named()}
        asked |= {entry for entries in self.to.values() for entry in entries}
        others = [member for name, member in self.people.items() if name != OPERATOR.name]
        for role in get_args(Role):
            if others and role in asked and not any(role in member.roles for member in others):
                yield Hole(texts.without_holder(role))

    # --- what tightens ---

    def _tightening(self) -> Iterator[Hole]:
        """Entries that change nothing in any workspace."""
        for own in tightened(self.rules):
            if own.channel is not None and own.channel not in self.channels and own.channel not in ALWAYS:
                yield Hole(texts.no_channel(own.place, own.channel))
                continue
            for power in own.policy.root:
                without = PolicySettings({other: rule for other, rule in own.policy.root.items() if other != power})
                if not any(self._differ(origin, own.policy, without) for origin in own.origins):
                    yield Hole(texts.no_effect(f"{own.place}.{power}"))

    def _differ(self, origin: Origin, one: PolicySettings, other: PolicySettings) -> bool:
        return any(
            self.rules.over(power, workspace, origin, [one]) != self.rules.over(power, workspace, origin, [other])
            for workspace in self._workspaces()
            for power in POWERS
        )

    # --- places ---

    def _places(self) -> Iterator[Hole]:
        """Where cards should be shown and cannot."""
        for workspace, entries in self.to.items():
            able = self._able(workspace)
            found = [spot for entry in entries for spot in spots(entry, self.people, able, self.channels)]
            missed = [spot.words for spot in found if not spot.reached]
            if missed:
                anybody = len(missed) < len(found)
                yield Hole(texts.not_reached(workspace, missed, anybody=anybody), blocks=not anybody)

    def _able(self, workspace: str) -> set[str]:
        """Whoever may decide anything there."""
        rules = [self.rules.over(power, workspace, UNATTENDED_TASK) for power in POWERS]
        return {name for rule in rules if isinstance(rule, Ask) for name in electors(rule.rule, self.people, "")}

    def _workspaces(self) -> Sequence[str | None]:
        """Those of the configuration, then any other."""
        return (*self.rules.workspaces, None)


def tightened(rules: Rules) -> Iterator[Tightened]:
    """Everything that tightens."""
    for pattern, policy in rules.stricter.items():
        channel = pattern.partition(":")[0]
        exact = None if {*channel} & {*"*?["} else channel
        origins = [ATTENDED_TASK] if exact not in UNATTENDED else []
        origins += [UNATTENDED_TASK] if exact is None or exact in UNATTENDED else []
        yield Tightened(place=f"agent.stricter.{pattern}", policy=policy, origins=origins, channel=exact)
    for name, policy in rules.people.items():
        if policy.root:
            origins = [ATTENDED_TASK, UNATTENDED_TASK]
            yield Tightened(place=f"the policy of {name}", policy=policy, origins=origins, requester=name)
