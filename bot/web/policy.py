"""Who may do what, and who decides."""

from __future__ import annotations

from aiohttp import web

from bot.api.policy import PolicyView, PowerView, WorkspacePolicy, show_policy
from bot.entrance.rules import VIEWER, Guarded, Rule
from bot.web.shell import Shell


class PolicyPage:
    """The page `/policy`."""

    def __init__(self, shell: Shell) -> None:
        self._shell = shell

    def routes(self) -> list[Guarded]:
        """Its route."""
        return [Guarded(web.get("/policy", self._policy), Rule(page=True))]

    async def _policy(self, request: web.Request) -> web.StreamResponse:
        shown = await show_policy(self._shell.services, request[VIEWER])
        return await self._shell.page(
            request, "policy.html", here="policy", workspaces=_alike(shown), stricter=shown.stricter, holes=shown.holes
        )


def _alike(shown: PolicyView) -> list[tuple[list[WorkspacePolicy], list[PowerView]]]:
    """Workspaces with the same powers are shown once."""
    found: list[tuple[list[WorkspacePolicy], list[PowerView]]] = []
    for workspace in shown.workspaces:
        same = next((workspaces for workspaces, powers in found if powers == workspace.powers), None)
        if same is None:
            found.append(([workspace], workspace.powers))
        else:
            same.append(workspace)
    return found
