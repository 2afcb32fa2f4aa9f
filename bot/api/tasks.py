"""Tasks: made, listed, shown with all that happened, stopped."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Sequence
from decimal import Decimal
from typing import Annotated, Any

from pydantic import Field

from agent.domain import (
    Address,
    Artifact,
    Entry,
    EntryKind,
    IncomingFile,
    IncomingMessage,
    Member,
    Origin,
    Task,
    TaskStatus,
)
from agent.errors import BadInput, Conflict, NotFound
from agent.inbox import TEXT_LIMIT
from agent.people import console_of
from agent.ports.listings import TaskSelection
from agent.ports.store import Accepted, TaskState
from bot.api import audit
from bot.api.approvals import ApprovalView, approval_view, visible_approval
from bot.api.artifacts import ArtifactView, artifact_view
from bot.api.sessions import new_thread, visible_session
from bot.api.shapes import PAGE_SIZE, Body, Id, Moment, Page, Parameters, Shown, Text, WrittenId, next_page
from bot.api.viewer import Viewer
from bot.api.workspaces import chosen_workspace
from bot.services import Services
from channels.webhook_view import SentFile, decoded


class TaskRow(Shown):
    """A task in a list."""

    task_id: int
    session_id: int
    status: TaskStatus
    error_code: str | None
    origin: Origin
    requester: str
    workspace: str
    prompt: str
    created_at: Moment
    finished_at: Moment | None


class TaskPage(Shown):
    """Tasks, the newest first."""

    tasks: list[TaskRow]
    next: int | None


class TaskView(TaskRow):
    """A task with what came of it. `text` is the answer; `cost_usd` null is unknown, never free."""

    error_text: str | None
    files: list[str]
    text: str
    artifacts: list[ArtifactView]
    approvals: list[ApprovalView]
    cost_usd: float | None


class EntryView(Shown):
    """A row of the journal; what `data` holds is told by `kind`."""

    seq: int
    at: Moment | None
    kind: EntryKind
    data: dict[str, Any]


class Journal(Shown):
    """The rows of a task's journal, in order."""

    journal: list[EntryView]


class TaskFilter(Parameters):
    """Which tasks."""

    status: TaskStatus | None = None
    workspace: Text | None = None
    session_id: WrittenId | None = None
    origin: Origin | None = None
    requester: Text | None = None


class TaskQuery(TaskFilter, Page):
    """Which tasks, and which part of their list."""


class NewTask(Body):
    """A request. It goes on in a conversation, or begins one in a workspace (none named: the viewer's own)."""

    text: Annotated[Text, Field(min_length=1, max_length=TEXT_LIMIT)]
    session_id: Id | None = None
    workspace: Text | None = None
    files: list[SentFile] = Field(default_factory=list)


def task_row(task: Task) -> TaskRow:
    return TaskRow(**{name: getattr(task, name) for name in TaskRow.model_fields})


def entry_view(entry: Entry) -> EntryView:
    return EntryView(seq=entry.seq, at=entry.at, kind=entry.kind, data=entry.data)


async def create_task(
    services: Services, viewer: Viewer, new: NewTask, files: Sequence[IncomingFile] = (), *, key: str | None = None
) -> TaskView:
    """Take what a viewer says and show the task it belongs to; errors as of `say`."""
    accepted = await say(services, viewer, new, files, key=key)
    return await _shown(services, await services.store.load(accepted.task_id))


async def say(
    services: Services, viewer: Viewer, new: NewTask, files: Sequence[IncomingFile] = (), *, key: str | None = None
) -> Accepted:
    """Put a request on the queue, behind whatever is unfinished in its conversation; or, from somebody who may decide
    there, take it as the answer to the card that is open in it.

    `files` come beside those in `new`. A `key` that was used before returns its first task, and is a Conflict with
    another request. NotFound for a conversation or workspace the viewer does not see.
    """
    viewer.require("tasks:write")
    address, workspace = await _place(services, viewer, new)
    message = IncomingMessage(
        dedup_key=event_key(viewer.member, key),
        address=address,
        sender=viewer.member.name,
        text=new.text,
        origin="console",
        received_at=services.clock.now(),
        files=(*files, *decoded(new.files)),
        reply_to=(address if address.channel == "console" else console_of(viewer.member),),
        workspace=workspace,
        fingerprint=None if key is None else _fingerprint(new, files),
    )
    if "approvals:decide" in viewer.scopes:
        return await services.reception.say(message, viewer.member)
    return await services.inbox.accept(message)


def event_key(member: Member, key: str | None) -> str:
    """The identity of what a member says in the console or over `/v1`; without a `key` of the sender it is new."""
    run = secrets.token_hex(8) if key is None else f"key:{key}"
    return f"console:{member.name}:{run}"


async def list_tasks(
    services: Services,
    viewer: Viewer,
    wanted: TaskFilter | None = None,
    *,
    page_size: int = PAGE_SIZE,
    before: int | None = None,
) -> TaskPage:
    """Tasks of the viewer's workspaces, the newest first."""
    viewer.require("tasks:read")
    wanted = wanted or TaskFilter()
    workspaces = viewer.workspaces
    if wanted.workspace is not None:
        workspaces = frozenset({wanted.workspace}) if viewer.sees(wanted.workspace) else frozenset()
    which = TaskSelection(
        status=wanted.status,
        workspaces=workspaces,
        session_id=wanted.session_id,
        origin=wanted.origin,
        requester=wanted.requester,
    )
    found = await services.store.tasks(limit=page_size, before=before, which=which)
    following = next_page([task.task_id for task in found], page_size)
    return TaskPage(tasks=[task_row(task) for task in found], next=following)


async def show_task(services: Services, viewer: Viewer, task_id: int) -> TaskView:
    """One task with what came of it; NotFound."""
    viewer.require("tasks:read")
    await visible_task(services, viewer, task_id)
    return await _shown(services, await services.store.load(task_id))


async def ask_again(services: Services, viewer: Viewer, approval_id: int) -> TaskView:
    """The follow-up task that proposes again what an expired card asked, always the same one; Conflict, NotFound."""
    viewer.require("tasks:write")
    await visible_approval(services, viewer, approval_id)
    task_id = await services.approvals.ask_again(approval_id)
    await audit.record(services, viewer, "approval_asked_again", str(approval_id), task=task_id)
    return await _shown(services, await services.store.load(task_id))


async def journal(services: Services, viewer: Viewer, task_id: int, after_seq: int = 0) -> list[EntryView]:
    """What happened in a task after a seq, in order; NotFound."""
    viewer.require("tasks:read")
    await visible_task(services, viewer, task_id)
    return [entry_view(entry) for entry in await services.store.journal(task_id, after_seq)]


async def cancel_task(services: Services, viewer: Viewer, task_id: int) -> TaskView:
    """Stop a task; one that runs ends at its next step. NotFound; Conflict when it has ended."""
    viewer.require("tasks:write")
    await visible_task(services, viewer, task_id)
    await services.approvals.cancel(task_id)
    return await _shown(services, await services.store.load(task_id))


async def visible_task(services: Services, viewer: Viewer, task_id: int) -> Task:
    """A task's own row; a foreign one is NotFound like an unknown one."""
    task = await services.store.task(task_id)
    if not viewer.sees(task.workspace):
        raise NotFound(f"There is no task {task_id}.")
    return task


async def _place(services: Services, viewer: Viewer, new: NewTask) -> tuple[Address, str]:
    """Where a request is made and the workspace it works in."""
    if new.session_id is None:
        return new_thread(viewer), chosen_workspace(services, viewer, new.workspace)
    session = (await visible_session(services, viewer, new.session_id)).session
    if new.workspace not in {None, session.workspace}:
        raise BadInput("workspace: a conversation stays in its own; leave it out.", field="workspace")
    if session.archived:
        raise Conflict(f"Session {session.session_id} is archived; take it back first.", code="session_archived")
    return session.address, session.workspace


async def _shown(services: Services, state: TaskState) -> TaskView:
    task, people = state.task, await services.people.by_name() if state.approvals else {}
    cost_usd: Decimal | None = await services.store.cost_usd(task.task_id)
    return TaskView(
        **task_row(task).__dict__,
        error_text=task.error_text,
        files=list(task.files),
        text=task.answer or "",
        artifacts=[artifact_view(artifact) for artifact in _newest(state.artifacts)],
        approvals=[approval_view(card, task, number, people) for number, card in enumerate(state.approvals, start=1)],
        cost_usd=None if cost_usd is None else float(cost_usd),
    )


def _newest(artifacts: Sequence[Artifact]) -> list[Artifact]:
    """The newest version of each file."""
    return list({artifact.path: artifact for artifact in artifacts}.values())


def _fingerprint(new: NewTask, files: Sequence[IncomingFile]) -> str:
    digest = hashlib.sha256(new.model_dump_json().encode())
    for file in files:
        digest.update(f"\n{len(file.content)} {file.name}\n".encode() + file.content)
    return digest.hexdigest()
