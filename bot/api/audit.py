"""What people did, for whoever has to find out later."""

from __future__ import annotations

from typing import Any

from agent.ports.access import Act, NewAudit
from bot.api.viewer import Viewer
from bot.services import Services


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
