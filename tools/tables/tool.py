"""The tool `analyze_table`: totals per vendor and oddities of a CSV or XLSX file, computed and not guessed."""

from __future__ import annotations

from collections import OrderedDict
from decimal import Decimal
from typing import Annotated

from pydantic import Field
from pydantic.json_schema import SkipJsonSchema

from agent.errors import ToolFailed
from agent.ports.files import Processes
from agent.tool import Arguments, Tool, ToolContext, in_thread
from tools.arguments import WorkspacePath
from tools.tables.analysis import Question, analyze

LARGEST_FILE_BYTES = 50 * 1024 * 1024
_SECONDS = 120
_KEPT_RESULTS = 64
_Optional = str | SkipJsonSchema[None]
_Key = tuple[str, str, int, int, Question]


class AnalyzeTable(Arguments):
    path: WorkspacePath
    sheet: _Optional = None
    vendor: Annotated[_Optional, Field(description="column header or letter")] = None
    amount: _Optional = None
    date: _Optional = None
    multiplier: Annotated[float, Field(gt=0, le=1000)] = 3


def table_tools(processes: Processes) -> list[Tool]:
    """The tools that read tables; parsing runs in `processes`."""
    analyst = _Analyst(processes)
    return [
        Tool(
            name="analyze_table",
            description=(
                "Exact totals per vendor, outliers, refunds, duplicates and unreadable rows of a CSV or XLSX file. "
                "Columns are found by themselves or named."
            ),
            parameters=AnalyzeTable,
            capability="file:read",
            run=analyst.run,
            idempotent=True,
        )
    ]


class _Analyst:
    """Keeps the last results, so that a file that did not change is not parsed again for the same question."""

    def __init__(self, processes: Processes) -> None:
        self._processes = processes
        self._results: OrderedDict[_Key, str] = OrderedDict()

    async def run(self, context: ToolContext, arguments: AnalyzeTable) -> str:
        question = Question(
            sheet=arguments.sheet,
            vendor=arguments.vendor,
            amount=arguments.amount,
            date=arguments.date,
            multiplier=Decimal(str(arguments.multiplier)).normalize(),
        )
        workspace, path = context.workspace, arguments.path
        info = await in_thread(workspace.stat, path)
        if info is None:
            raise ToolFailed(f"There is no file {path}.")
        key = (workspace.root, path, info.modified_ns, info.size_bytes, question)
        if (known := self._results.get(key)) is not None:
            self._results.move_to_end(key)
            return known
        content = await in_thread(workspace.read, path, limit_bytes=LARGEST_FILE_BYTES)
        result = await self._processes.run(analyze, content, path, question, seconds=_SECONDS)
        self._results[key] = result
        if len(self._results) > _KEPT_RESULTS:
            self._results.popitem(last=False)
        return result
