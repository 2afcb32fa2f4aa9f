"""What a tool is given when a test calls it: a real workspace, and a list in place of the artifact store."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from agent.tool import ToolContext
from tests.clock import FakeClock
from tools.workspace.guard import Workspace


def tool_context(
    folder: Path, *, base: Mapping[str, str | None] | None = None, published: list[str] | None = None
) -> ToolContext:
    """A context over `folder`; what the tool publishes is appended to `published`."""

    async def publish(path: str) -> None:
        if published is not None:
            published.append(path)

    return ToolContext(
        task_id=1,
        workspace=Workspace("test", str(folder)),
        publish=publish,
        clock=FakeClock(),
        base=base or {},
    )
