"""`tasks`, `cancel`, `export`: look at tasks and stop them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Annotated, Literal

import typer

from agent.domain import TERMINAL, Entry
from agent.errors import NotFound
from agent.ids import MAX_ID
from agent.ports.listings import Listings
from agent.ports.store import TaskState
from agent.previews import visible
from bot.api import tasks as api
from bot.api.viewer import Viewer, terminal
from bot.cli import display
from bot.cli.options import DEFAULT_CONFIG, AsJson, ConfigPath
from bot.config import load_config
from bot.services import Services, connected

FOLLOW_SECONDS = 0.2
TaskId = Annotated[int, typer.Argument(metavar="ID", min=1, max=MAX_ID)]


def tasks(
    task_id: Annotated[int | None, typer.Argument(metavar="ID", min=1, max=MAX_ID)] = None,
    *,
    follow: Annotated[bool, typer.Option("--follow", help="Go on until the task ends or waits.")] = False,
    limit: Annotated[int, typer.Option(min=1, max=1000, help="How many of the newest to list.")] = 50,
    as_json: AsJson = False,
    config: ConfigPath = DEFAULT_CONFIG,
) -> None:
    """List tasks, or show one with everything that happened."""

    async def work() -> None:
        async with connected(load_config(config)) as services:
            if task_id is None:
                await _list(services, limit, as_json=as_json)
            else:
                await _show(services, task_id, follow=follow, as_json=as_json)

    asyncio.run(work())


def cancel(task_id: TaskId, config: ConfigPath = DEFAULT_CONFIG) -> None:
    """Stop a task; one that is running ends at its next step."""

    async def work() -> None:
        async with connected(load_config(config)) as services:
            status = (await api.cancel_task(services, _operator(services), task_id)).status
            print(f"Task {task_id}: {'asked to stop' if status == 'running' else status}.")

    asyncio.run(work())


def export(
    task_id: TaskId,
    format_: Annotated[Literal["json", "markdown"], typer.Option("--format")] = "json",
    config: ConfigPath = DEFAULT_CONFIG,
) -> None:
    """Print a task with its whole journal, as JSON or Markdown."""

    async def work() -> None:
        async with connected(load_config(config)) as services:
            if format_ == "markdown":
                print("\n".join(_markdown(await services.store.load(task_id))))
            else:
                await _show(services, task_id, follow=False, as_json=True)

    asyncio.run(work())


async def entries(listings: Listings, task_id: int, after: int = 0) -> AsyncIterator[Entry]:
    """The rows of a task's journal as they come, until the task ends or waits for a person."""
    while True:
        # The task first: a status is written together with its rows, so these are not older than it.
        status = (await listings.task(task_id)).status
        for entry in await listings.journal(task_id, after):
            after = entry.seq
            yield entry
        if status in TERMINAL or status == "waiting_approval":
            return
        await asyncio.sleep(FOLLOW_SECONDS)


async def print_outcome(services: Services, state: TaskState) -> None:
    """What became of a task: its answer, its files with their paths, what waits."""
    task = state.task
    root = task.workspace  # its name, should it not be configured any more
    with suppress(NotFound):
        root = services.workspaces.open(task.workspace).root
    if task.answer:
        print(f"\n{visible(task.answer)}")
    for artifact in await services.store.artifacts(task.task_id):
        print(f"file: {visible(f'{root}/{artifact.path}')}")
    for approval in state.approvals:
        if approval.status == "open":
            print(f"waiting for approval {approval.approval_id}: signoff approvals")
    code = f" ({task.error_code})" if task.error_code else ""
    print(f"task {task.task_id}: {task.status}{code}")


async def _list(services: Services, limit: int, *, as_json: bool) -> None:
    found = (await api.list_tasks(services, _operator(services), page_size=limit)).tasks
    if as_json:
        display.print_json({"tasks": [display.as_json(task) for task in found]})
        return
    rows = [
        (
            task.task_id,
            task.status,
            task.error_code or "",
            task.origin,
            f"{task.created_at:%Y-%m-%d %H:%M}Z",
            display.first_line(task.prompt),
        )
        for task in found
    ]
    display.print_table(("id", "status", "error", "origin", "created", "request"), rows)


async def _show(services: Services, task_id: int, *, follow: bool, as_json: bool) -> None:
    if follow:
        async for entry in entries(services.store, task_id):
            if not as_json and (line := display.entry_line(entry)):
                print(line)
    if as_json:
        shown = display.as_json(await api.show_task(services, _operator(services), task_id))
        journal = await api.journal(services, _operator(services), task_id)
        display.print_json(shown | {"journal": [display.as_json(entry) for entry in journal]})
        return
    state = await services.store.load(task_id)
    if not follow:
        print(f"request: {visible(state.task.prompt)}")
        for entry in state.entries:
            if line := display.entry_line(entry):
                print(line)
    await print_outcome(services, state)


def _operator(services: Services) -> Viewer:
    return terminal(services.people, services.workspaces)


def _markdown(state: TaskState) -> list[str]:
    task = state.task
    lines = [f"# Task {task.task_id}: {task.status}", "", f"Asked by {task.requester} in workspace {task.workspace}."]
    for entry in state.entries:
        lines += ["", f"## {entry.seq}. {entry.kind}", ""]
        match entry.kind:
            case "user" | "assistant" | "tool":
                lines += [entry.data.get("text", "")]
                lines += [_fenced(f"{call['name']} {call['arguments']}") for call in entry.data.get("calls", ())]
            case _:
                lines += [", ".join(f"{key}: {value}" for key, value in entry.data.items())]
    return lines


def _fenced(text: str) -> str:
    fence = "```"
    while fence in text:
        fence += "`"
    return f"\n{fence}\n{text}\n{fence}"
