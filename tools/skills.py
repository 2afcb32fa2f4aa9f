"""The tool that reads skills."""

from __future__ import annotations

from agent.skills import SkillSource
from agent.tool import Arguments, Tool, ToolContext, in_thread


class ExpandSkill(Arguments):
    name: str
    path: str | None = None


def skill_tools(skills: SkillSource) -> list[Tool]:
    """The one tool that reads skills."""

    async def expand(context: ToolContext, arguments: ExpandSkill) -> str:
        return await in_thread(skills.read, context.workspace, arguments.name, arguments.path)

    return [
        Tool(
            name="expand_skill",
            description="Read a skill's instructions, or with `path` one of its files.",
            parameters=ExpandSkill,
            capability="skill:read",
            run=expand,
        )
    ]
