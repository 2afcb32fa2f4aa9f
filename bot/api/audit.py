"""What people did, for whoever has to find out later."""

from __future__ import annotations

from typing import Any

from agent.ports.access import Act, Audit, NewAudit
from bot.api.shapes import PAGE_SIZE, Moment, Page, Shown, Text, next_page
from bot.api.viewer import Viewer
from bot.services import Services


class AuditView(Shown):
    """An act: who did what to which thing. `detail` holds no content; `way` and `client` say where it came from."""

    audit_id: int
    at: Moment
    who: str
    what: Act
    subject: str
    detail: dict[str, Any]
    way: str
    client: str


class AuditPage(Shown):
    """Acts, the newest first."""

    audit: list[AuditView]
    next: int | None


class AuditFilter(Page):
    """Which acts."""

    who: Text | None = None
    what: Act | None = None


async def list_audit(
    services: Services,
    viewer: Viewer,
    *,
    who: str | None = None,
    what: Act | None = None,
    page_size: int = PAGE_SIZE,
    before: int | None = None,
) -> AuditPage:
    """What people did; for admins."""
    viewer.require_role("admin")
    viewer.require("audit:read")
    found = await services.access.audits(limit=page_size, before=before, who=who, what=what)
    following = next_page([one.audit_id for one in found], page_size)
    return AuditPage(audit=[_view(one) for one in found], next=following)


async def record(services: Services, viewer: Viewer, what: Act, subject: str = "", **detail: Any) -> None:
    """Record an act of a viewer; `detail` takes numbers, names and paths, never content."""
    await services.access.audit(row(services, viewer, what, subject, **detail))


def row(services: Services, viewer: Viewer, what: Act, subject: str = "", **detail: Any) -> NewAudit:
    """An act of a viewer, to be stored together with what it changes."""
    return NewAudit(
        at=services.clock.now(),
        who=viewer.member.name,
        what=what,
        subject=subject,
        detail=detail,
        way=viewer.way,
        client=viewer.client,
    )


def _view(one: Audit) -> AuditView:
    return AuditView(**{name: getattr(one, name) for name in AuditView.model_fields})
