"""The folders a viewer works in."""

from __future__ import annotations

from agent.errors import NotFound
from agent.people import home_of
from agent.ports.files import WorkspaceFiles
from bot.api.shapes import Shown
from bot.api.viewer import Viewer
from bot.services import Services


class WorkspaceView(Shown):
    """A workspace; `default` is where the viewer's console works."""

    name: str
    default: bool


class WorkspaceList(Shown):
    """The viewer's workspaces by name."""

    workspaces: list[WorkspaceView]


async def list_workspaces(services: Services, viewer: Viewer) -> WorkspaceList:
    """The workspaces the viewer sees; an admin's are those of the configuration and their own."""
    home = services.workspaces.for_address(home_of(viewer.member))
    names = {*services.config.workspaces, home} if viewer.workspaces is None else viewer.workspaces
    return WorkspaceList(workspaces=[WorkspaceView(name=name, default=name == home) for name in sorted(names)])


def chosen_workspace(services: Services, viewer: Viewer, name: str | None) -> str:
    """The workspace of that name, or the one of the viewer's console; NotFound."""
    if name is None:
        return services.workspaces.for_address(home_of(viewer.member))
    return opened(services, viewer, name).name


def opened(services: Services, viewer: Viewer, name: str) -> WorkspaceFiles:
    """The files of a workspace; a foreign one is NotFound like an unknown one."""
    if not viewer.sees(name):
        raise NotFound(f"There is no workspace {name!r}.")
    return services.workspaces.open(name)
