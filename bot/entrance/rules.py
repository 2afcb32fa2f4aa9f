"""What each route asks of whoever uses it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from aiohttp import web

from agent.domain import Role
from agent.errors import NotAuthentic
from bot.api.viewer import Scope, Viewer

VIEWER: web.RequestKey[Viewer] = web.RequestKey("viewer", Viewer)
"""Where a handler finds who asks; there in every route with a rule."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Admission:
    """How somebody came in, for answers that go on for long; `again` is another try, NotAuthentic."""

    viewer: Viewer
    again: Callable[[], Awaitable[Viewer]]

    async def stands(self) -> bool:
        """Whether they would still come in, and would see and may do the same."""
        try:
            return await self.again() == self.viewer
        except NotAuthentic:
            return False


ADMISSION: web.RequestKey[Admission] = web.RequestKey("admission", Admission)
CSRF_TOKEN: web.RequestKey[str] = web.RequestKey("csrf_token", str)
"""What a page's forms must send along, in the header X-CSRF-Token or the field `csrf_token`; empty for API tokens."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Rule:
    """Only members come in, with this role and, if one is named, this scope. A `page` shows strangers the way in
    instead of a JSON error."""

    scope: Scope | None = None
    role: Role = "member"
    page: bool = False

    def check(self, viewer: Viewer) -> None:
        """Forbidden for a viewer without the role or the scope."""
        viewer.require_role(self.role)
        if self.scope is not None:
            viewer.require(self.scope)


@dataclass(frozen=True, slots=True)
class Guarded:
    """A route with its rule: `Guarded(web.get("/v1/tasks", handler), Rule(scope="tasks:read"))`. None is open to
    everybody."""

    route: web.RouteDef
    rule: Rule | None
