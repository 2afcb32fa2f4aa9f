"""Conversations: made, renamed, put away, gone on with."""

from __future__ import annotations

import secrets
from dataclasses import replace
from typing import Annotated

from pydantic import Field

from agent.domain import Address, TaskStatus
from agent.errors import NotFound
from agent.people import console_of
from agent.ports.listings import ListedSession, SessionSelection
from bot.api.shapes import PAGE_SIZE, Body, Moment, Page, Shown, Text, YesOrNo, next_page
from bot.api.viewer import Viewer
from bot.api.workspaces import chosen_workspace
from bot.services import Services

MAX_TITLE = 200
Title = Annotated[Text, Field(max_length=MAX_TITLE)]


class SessionView(Shown):
    """A conversation. `title` is what people called it, else empty; `last_*` are those of its newest task."""

    session_id: int
    channel: str
    conversation: str
    thread: str | None
    workspace: str
    title: str
    archived: bool
    last_task_id: int | None
    last_status: TaskStatus | None
    last_request: str | None
    last_at: Moment | None


class SessionPage(Shown):
    """Conversations, those that began last first."""

    sessions: list[SessionView]
    next: int | None


class SessionQuery(Page):
    """Which conversations; `mine` are those the viewer has in the console."""

    archived: YesOrNo = False
    mine: YesOrNo = False


class NewSession(Body):
    """A conversation to be made; without a workspace it works where the viewer's console does."""

    workspace: Text | None = None
    title: Title = ""


class SessionChange(Body):
    """What becomes of a conversation; what is left out stays."""

    title: Title | None = None
    archived: bool | None = None


async def list_sessions(
    services: Services,
    viewer: Viewer,
    *,
    archived: bool = False,
    mine: bool = False,
    page_size: int = PAGE_SIZE,
    before: int | None = None,
) -> SessionPage:
    """The conversations of the viewer's workspaces."""
    viewer.require("tasks:read")
    which = SessionSelection(archived=archived, workspaces=viewer.workspaces)
    if mine:
        which = replace(which, channel="console", conversation=viewer.member.name)
    found = await services.store.sessions(limit=page_size, before=before, which=which)
    following = next_page([one.session.session_id for one in found], page_size)
    return SessionPage(sessions=[_view(one) for one in found], next=following)


async def show_session(services: Services, viewer: Viewer, session_id: int) -> SessionView:
    """One conversation; NotFound."""
    viewer.require("tasks:read")
    return _view(await visible_session(services, viewer, session_id))


async def new_session(services: Services, viewer: Viewer, new: NewSession) -> SessionView:
    """Make a conversation of the viewer's; NotFound for a workspace they do not see."""
    viewer.require("sessions:write")
    workspace = chosen_workspace(services, viewer, new.workspace)
    session_id = await services.store.new_session(new_thread(viewer), workspace, new.title)
    return _view(await services.store.session(session_id))


async def change_session(services: Services, viewer: Viewer, session_id: int, change: SessionChange) -> SessionView:
    """Rename a conversation, put it away or back; NotFound, Conflict when its place is taken by a newer one."""
    viewer.require("sessions:write")
    await visible_session(services, viewer, session_id)
    await services.store.change_session(session_id, title=change.title, archived=change.archived)
    return _view(await services.store.session(session_id))


async def rename_session(services: Services, viewer: Viewer, session_id: int, title: str) -> SessionView:
    """Give a conversation another title."""
    return await change_session(services, viewer, session_id, SessionChange(title=title))


async def archive_session(services: Services, viewer: Viewer, session_id: int, *, archived: bool = True) -> SessionView:
    """Put a conversation away, or back."""
    return await change_session(services, viewer, session_id, SessionChange(archived=archived))


async def visible_session(services: Services, viewer: Viewer, session_id: int) -> ListedSession:
    """A conversation as its row; a foreign one is NotFound like an unknown one."""
    found = await services.store.session(session_id)
    if not viewer.sees(found.session.workspace):
        raise NotFound(f"There is no conversation {session_id}.")
    return found


def new_thread(viewer: Viewer) -> Address:
    """A place in the viewer's console that nobody uses yet."""
    return replace(console_of(viewer.member), thread=secrets.token_hex(8))


def _view(one: ListedSession) -> SessionView:
    session, last = one.session, one.last_task
    return SessionView(
        session_id=session.session_id,
        channel=session.address.channel,
        conversation=session.address.conversation,
        thread=session.address.thread,
        workspace=session.workspace,
        title=session.title,
        archived=session.archived,
        last_task_id=last.task_id if last else None,
        last_status=last.status if last else None,
        last_request=last.prompt if last else None,
        last_at=last.created_at if last else None,
    )
