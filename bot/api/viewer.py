"""Whoever looks: a member, what this way in lets them do, and the workspaces they may see."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from agent.domain import Member, Role
from agent.errors import Forbidden
from agent.people import People
from agent.ports.files import Workspaces

Scope = Literal[
    "tasks:read", "tasks:write", "approvals:read", "approvals:decide", "artifacts:read", "files:read", "files:write",
    "sessions:write", "memory:read", "memory:write", "skills:read", "usage:read", "people:read", "people:write",
    "audit:read",
]  # fmt: skip
"""What an API token can be limited to."""

SCOPES: frozenset[Scope] = frozenset(get_args(Scope))
ADMIN_SCOPES: frozenset[Scope] = frozenset({"memory:write", "people:write", "audit:read"})
"""Only for admins."""
DEFAULT_SCOPES: frozenset[Scope] = SCOPES - ADMIN_SCOPES - {"approvals:decide"}
"""What a token is made for when nothing else is said: a program decides only when a person wanted just that."""

Way = Literal["console", "api", "cli", "chat"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Viewer:
    """Whoever looks. `workspaces` None is all of them; `way` and `client` (an IP address) are for the audit."""

    member: Member
    scopes: frozenset[Scope]
    workspaces: frozenset[str] | None
    way: Way
    client: str = ""

    def sees(self, workspace: str) -> bool:
        """Whether what lies in a workspace exists for this viewer; if not, answer like for an unknown id."""
        return self.workspaces is None or workspace in self.workspaces

    def require(self, scope: Scope) -> None:
        """Forbidden without this scope."""
        if scope not in self.scopes:
            who = "This API token" if self.way == "api" else self.member.name
            raise Forbidden(f"{who} may not do this; it needs the scope {scope}.", code="missing_scope")

    def require_role(self, role: Role) -> None:
        """Forbidden without this role."""
        if role not in self.member.roles:
            raise Forbidden(f"{self.member.name} may not do this; it is for the role {role}.", code="missing_role")


def allowed(member: Member) -> frozenset[Scope]:
    """All that a member's roles allow. Which approvals a person may decide is up to the rule on each card."""
    return SCOPES if "admin" in member.roles else SCOPES - ADMIN_SCOPES


def viewer(
    member: Member,
    workspaces: Workspaces,
    *,
    way: Way,
    scopes: frozenset[Scope] = SCOPES,
    client: str = "",
    place: str | None = None,
) -> Viewer:
    """A member as a viewer, with the part of `scopes` that the roles allow today.

    `place` is the workspace of the conversation they speak in, which everybody there sees, too.
    """
    seen = None
    if "admin" not in member.roles:
        seen = workspaces.visible_to(member) | ({place} if place else frozenset())
    return Viewer(
        member=member,
        scopes=scopes & allowed(member),
        workspaces=seen,
        way=way,
        client=client,
    )


def terminal(people: People, workspaces: Workspaces) -> Viewer:
    """The operator at the command line."""
    return viewer(people.operator, workspaces, way="cli")
