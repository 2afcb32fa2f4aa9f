"""Tasks and approvals: lists, a task with its journal, and the signature under a card."""

from __future__ import annotations

from collections.abc import Coroutine, Mapping
from dataclasses import dataclass
from typing import Any, get_args

from aiohttp import web
from pydantic import ValidationError

from agent.domain import ApprovalStatus, Origin, TaskStatus
from agent.errors import BadInput, Conflict
from agent.ids import written_id
from bot.api.approvals import (
    ApprovalView,
    Decision,
    NewArguments,
    cards,
    decide,
    edit_by_form,
    list_approvals,
    show_approval,
)
from bot.api.people import list_people
from bot.api.route import id_in_path
from bot.api.shapes import filled
from bot.api.tasks import TaskFilter, ask_again, cancel_task, journal, list_tasks, show_task
from bot.api.workspaces import list_workspaces
from bot.entrance.rules import VIEWER, Guarded, Rule
from bot.web.forms import Form, read_form
from bot.web.live import load_turn
from bot.web.shell import MOST_WAITING, Shell, see_other, wants_fragment

PAGE = Rule(page=True)


@dataclass(frozen=True, kw_only=True, slots=True)
class Draft:
    """What somebody wrote for an item of a card that changed meanwhile; it is kept for them."""

    item: int
    fields: Mapping[str, str]


class Work:
    """Pages and parts below `/tasks` and `/approvals`."""

    def __init__(self, shell: Shell) -> None:
        self._shell = shell
        self._services = shell.services

    def routes(self) -> list[Guarded]:
        """Its routes."""
        return [
            Guarded(web.get("/tasks", self._tasks), PAGE),
            Guarded(web.get("/tasks/{task_id}", self._task), PAGE),
            Guarded(web.post("/tasks/{task_id}/cancel", self._cancel), PAGE),
            Guarded(web.get("/approvals", self._approvals), PAGE),
            Guarded(web.get("/approvals/waiting", self._waiting), PAGE),
            Guarded(web.get("/approvals/{approval_id}", self._approval), PAGE),
            Guarded(web.post("/approvals/{approval_id}", self._decide), PAGE),
            Guarded(web.post("/approvals/{approval_id}/edit", self._edit), PAGE),
            Guarded(web.post("/approvals/{approval_id}/again", self._ask_again), PAGE),
        ]

    async def _tasks(self, request: web.Request) -> web.StreamResponse:
        viewer = request[VIEWER]
        names = ("status", "workspace", "origin", "requester")
        chosen = {name: request.query[name] for name in names if request.query.get(name)}
        try:
            wanted = TaskFilter.model_validate(chosen)
        except ValidationError:
            raise BadInput("There is no such filter.", code="bad_filter") from None
        found = await list_tasks(self._services, viewer, wanted, before=written_id(request.query.get("before", "")))
        return await self._shell.page(
            request,
            "tasks.html",
            here="tasks",
            tasks=found.tasks,
            next=found.next,
            chosen={name: chosen.get(name, "") for name in names},
            statuses=get_args(TaskStatus),
            origins=get_args(Origin),
            workspaces=[one.name for one in (await list_workspaces(self._services, viewer)).workspaces],
            people=[person.name for person in (await list_people(self._services, viewer)).people],
        )

    async def _task(self, request: web.Request) -> web.StreamResponse:
        viewer, task_id = request[VIEWER], id_in_path(request, "task_id")
        return await self._shell.page(
            request,
            "task.html",
            here="tasks",
            task=await show_task(self._services, viewer, task_id),
            journal=await journal(self._services, viewer, task_id),
        )

    async def _cancel(self, request: web.Request) -> web.StreamResponse:
        """A task that has ended meanwhile needs no stop; whoever asked sees how it ended."""
        viewer, task_id = request[VIEWER], id_in_path(request, "task_id")
        try:
            await cancel_task(self._services, viewer, task_id)
        except Conflict:
            if not wants_fragment(request):
                return see_other(request, f"/tasks/{task_id}")
        if not wants_fragment(request):
            return see_other(request, f"/tasks/{task_id}")
        turn = await load_turn(self._services, viewer, task_id)
        return self._shell.fragment(request, "turn.html", turn=turn)

    # --- approvals ------------------------------------------------------------------------------------------------

    async def _approvals(self, request: web.Request) -> web.StreamResponse:
        viewer = request[VIEWER]
        status: ApprovalStatus | None = None if request.query.get("show") == "all" else "open"
        found = (await list_approvals(self._services, viewer, status)).approvals
        tasks = {card.task_id: await show_task(self._services, viewer, card.task_id) for card in found}
        return await self._shell.page(
            request, "approvals.html", here="approvals", cards=found, tasks=tasks, every=status is None
        )

    async def _waiting(self, request: web.Request) -> web.StreamResponse:
        found = await cards(self._services, request[VIEWER], "open", page_size=MOST_WAITING)
        return self._shell.fragment(request, "waiting.html", waiting=len(found))

    async def _approval(self, request: web.Request) -> web.StreamResponse:
        viewer = request[VIEWER]
        card = await show_approval(self._services, viewer, id_in_path(request, "approval_id"))
        task = await show_task(self._services, viewer, card.task_id)
        return await self._shell.page(
            request,
            "approvals.html",
            here="approvals",
            cards=[card],
            tasks={task.task_id: task},
            every=False,
        )

    async def _decide(self, request: web.Request) -> web.StreamResponse:
        """A press. Whoever comes second sees who was first, on the card as it is now."""
        viewer, approval_id = request[VIEWER], id_in_path(request, "approval_id")
        decision = _decision(await self._form(request))
        return await self._pressed(request, approval_id, decide(self._services, viewer, approval_id, decision))

    async def _edit(self, request: web.Request) -> web.StreamResponse:
        """Other arguments for an item. Whoever wrote them sees what they would do, or why they cannot be taken."""
        viewer, approval_id = request[VIEWER], id_in_path(request, "approval_id")
        form = await self._form(request)
        prefix = "argument."
        fields = {name.removeprefix(prefix): text for name, text in form.fields.items() if name.startswith(prefix)}
        wanted = filled(
            NewArguments, item=written_id(form.text("item")), arguments={}, revision=written_id(form.text("revision"))
        )
        work = edit_by_form(self._services, viewer, approval_id, wanted, fields)
        return await self._pressed(request, approval_id, work, Draft(item=wanted.item, fields=fields))

    async def _pressed(
        self,
        request: web.Request,
        approval_id: int,
        work: Coroutine[Any, Any, ApprovalView],
        draft: Draft | None = None,
    ) -> web.StreamResponse:
        note = ""
        try:
            card, draft = await work, None
        except Conflict as error:
            note = str(error)
            card = await show_approval(self._services, request[VIEWER], approval_id)
        if not wants_fragment(request):
            return see_other(request, f"/approvals/{approval_id}")
        return self._shell.fragment(request, "card.html", card=card, note=note, draft=draft)

    async def _ask_again(self, request: web.Request) -> web.StreamResponse:
        task = await ask_again(self._services, request[VIEWER], id_in_path(request, "approval_id"))
        return see_other(request, f"/chat/{task.session_id}")

    async def _form(self, request: web.Request) -> Form:
        return await read_form(request, self._services.config.bot.http.max_upload)


def _decision(form: Form) -> Decision:
    given: dict[str, Any] = {
        "verdict": form.text("verdict"),
        "items": [item for text in form.text("items").split() if (item := written_id(text)) is not None],
        "reason": form.text("reason").strip(),
        "outcome": form.text("outcome") or None,
        "revision": written_id(form.text("revision")),
    }
    try:
        return Decision(**given)
    except ValidationError as error:
        raise BadInput(f"This is no decision: {error.errors(include_url=False)[0]['msg']}.", field="verdict") from None
