"""The tools that find files by name and lines by content."""

from __future__ import annotations

from functools import partial

from agent.errors import ToolTimeout
from agent.ports.files import Processes
from agent.tool import Arguments, Tool, ToolContext
from tools.arguments import WorkspacePath
from tools.matching import find_lines, find_paths

SECONDS = 5


class Glob(Arguments):
    pattern: str


class Grep(Arguments):
    pattern: str
    path: WorkspacePath = ""


def search_tools(processes: Processes) -> list[Tool]:
    """The two search tools; their patterns run in the process pool, where one without an end can be stopped."""
    return [
        Tool(
            name="glob",
            description="Find files by a pattern like reports/*.md or **/*.csv; *.md finds in every folder.",
            parameters=Glob,
            capability="file:read",
            run=partial(glob, processes),
        ),
        Tool(
            name="grep",
            description="Find lines of text files by a Python regular expression, in all files or below `path`.",
            parameters=Grep,
            capability="file:read",
            run=partial(grep, processes),
        ),
    ]


async def glob(processes: Processes, context: ToolContext, arguments: Glob) -> str:
    """The paths that match."""
    try:
        return await processes.run(find_paths, context.workspace, arguments.pattern, seconds=SECONDS)
    except ToolTimeout:
        raise _too_slow() from None


async def grep(processes: Processes, context: ToolContext, arguments: Grep) -> str:
    """The lines that match."""
    try:
        return await processes.run(find_lines, context.workspace, arguments.pattern, arguments.path, seconds=SECONDS)
    except ToolTimeout:
        raise _too_slow() from None


def _too_slow() -> ToolTimeout:
    return ToolTimeout(
        f"The search was stopped after {SECONDS} seconds. Use a simpler pattern, or name a smaller path."
    )
