"""The tool `analyze_table` on a real workspace and a real process pool."""

from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any, TypeVar

import pytest

from agent.errors import BadArguments, ToolFailed
from agent.tool import Tool, parse, schema
from tests.tools.tool_context import tool_context
from tools.processes import ProcessPool
from tools.tables.tool import table_tools

T = TypeVar("T")


class CountingPool(ProcessPool):
    """A real pool that counts its calls."""

    calls = 0

    async def run(self, function: Callable[..., T], *args: Any, seconds: float = 30) -> T:
        self.calls += 1
        return await super().run(function, *args, seconds=seconds)


@pytest.fixture
async def pool() -> AsyncIterator[CountingPool]:
    counting = CountingPool(1)
    yield counting
    await counting.close()


@pytest.fixture
def tool(pool: CountingPool) -> Tool:
    (made,) = table_tools(pool)
    return made


async def call(tool: Tool, folder: Path, **arguments: Any) -> str:
    return await tool.run(tool_context(folder), parse(tool, json.dumps(arguments)))


async def test_the_report(tool: Tool, tmp_path: Path) -> None:
    """A call gives the summary and the facts, with the multiplier it was asked for."""
    (tmp_path / "t.csv").write_text("vendor,amount\nA,1.00\nA,1.00\nA,4.00\n")
    text = await call(tool, tmp_path, path="t.csv", multiplier=4.5, sheet=None)
    assert text.startswith("t.csv: 3 rows, 3 counted. Total 6.00.")
    assert '"multiplier": "4.5"' in text
    assert '"outliers": []' in text


async def test_an_unchanged_file_is_parsed_once(tool: Tool, pool: CountingPool, tmp_path: Path) -> None:
    """The same question about the same file is answered from memory; a changed file or question is not."""
    file = tmp_path / "t.csv"
    file.write_text("vendor,amount\nA,1.00\n")
    first = await call(tool, tmp_path, path="t.csv")
    assert await call(tool, tmp_path, path="./t.csv") == first
    assert pool.calls == 1
    file.write_text("vendor,amount\nA,2.00\n")
    os.utime(file, ns=(0, 1))
    assert "Total 2.00" in await call(tool, tmp_path, path="t.csv")
    await call(tool, tmp_path, path="t.csv", amount="B")
    assert pool.calls == 3


@pytest.mark.parametrize(("path", "kind"), [("none.csv", ToolFailed), ("a.pdf", BadArguments), ("t.csv", BadArguments)])
async def test_failures_arrive_as_themselves(tool: Tool, tmp_path: Path, path: str, kind: type[Exception]) -> None:
    """A missing file, an unknown kind and an unknown sheet are told to the model."""
    for name in ("a.pdf", "t.csv"):
        (tmp_path / name).write_text("vendor,amount\nA,1.00\n")
    with pytest.raises(kind):
        await call(tool, tmp_path, path=path, sheet="X")


@pytest.mark.parametrize("multiplier", [0, -1, 1001, "3"])
async def test_a_senseless_multiplier_is_refused(tool: Tool, multiplier: Any) -> None:
    """The argument check names the field."""
    with pytest.raises(BadArguments, match="multiplier"):
        parse(tool, json.dumps({"path": "t.csv", "multiplier": multiplier}))


async def test_the_schema_is_short(tool: Tool) -> None:
    """It goes along with every request to a model."""
    assert len(json.dumps(schema(tool))) <= 700
