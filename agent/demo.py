"""What the demo model says: no language model, but an honest one; every figure comes from a tool's result.

Asked about invoices or quotes it lists the files, expands the skill, analyses each table, proposes the report as
Markdown and as a workbook in one turn, and says what came of it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from agent import demo_report
from agent.demo_report import Analysis
from agent.ports.models import ChatMessage

REPORT, WORKBOOK = "reports/invoice-summary.md", "reports/invoice-summary.xlsx"
_ABOUT_INVOICES = re.compile(r"invoice|quote|vendor|supplier|rechnung|angebot|发票|报价", re.IGNORECASE)
_ABOUT_FILES = re.compile(r"\b(list|show|which|what)\b.*\bfiles?\b", re.IGNORECASE | re.DOTALL)
_TABLE = re.compile(r"^[^\w./]*(\S(?:.*?\S)?\.(?:csv|tsv|xlsx))\b", re.IGNORECASE | re.MULTILINE)
_WROTE = re.compile(r"^(?:Wrote (.+?)|Done): ", re.MULTILINE)
"""What was written, now or before a crash, and where: a person may have changed that, which is told before it."""
_JSON_BLOCK = re.compile(r"```json\n(.*?)\n```", re.DOTALL)
_MOST_TABLES = 12
_WHO = (
    "I am the demo model: a fixed program that needs no key, not a language model. I can do two things for real: "
    'ask me to "list the files", or to "summarise the invoices and quotes in this folder". For anything else, '
    "configure a model under agent.models and name it in agent.model."
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Said:
    """One turn of the demo model."""

    text: str
    calls: tuple[tuple[str, dict[str, Any]], ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class _Done:
    """A call it made for this request, and what came back."""

    name: str
    arguments: dict[str, Any]
    result: str


def answer(request: str, since: Sequence[ChatMessage], tool_names: Collection[str]) -> Said:
    """The next turn: `since` is what followed the request, `tool_names` the tools that are offered."""
    done = _done(since)
    if _ABOUT_INVOICES.search(request) and "analyze_table" in tool_names:
        said = _invoices(done)
    elif _ABOUT_FILES.search(request) and "list_files" in tool_names:
        said = _files(done)
    else:
        said = Said(text=_WHO)
    return Said(text=said.text, calls=tuple(call for call in said.calls if call[0] in tool_names))


def _files(done: list[_Done]) -> Said:
    if not done:
        return Said(text="", calls=(("list_files", {}),))
    return Said(text=f"These are the files here:\n\n{done[-1].result}")


def _invoices(done: list[_Done]) -> Said:
    names = {call.name for call in done}
    if not done:
        return Said(
            text="I will see which files are here and how such a summary is made.",
            calls=(("list_files", {}), ("expand_skill", {"name": "invoice-summary"})),
        )
    if "analyze_table" not in names:
        return _analyse(done)
    if not names & {"write_file", "write_sheet"}:
        return _propose(done)
    return Said(text=_closing(done))


def _analyse(done: list[_Done]) -> Said:
    listed = "\n".join(call.result for call in done if call.name == "list_files")
    tables = [path for path in dict.fromkeys(_TABLE.findall(listed)) if not path.startswith("reports/")]
    if not tables:
        return Said(text="There is no table (.csv, .tsv, .xlsx) in this folder, so there is nothing to summarise.")
    calls = tuple(("analyze_table", {"path": path}) for path in tables[:_MOST_TABLES])
    left = f" {len(tables) - _MOST_TABLES} more are left out." if len(tables) > _MOST_TABLES else ""
    return Said(text=f"I will measure {len(calls)} table{'s' * (len(calls) > 1)}.{left}", calls=calls)


def _propose(done: list[_Done]) -> Said:
    analyses, failures = _analyses(done)
    if not analyses:
        reasons = "\n".join(f"- {path}: {reason}" for path, reason in failures)
        return Said(text=f"None of the tables could be measured, so there is no report.\n\n{reasons}")
    markdown = demo_report.markdown(analyses, failures)
    return Said(
        text="The figures are ready. I propose the report as a text and as a workbook.",
        calls=(
            ("write_file", {"path": REPORT, "content": markdown}),
            ("write_sheet", {"path": WORKBOOK, "sheets": demo_report.sheets(analyses)}),
        ),
    )


def _closing(done: list[_Done]) -> str:
    analyses, failures = _analyses(done)
    writes = [call for call in done if call.name in {"write_file", "write_sheet"}]
    written = {
        call.arguments["path"]: found[1] or call.arguments["path"]
        for call in writes
        if (found := _WROTE.search(call.result))
    }
    parts = [demo_report.measured(analyses), demo_report.stands_out(analyses)]
    if failures:
        parts.append("Not measured:\n" + "\n".join(f"- {path}: {reason}" for path, reason in failures))
    if written:
        parts.append(f"Written: {', '.join(written.values())}.")
    if refused := [call for call in writes if call.arguments["path"] not in written]:
        lines = "\n".join(f"- {call.arguments['path']}: {_first_line(call.result)}" for call in refused)
        parts.append(f"Not written:\n{lines}")
    return "\n\n".join(parts)


def _analyses(done: list[_Done]) -> tuple[list[Analysis], list[tuple[str, str]]]:
    """What could be measured, and path and reason of what could not."""
    analyses: list[Analysis] = []
    failures: list[tuple[str, str]] = []
    for call in done:
        if call.name != "analyze_table":
            continue
        try:
            block = _JSON_BLOCK.search(call.result)
            analyses.append({"path": call.arguments["path"], **json.loads(block[1] if block else "")})
        except json.JSONDecodeError:  # an error result has no block
            failures.append((call.arguments["path"], _first_line(call.result)))
    return analyses, failures


def _done(since: Sequence[ChatMessage]) -> list[_Done]:
    results = {message["tool_call_id"]: message["content"] for message in since if message["role"] == "tool"}
    calls = [call for message in since for call in message.get("tool_calls") or ()]
    return [
        _Done(
            name=call["function"]["name"],
            arguments=json.loads(call["function"]["arguments"] or "{}"),
            result=results.get(call["id"], ""),
        )
        for call in calls
    ]


def _first_line(text: str) -> str:
    return text.strip().partition("\n")[0]
