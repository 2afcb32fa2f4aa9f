"""expand_skill reads what the catalogue names, and only reads."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from agent.errors import ToolFailed
from agent.skills import BUILT_IN, SkillFolder, SkillSource
from agent.tool import Tool, parse
from tests.tools.tool_context import tool_context
from tools.skills import skill_tools
from tools.workspace.guard import Workspace


@pytest.fixture
def tool() -> Tool:
    source = SkillSource([SkillFolder(label="built-in", files=Workspace("skills", str(BUILT_IN)))])
    (made,) = skill_tools(source)
    return made


async def read(tool: Tool, folder: Path, **arguments: Any) -> str:
    """Call it as the loop does."""
    return await tool.run(tool_context(folder), parse(tool, json.dumps(arguments)))


async def test_a_built_in_skill_is_read(tool: Tool, tmp_path: Path) -> None:
    """Without its header, and the same with the name of its file."""
    text = await read(tool, tmp_path, name="invoice-summary")
    assert text.startswith("# Invoice summary")
    assert await read(tool, tmp_path, name="invoice-summary", path="SKILL.md") == text


async def test_a_skill_of_the_task_s_own_workspace_is_read(tool: Tool, tmp_path: Path) -> None:
    """The tool looks into the workspace of the call, not into another one."""
    file = tmp_path / "one" / "skills" / "report" / "SKILL.md"
    file.parent.mkdir(parents=True)
    file.write_text("---\nname: report\ndescription: x\n---\n# Here")
    (tmp_path / "two").mkdir()
    assert await read(tool, tmp_path / "one", name="report", path=None) == "# Here"
    with pytest.raises(ToolFailed):
        await read(tool, tmp_path / "two", name="report")


async def test_an_unknown_skill_names_the_known_ones(tool: Tool, tmp_path: Path) -> None:
    """So that the model can choose again."""
    with pytest.raises(ToolFailed, match=r"There is no skill 'x'\. The skills are: .*invoice-summary"):
        await read(tool, tmp_path, name="x")


def test_it_asks_nobody(tool: Tool) -> None:
    """Its power is reading, so it has no preview."""
    assert (tool.capability, tool.preview) == ("skill:read", None)
