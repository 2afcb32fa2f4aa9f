"""Every route of `/v1`; a new one is a new entry here."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from bot.api import approvals, artifacts, audit, files, memory, policy, sessions, skills, tasks, usage, workspaces
from bot.api.people_table import PEOPLE
from bot.api.route import Call, Route
from bot.api.sending import content_of_artifact, content_of_file, uploaded
from bot.api.shapes import Parameters, Seq
from bot.api.stream import EventHeaders, Streams

ANYTHING = "application/octet-stream"
STREAM = "text/event-stream"


class Key(Parameters):
    """A request that is repeated with the same key makes no second task."""

    key: Annotated[str, Field(min_length=1, max_length=200, pattern="^[!-~]+$")] | None = Field(
        default=None, alias="Idempotency-Key"
    )


class After(Parameters):
    """From where in a journal: only rows after this seq."""

    after: Seq = 0


async def _journal(call: Call) -> tasks.Journal:
    found = await tasks.journal(call.services, call.viewer, call.id("task_id"), call.query.after)
    return tasks.Journal(journal=found)


TASKS = (
    Route(
        method="GET",
        path="/v1/tasks",
        summary="List tasks, the newest first",
        scope="tasks:read",
        query=tasks.TaskQuery,
        answers={200: tasks.TaskPage},
        run=lambda call: tasks.list_tasks(
            call.services, call.viewer, call.query, page_size=call.query.page_size, before=call.query.before
        ),
    ),
    Route(
        method="POST",
        path="/v1/tasks",
        summary="Ask for something",
        scope="tasks:write",
        headers=Key,
        body=tasks.NewTask,
        answers={201: tasks.TaskView},
        refusals=(404, 409),
        run=lambda call: tasks.create_task(call.services, call.viewer, call.body, key=call.headers.key),
    ),
    Route(
        method="GET",
        path="/v1/tasks/{task_id}",
        summary="Show a task with what came of it",
        scope="tasks:read",
        answers={200: tasks.TaskView},
        run=lambda call: tasks.show_task(call.services, call.viewer, call.id("task_id")),
    ),
    Route(
        method="POST",
        path="/v1/tasks/{task_id}/cancel",
        summary="Stop a task",
        scope="tasks:write",
        answers={200: tasks.TaskView},
        refusals=(409,),
        run=lambda call: tasks.cancel_task(call.services, call.viewer, call.id("task_id")),
    ),
    Route(
        method="GET",
        path="/v1/tasks/{task_id}/journal",
        summary="Show what happened in a task",
        scope="tasks:read",
        query=After,
        answers={200: tasks.Journal},
        run=_journal,
    ),
)


def events(streams: Streams) -> Route:
    """The one route whose answers go on; `streams` ends them when the server does."""
    return Route(
        method="GET",
        path="/v1/tasks/{task_id}/events",
        summary="Follow a task: its journal from `after` (or Last-Event-ID) on, until it has ended",
        scope="tasks:read",
        query=After,
        headers=EventHeaders,
        answers={200: STREAM, 204: None},
        run=streams.run,
    )


SESSIONS = (
    Route(
        method="GET",
        path="/v1/sessions",
        summary="List conversations",
        scope="tasks:read",
        query=sessions.SessionQuery,
        answers={200: sessions.SessionPage},
        run=lambda call: sessions.list_sessions(call.services, call.viewer, **call.query.model_dump()),
    ),
    Route(
        method="POST",
        path="/v1/sessions",
        summary="Begin a conversation",
        scope="sessions:write",
        body=sessions.NewSession,
        answers={201: sessions.SessionView},
        refusals=(404,),
        run=lambda call: sessions.new_session(call.services, call.viewer, call.body),
    ),
    Route(
        method="GET",
        path="/v1/sessions/{session_id}",
        summary="Show a conversation",
        scope="tasks:read",
        answers={200: sessions.SessionView},
        run=lambda call: sessions.show_session(call.services, call.viewer, call.id("session_id")),
    ),
    Route(
        method="PATCH",
        path="/v1/sessions/{session_id}",
        summary="Rename a conversation, put it away or back",
        scope="sessions:write",
        body=sessions.SessionChange,
        answers={200: sessions.SessionView},
        refusals=(409,),
        run=lambda call: sessions.change_session(call.services, call.viewer, call.id("session_id"), call.body),
    ),
)

APPROVALS = (
    Route(
        method="GET",
        path="/v1/approvals",
        summary="List cards, the newest first",
        scope="approvals:read",
        query=approvals.ApprovalQuery,
        answers={200: approvals.ApprovalPage},
        run=lambda call: approvals.list_approvals(call.services, call.viewer, **call.query.model_dump()),
    ),
    Route(
        method="GET",
        path="/v1/approvals/{approval_id}",
        summary="Show a card: what would be done",
        scope="approvals:read",
        answers={200: approvals.ApprovalView},
        run=lambda call: approvals.show_approval(call.services, call.viewer, call.id("approval_id")),
    ),
    Route(
        method="POST",
        path="/v1/approvals/{approval_id}/decision",
        summary="Approve or deny a card or some of its items, or ask for changes",
        scope="approvals:decide",
        body=approvals.Decision,
        answers={200: approvals.ApprovalView},
        refusals=(409,),
        run=lambda call: approvals.decide(call.services, call.viewer, call.id("approval_id"), call.body),
    ),
    Route(
        method="POST",
        path="/v1/approvals/{approval_id}/edit",
        summary="Give an item other arguments; the card then shows what they would do",
        scope="approvals:decide",
        body=approvals.NewArguments,
        answers={200: approvals.ApprovalView},
        refusals=(409,),
        run=lambda call: approvals.edit(call.services, call.viewer, call.id("approval_id"), call.body),
    ),
    Route(
        method="POST",
        path="/v1/approvals/{approval_id}/ask-again",
        summary="Ask once more for what an expired card asked",
        scope="tasks:write",
        answers={201: tasks.TaskView},
        refusals=(409,),
        run=lambda call: tasks.ask_again(call.services, call.viewer, call.id("approval_id")),
    ),
)

FILES = (
    Route(
        method="GET",
        path="/v1/artifacts/{artifact_id}",
        summary="Download a file that a task made; ranges are served",
        scope="artifacts:read",
        answers={200: ANYTHING, 206: ANYTHING, 304: None, 412: None, 416: None},
        run=content_of_artifact,
    ),
    Route(
        method="GET",
        path="/v1/artifacts/{artifact_id}/metadata",
        summary="Show what is known of a file that a task made",
        scope="artifacts:read",
        answers={200: artifacts.ArtifactView},
        run=lambda call: artifacts.show_artifact(call.services, call.viewer, call.id("artifact_id")),
    ),
    Route(
        method="GET",
        path="/v1/workspaces",
        summary="List the workspaces one sees",
        scope="files:read",
        answers={200: workspaces.WorkspaceList},
        run=lambda call: workspaces.list_workspaces(call.services, call.viewer),
    ),
    Route(
        method="GET",
        path="/v1/files/{workspace}",
        summary="List a folder",
        scope="files:read",
        query=files.PathQuery,
        answers={200: files.FolderView},
        run=lambda call: files.list_folder(call.services, call.viewer, call.workspace, call.query.path),
    ),
    Route(
        method="POST",
        path="/v1/files/{workspace}",
        summary="Upload a file: the body itself with `name`, or the field `file` of a form",
        scope="files:write",
        query=files.UploadQuery,
        sent=(ANYTHING, "multipart/form-data"),
        answers={201: files.FileRow},
        refusals=(409,),
        run=uploaded,
    ),
    Route(
        method="GET",
        path="/v1/files/{workspace}/content",
        summary="Download a file",
        scope="files:read",
        query=files.FileQuery,
        answers={200: ANYTHING},
        run=content_of_file,
    ),
    Route(
        method="GET",
        path="/v1/files/{workspace}/preview",
        summary="Show a file as text, table or picture",
        scope="files:read",
        query=files.FileQuery,
        answers={200: files.FilePreview},
        run=lambda call: files.preview_file(call.services, call.viewer, call.workspace, call.query.path),
    ),
)

THE_REST = (
    Route(
        method="GET",
        path="/v1/memory/{workspace}",
        summary="Show what is remembered in a workspace",
        scope="memory:read",
        query=memory.MemoryQuery,
        answers={200: memory.MemoryView},
        run=lambda call: memory.read_memory(call.services, call.viewer, call.workspace, call.query.name),
    ),
    Route(
        method="PUT",
        path="/v1/memory/{workspace}",
        summary="Write a memory file",
        scope="memory:write",
        role="admin",
        body=memory.MemoryText,
        answers={200: memory.MemoryView},
        refusals=(409,),
        run=lambda call: memory.write_memory(call.services, call.viewer, call.workspace, call.body),
    ),
    Route(
        method="GET",
        path="/v1/skills",
        summary="List skills, and what could not be loaded",
        scope="skills:read",
        query=skills.SkillQuery,
        answers={200: skills.SkillList},
        refusals=(404,),
        run=lambda call: skills.list_skills(call.services, call.viewer, call.query.workspace),
    ),
    Route(
        method="GET",
        path="/v1/policy",
        summary="Show who may do what, and who decides",
        scope="people:read",
        answers={200: policy.PolicyView},
        run=lambda call: policy.show_policy(call.services, call.viewer),
    ),
    Route(
        method="GET",
        path="/v1/usage",
        summary="Show tokens and money by day, model or member",
        scope="usage:read",
        query=usage.UsageQuery,
        answers={200: usage.UsageReport},
        run=lambda call: usage.usage(call.services, call.viewer, call.query),
    ),
    Route(
        method="GET",
        path="/v1/audit",
        summary="List what people did",
        scope="audit:read",
        role="admin",
        query=audit.AuditFilter,
        answers={200: audit.AuditPage},
        run=lambda call: audit.list_audit(call.services, call.viewer, **call.query.model_dump()),
    ),
)


def table(streams: Streams) -> tuple[Route, ...]:
    """All routes."""
    return (*TASKS, events(streams), *SESSIONS, *APPROVALS, *FILES, *PEOPLE, *THE_REST)
