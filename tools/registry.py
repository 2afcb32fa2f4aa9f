"""The only place where tools come together: a new ability is a new entry here with a declared power."""

from __future__ import annotations

from agent.ports.files import Processes
from agent.skills import SkillSource
from agent.tool import Tool, ToolRegistry
from tools.files import file_tools
from tools.memory import memory_tools
from tools.search import search_tools
from tools.sheets.tool import sheet_tools
from tools.skills import skill_tools
from tools.tables.tool import table_tools


def build_tool_registry(processes: Processes, skills: SkillSource) -> ToolRegistry:
    """Every tool by its name. A tool without a declared power, or a second one of a name, is a mistake in the code."""
    tools: list[Tool] = [
        *file_tools(),
        *search_tools(processes),
        *table_tools(processes),
        *sheet_tools(processes),
        *memory_tools(),
        *skill_tools(skills),
    ]
    registry = {tool.name: tool for tool in tools}
    if len(registry) != len(tools) or not all(tool.capability for tool in tools):
        raise ValueError("every tool needs a name of its own and a declared power")
    return registry
