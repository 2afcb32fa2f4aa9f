"""What the policy says about a power in one task."""

from __future__ import annotations

from dataclasses import dataclass

from agent import policy
from agent.policy import PolicySettings
from agent.ports.store import TaskState


@dataclass(frozen=True, kw_only=True, slots=True)
class Rules:
    """The policy of the agent."""

    agent: PolicySettings

    async def rule(self, state: TaskState, capability: str) -> policy.Rule:
        """Whether this task may use a power, or who is asked."""
        return policy.rule(self.agent, capability, state.task.origin)
