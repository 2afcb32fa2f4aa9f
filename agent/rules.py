"""What the policies together say about a power: that of the agent, of the workspace, and what tightens them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from agent.addresses import matches
from agent.domain import UNATTENDED, Address, Origin
from agent.policy import DEFAULT_RULE, Allow, Ask, PolicySettings, Rule, default, is_read, said, strictest
from agent.ports.store import TaskState


@dataclass(frozen=True, kw_only=True, slots=True)
class Rules:
    """Every policy there is.

    `workspaces` has each configured workspace by name, over `agent`; any other has that of the agent alone. `stricter`
    (by patterns over addresses) and `people` (by the name of whoever asks) only tighten.
    """

    agent: PolicySettings
    workspaces: Mapping[str, PolicySettings]
    stricter: Mapping[str, PolicySettings]
    people: Mapping[str, PolicySettings]

    async def rule(self, state: TaskState, capability: str) -> Rule:
        """Whether this task may use a power, or who is asked."""
        task = state.task
        return self.over(
            capability, task.workspace, task.origin, self.tightening(state.session.address, task.requester)
        )

    def tightening(self, address: Address | None, requester: str) -> list[PolicySettings]:
        """What tightens the policy for a conversation and a person."""
        by_address = [own for pattern, own in self.stricter.items() if address and matches(address, pattern)]
        return [*by_address, *([self.people[requester]] if requester in self.people else [])]

    def over(
        self, power: str, workspace: str | None, origin: Origin, tightening: Iterable[PolicySettings] = ()
    ) -> Rule:
        """What is said of a power in a workspace (None: a private one), and what tightens that.

        An unattended task (webhook, cron) asks for every power that is not `:read` even where the policy allows it.
        """
        base = self._of_workspace(power, workspace)
        if isinstance(base, Allow) and origin in UNATTENDED and not is_read(power):
            base = Ask(DEFAULT_RULE)
        return strictest(base, *(tighter for own in tightening if (tighter := said(own, power)) is not None))

    def _of_workspace(self, power: str, workspace: str | None) -> Rule:
        """The workspace's own entry before that of the agent, which only `always_ask` outlasts."""
        of_agent = said(self.agent, power) or default(power)
        own = said(self.workspaces[workspace], power) if workspace and workspace in self.workspaces else None
        if own is None:
            return of_agent
        if not isinstance(of_agent, Ask) or not of_agent.rule.always_ask:
            return own
        match own:
            case Allow():
                return of_agent
            case Ask(rule):
                return Ask(replace(rule, always_ask=True))
            case _:
                return own
