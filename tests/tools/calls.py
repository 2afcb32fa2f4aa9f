"""Calls tools as the loop does: arguments parsed from JSON text, previewed, then run on what the preview showed."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from agent.tool import Preview, Tool, ToolContext, parse
from tests.tools.tool_context import tool_context


@dataclass(kw_only=True)
class Caller:
    """A task that works in `folder` with these tools; `published` are the files it made."""

    folder: Path
    tools: list[Tool]
    published: list[str] = field(default_factory=list)

    async def read(self, name: str, **arguments: Any) -> str:
        """Run a tool that asks nobody."""
        tool = self._tool(name)
        return await tool.run(self._context(None), parse(tool, json.dumps(arguments)))

    async def preview(self, name: str, **arguments: Any) -> Preview:
        """What a person would see."""
        tool = self._tool(name)
        assert tool.preview is not None
        return await tool.preview(self._context(None), parse(tool, json.dumps(arguments)))

    async def approved(self, preview: Preview, name: str, **arguments: Any) -> str:
        """Run a tool after its preview was approved."""
        tool = self._tool(name)
        return await tool.run(self._context(preview), parse(tool, json.dumps(arguments)))

    async def change(self, name: str, **arguments: Any) -> str:
        """Preview and run."""
        return await self.approved(await self.preview(name, **arguments), name, **arguments)

    def _tool(self, name: str) -> Tool:
        return next(tool for tool in self.tools if tool.name == name)

    def _context(self, preview: Preview | None) -> ToolContext:
        base = {target.path: target.base_sha256 for target in (preview.targets if preview else ())}
        return tool_context(self.folder, base=base, published=self.published)
