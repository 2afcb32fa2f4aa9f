"""The tools that find files by name and lines by content."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from agent.errors import ToolTimeout
from agent.ports.files import Processes
from agent.tool import Arguments, Tool, ToolContext
from tools.arguments import WorkspacePath
from tools.matching import find_lines, find_paths


class Glob(Arguments):
    pattern: str


class Grep(Arguments):
    pattern: str
    path: WorkspacePath = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Search:
    """Runs patterns in the process pool, where one without an end can be stopped."""

    processes: Processes
    seconds: float

    async def glob(self, context: ToolContext, arguments: Glob) -> str:
        """The paths that match."""
        return await self._bounded(find_paths, context.workspace, arguments.pattern)

    async def grep(self, context: ToolContext, arguments: Grep) -> str:
        """The lines that match."""
        return await self._bounded(find_lines, context.workspace, arguments.pattern, arguments.path)

    async def _bounded(self, find: Callable[..., str], *args: object) -> str:
        try:
            return await self.processes.run(find, *args, seconds=self.seconds)
        except ToolTimeout:
            raise ToolTimeout(
                f"The search was stopped after {self.seconds:g} seconds. Use a simpler pattern or name a smaller path."
            ) from None


def search_tools(processes: Processes, *, seconds: float = 5) -> list[Tool]:
    """The two search tools."""
    search = Search(processes=processes, seconds=seconds)
    return [
        Tool(
            name="glob",
            description="Find files by a pattern like reports/*.md or **/*.csv; *.md finds in every folder.",
            parameters=Glob,
            capability="file:read",
            run=search.glob,
        ),
        Tool(
            name="grep",
            description="Find lines of text files by a Python regular expression, in all files or below `path`.",
            parameters=Grep,
            capability="file:read",
            run=search.grep,
        ),
    ]
