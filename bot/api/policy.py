"""Who may do what, and who decides."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from agent import policy_texts as texts
from agent.domain import Member
from agent.holes import ATTENDED_TASK, UNATTENDED_TASK, tightened
from agent.policy import POWERS, Allow, Ask, Rule, electors, said
from bot.api.approvals import RuleView, rule_view
from bot.api.shapes import Shown
from bot.api.viewer import Viewer
from bot.services import Services


class PowerRule(Shown):
    """What becomes of a use of a power, also in words. With `ask`: whom the rule names, and who of the people may
    decide today (`able`), apart from whoever asks if the rule is for others."""

    verdict: Literal["allow", "ask", "deny"]
    says: str
    rule: RuleView | None
    able: list[str]
    expires_seconds: int | None
    always_ask: bool


class PowerView(Shown):
    """A power and the tools that use it: `attended` when a person asks, `unattended` for a webhook or a schedule."""

    power: str
    tools: list[str]
    attended: PowerRule
    unattended: PowerRule


class WorkspacePolicy(Shown):
    """The powers in a workspace; null is any that the configuration does not name. `asked_at`: where its cards are
    shown, if not in the conversation."""

    workspace: str | None
    asked_at: list[str]
    powers: list[PowerView]


class TighterView(Shown):
    """An entry that only tightens: by addresses (a pattern) or for a person; `place` is where it is configured."""

    place: str
    power: str
    rule: PowerRule


class PolicyView(Shown):
    """The workspaces of the viewer. `holes` (sentences on what is probably not meant) are for admins, and so is what is
    `stricter` for others."""

    workspaces: list[WorkspacePolicy]
    stricter: list[TighterView]
    holes: list[str]


async def show_policy(services: Services, viewer: Viewer) -> PolicyView:
    """Who may do what in the viewer's workspaces, and who decides."""
    viewer.require("people:read")
    admin, looked_at = "admin" in viewer.member.roles, await services.survey()
    people, rules = looked_at.people, looked_at.rules
    return PolicyView(
        workspaces=[
            _workspace(services, name, people)
            for name in (*rules.workspaces, None)
            if name is None or viewer.sees(name)
        ],
        stricter=[
            TighterView(place=own.place, power=power, rule=_rule(said(own.policy, power) or Allow(), people))
            for own in tightened(rules)
            for power in own.policy.root
            if admin or own.requester == viewer.member.name
        ],
        holes=[hole.text for hole in looked_at.holes()] if admin else [],
    )


def _workspace(services: Services, name: str | None, people: Mapping[str, Member]) -> WorkspacePolicy:
    over = services.rules.over
    return WorkspacePolicy(
        workspace=name,
        asked_at=list(services.config.asked_at().get(name or "", ())),
        powers=[
            PowerView(
                power=power,
                tools=sorted(tool.name for tool in services.registry.values() if tool.capability == power),
                attended=_rule(over(power, name, ATTENDED_TASK), people),
                unattended=_rule(over(power, name, UNATTENDED_TASK), people),
            )
            for power in POWERS
        ],
    )


def _rule(rule: Rule, people: Mapping[str, Member]) -> PowerRule:
    asked = rule.rule if isinstance(rule, Ask) else None
    able = electors(asked, people, "") if asked else []
    return PowerRule(
        verdict="ask" if asked else "allow" if isinstance(rule, Allow) else "deny",
        says=texts.verdict(rule),
        rule=rule_view(asked) if asked else None,
        able=able,
        expires_seconds=asked.expires_seconds if asked else None,
        always_ask=bool(asked and asked.always_ask),
    )
