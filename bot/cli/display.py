"""What the commands print: tables for people, JSON for programs."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import Any

import orjson
from rich.console import Console
from rich.table import Table
from rich.text import Text

from agent.domain import Approval, Artifact, Call, Entry, Task
from agent.ports.store import TaskState
from agent.previews import visible

Json = dict[str, Any]


def print_json(value: Any) -> None:
    """One indented JSON document."""
    print(orjson.dumps(value, option=orjson.OPT_INDENT_2).decode())


def print_table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """A table that fits the terminal; elsewhere nothing is cut. Cells are plain text, never markup."""
    width = None if sys.stdout.isatty() else 200
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in columns:
        table.add_column(column, overflow="fold")
    for row in rows:
        table.add_row(*(Text(visible(str(cell))) for cell in row))
    Console(width=width, highlight=False).print(table)


def task_row(task: Task) -> Json:
    """A task in a list."""
    return {
        "task_id": task.task_id,
        "status": task.status,
        "error_code": task.error_code,
        "origin": task.origin,
        "requester": task.requester,
        "workspace": task.workspace,
        "prompt": task.prompt,
        "created_at": task.created_at.isoformat(),
        "finished_at": task.finished_at.isoformat() if task.finished_at else None,
    }


def task_json(state: TaskState, artifacts: Sequence[Artifact], cost_usd: Decimal | None) -> Json:
    """A task with everything that happened."""
    return {
        "task_id": state.task.task_id,
        "status": state.task.status,
        "error_code": state.task.error_code,
        "text": state.task.answer or "",
        "artifacts": [artifact_json(artifact) for artifact in artifacts],
        "approvals": [approval_json(approval) for approval in state.approvals],
        "journal": [entry_json(entry) for entry in state.entries],
        "cost_usd": None if cost_usd is None else float(cost_usd),
    }


def artifact_json(artifact: Artifact) -> Json:
    """A file that a task made; `path` is relative to its workspace."""
    return {
        "artifact_id": artifact.artifact_id,
        "name": artifact.name,
        "path": artifact.path,
        "media_type": artifact.media_type,
        "size_bytes": artifact.size_bytes,
        "sha256": artifact.sha256,
        "version": artifact.version,
    }


def approval_json(approval: Approval) -> Json:
    """A card with its items."""
    return {
        "id": approval.approval_id,
        "task_id": approval.task_id,
        "kind": approval.kind,
        "status": approval.status,
        "approvers": list(approval.approvers),
        "items": [item_json(call) for call in approval.items],
        "expires_at": approval.expires_at.isoformat(),
        "decided_by": approval.decided_by,
    }


def item_json(call: Call) -> Json:
    """One item of a card: what would run and how it would look."""
    return {
        "item": call.item,
        "tool": call.tool,
        "capability": call.capability,
        "arguments": orjson.loads(call.arguments),
        "title": call.title,
        "preview": call.preview,
        "status": call.status,
        "reason": call.reason,
    }


def entry_json(entry: Entry) -> Json:
    """A row of the journal."""
    at = entry.at.isoformat() if entry.at else None
    return {"seq": entry.seq, "at": at, "kind": entry.kind, "data": entry.data}


def entry_line(entry: Entry) -> str | None:
    """A row of the journal as one line of progress; None where there is nothing to see."""
    match entry.kind:
        case "assistant":
            names = ", ".join(call["name"] for call in entry.data.get("calls", ()))
            return f"→ {names}" if names else None
        case "tool":
            mark = "✓" if entry.data["status"] == "done" else "✗"
            return visible(f"{mark} {entry.data['name']}: {first_line(entry.data['text'])}")
        case "decision":
            return visible(f"• {entry.data['verdict']} by {entry.data['by']}")
        case "artifact":
            return visible(f"+ {entry.data['path']} ({entry.data['size_bytes']} bytes)")
        case _:
            return None


def first_line(text: str) -> str:
    """The beginning of a text, as far as one line shows it."""
    line = text.strip().partition("\n")[0]
    return line if len(line) <= 100 else line[:99] + "…"
