"""The chat: conversations, what is asked in them, and how they go on while one looks."""

from __future__ import annotations

from aiohttp import web
from pydantic import ValidationError

from agent.commands import Command, parse
from agent.domain import IncomingFile, Received
from agent.errors import BadInput
from agent.ids import written_id
from bot.api.desk import MemberDesk
from bot.api.route import id_in_path
from bot.api.sessions import (
    MAX_TITLE,
    SessionView,
    archive_session,
    list_sessions,
    rename_session,
    show_session,
    visible_session,
)
from bot.api.tasks import NewTask, TaskFilter, event_key, list_tasks, say
from bot.api.workspaces import list_workspaces
from bot.entrance.rules import VIEWER, Guarded, Rule
from bot.web.forms import Form, read_form
from bot.web.live import LiveChat, load_turn
from bot.web.shell import SESSIONS_SHOWN, Shell, see_other, wants_fragment

TURNS_SHOWN = 20
PAGE = Rule(page=True)


class Chat:
    """Pages and parts below `/chat`."""

    def __init__(self, shell: Shell, live: LiveChat) -> None:
        self._shell = shell
        self._services = shell.services
        self._live = live

    def routes(self) -> list[Guarded]:
        """Its routes."""
        one = "/chat/{session_id}"
        return [
            Guarded(web.get("/", self._home), PAGE),
            Guarded(web.get("/chat", self._begin), PAGE),
            Guarded(web.post("/chat", self._say_first), PAGE),
            Guarded(web.get("/chats", self._list), PAGE),
            Guarded(web.get("/chats/archived", self._archived), PAGE),
            Guarded(web.get(one, self._show), PAGE),
            Guarded(web.post(one, self._say), PAGE),
            Guarded(web.get(f"{one}/live", self._follow), Rule()),
            Guarded(web.post(f"{one}/title", self._rename), PAGE),
            Guarded(web.post(f"{one}/archived", self._archive), PAGE),
        ]

    async def _home(self, request: web.Request) -> web.StreamResponse:
        return see_other(request, "/chat")

    async def _begin(self, request: web.Request) -> web.StreamResponse:
        workspaces = (await list_workspaces(self._services, request[VIEWER])).workspaces
        return await self._shell.page(request, "begin.html", here="chat", workspaces=workspaces)

    async def _list(self, request: web.Request) -> web.StreamResponse:
        """The chats beside every page."""
        found = await list_sessions(self._services, request[VIEWER], mine=True, page_size=SESSIONS_SHOWN)
        now = written_id(request.query.get("now", ""))
        return self._shell.fragment(request, "sessions.html", sessions=found.sessions, session_id=now)

    async def _archived(self, request: web.Request) -> web.StreamResponse:
        found = await list_sessions(self._services, request[VIEWER], archived=True, mine=True, page_size=100)
        return await self._shell.page(request, "archived.html", here="chat", archived=found.sessions)

    async def _show(self, request: web.Request) -> web.StreamResponse:
        viewer, session_id = request[VIEWER], id_in_path(request, "session_id")
        session = await show_session(self._services, viewer, session_id)
        which = TaskFilter(session_id=session_id)
        before = written_id(request.query.get("before", ""))
        tasks = (await list_tasks(self._services, viewer, which, page_size=TURNS_SHOWN, before=before)).tasks
        turns = [await load_turn(self._services, viewer, task.task_id) for task in reversed(tasks)]
        unfinished = [turn.task.task_id for turn in turns if not turn.ended]
        return await self._shell.page(
            request,
            "chat.html",
            here="chat",
            session=session,
            session_id=session_id,
            turns=turns,
            follow_from=unfinished[0] if unfinished else None,
            earlier=turns[0].task.task_id if len(turns) == TURNS_SHOWN else None,
            latest=before is None,
        )

    async def _follow(self, request: web.Request) -> web.StreamResponse:
        return await self._live.follow(request, id_in_path(request, "session_id"))

    # --- what people say ------------------------------------------------------------------------------------------

    async def _say_first(self, request: web.Request) -> web.StreamResponse:
        form = await self._form(request)
        workspace = form.text("workspace") or None
        if (command := _command(form)) is not None:
            desk = MemberDesk(self._services, request[VIEWER], None, workspace)
            return await self._answered(request, command, desk, _key(form))
        new = _new_task(form, workspace=workspace)
        accepted = await say(self._services, request[VIEWER], new, form.files, key=_key(form))
        return see_other(request, f"/chat/{accepted.session_id}")

    async def _say(self, request: web.Request) -> web.StreamResponse:
        viewer, session_id = request[VIEWER], id_in_path(request, "session_id")
        form = await self._form(request)
        if (command := _command(form)) is not None:
            session = (await visible_session(self._services, viewer, session_id)).session
            return await self._answered(request, command, MemberDesk(self._services, viewer, session), _key(form))
        new = _new_task(form, session_id=session_id)
        accepted = await say(self._services, viewer, new, form.files, key=_key(form))
        if not wants_fragment(request):
            return see_other(request, f"/chat/{session_id}")
        if not accepted.fresh:  # the page has that task already, and follows it
            return web.Response(status=204)
        turn = await load_turn(self._services, viewer, accepted.task_id)
        return self._shell.fragment(request, "turn.html", turn=turn)

    async def _answered(
        self, request: web.Request, command: Command, desk: MemberDesk, key: str | None
    ) -> web.StreamResponse:
        """What a chat word answers; it is no part of the conversation and gone at the next look."""
        event = Received(
            dedup_key=event_key(desk.member, key),
            kind="command",
            outcome="command",
            who=desk.member.name,
            received_at=self._services.clock.now(),
        )
        row = await self._services.reception.word(command, desk, event)
        if row.kind == "command" and row.session_id is not None:
            return see_other(request, f"/chat/{row.session_id}")
        problem = row.outcome.startswith("refused:")
        return self._shell.fragment(request, "reply.html", command=command, text=row.said, problem=problem)

    async def _form(self, request: web.Request) -> Form:
        return await read_form(request, self._services.config.bot.http.max_upload)

    # --- conversations --------------------------------------------------------------------------------------------

    async def _rename(self, request: web.Request) -> web.StreamResponse:
        form = await self._form(request)
        title = " ".join(form.text("title").split())[:MAX_TITLE]
        session = await rename_session(self._services, request[VIEWER], id_in_path(request, "session_id"), title)
        return _shown(request, session)

    async def _archive(self, request: web.Request) -> web.StreamResponse:
        archived = (await self._form(request)).text("archived") == "true"
        session_id = id_in_path(request, "session_id")
        session = await archive_session(self._services, request[VIEWER], session_id, archived=archived)
        return see_other(request, "/chat") if archived else _shown(request, session)


def _shown(request: web.Request, session: SessionView) -> web.Response:
    return see_other(request, f"/chat/{session.session_id}")


def _command(form: Form) -> Command | None:
    """A word with a file is a request about the file."""
    return None if form.files else parse(form.text("text"))


def _key(form: Form) -> str | None:
    """Made by the page for each thing that is said, so that a double press says it once."""
    key = form.text("key")
    return f"page:{key}" if key and len(key) <= 64 and key.isascii() else None


def _new_task(form: Form, *, session_id: int | None = None, workspace: str | None = None) -> NewTask:
    text = form.text("text").strip() or _about(form.files)
    try:
        return NewTask(text=text, session_id=session_id, workspace=workspace, files=[])
    except ValidationError as error:
        message = error.errors(include_url=False)[0]["msg"]
        raise BadInput(f"This cannot be sent: {message}.", field="text") from None


def _about(files: tuple[IncomingFile, ...]) -> str:
    """A request that is only files."""
    if not files:
        raise BadInput("Write what should be done.", field="text")
    return "Please look at what I sent."
