"""What waits for a person, and the decision."""

from __future__ import annotations

from typing import Annotated, Any

import orjson
from pydantic import Field

from agent.domain import Approval, ApprovalKind, ApprovalStatus, ButtonPress, Call, CallStatus, Outcome, Verdict
from agent.errors import Conflict, Forbidden, NotFound
from agent.ports.listings import ApprovalSelection
from bot.api import audit
from bot.api.shapes import PAGE_SIZE, Body, Moment, Page, Shown, Text, next_page
from bot.api.viewer import Viewer
from bot.services import Services

MAX_REASON = 4_000


class ItemView(Shown):
    """One call of a card: what would run and how it would look."""

    item: int | None
    tool: str
    capability: str
    arguments: Any
    title: str
    preview: str
    status: CallStatus
    reason: str


class ApprovalView(Shown):
    """A card with its items."""

    id: int
    task_id: int
    kind: ApprovalKind
    status: ApprovalStatus
    approvers: list[str]
    items: list[ItemView]
    note: str
    created_at: Moment
    expires_at: Moment
    decided_by: str | None
    decided_at: Moment | None


class ApprovalPage(Shown):
    """Cards, the newest first."""

    approvals: list[ApprovalView]
    next: int | None


class ApprovalQuery(Page):
    """Which cards."""

    status: ApprovalStatus | None = None


class Decision(Body):
    """A verdict on a card, or on the items named by their numbers. `outcome`: for a card that asks what happened."""

    verdict: Verdict
    items: list[Annotated[int, Field(ge=1, le=1_000)]] = Field(default_factory=list, max_length=1_000)
    reason: Annotated[Text, Field(max_length=MAX_REASON)] = ""
    outcome: Outcome | None = None


def approval_view(approval: Approval) -> ApprovalView:
    return ApprovalView(
        id=approval.approval_id,
        task_id=approval.task_id,
        kind=approval.kind,
        status=approval.status,
        approvers=list(approval.approvers),
        items=[_item(call) for call in approval.items],
        note=approval.note,
        created_at=approval.created_at,
        expires_at=approval.expires_at,
        decided_by=approval.decided_by,
        decided_at=approval.decided_at,
    )


async def cards(
    services: Services,
    viewer: Viewer,
    status: ApprovalStatus | None = None,
    *,
    page_size: int = PAGE_SIZE,
    before: int | None = None,
) -> list[Approval]:
    """Cards of the viewer's workspaces, the newest first."""
    viewer.require("approvals:read")
    which = ApprovalSelection(status=status, workspaces=viewer.workspaces)
    return await services.store.approvals(limit=page_size, before=before, which=which)


async def list_approvals(
    services: Services,
    viewer: Viewer,
    status: ApprovalStatus | None = None,
    *,
    page_size: int = PAGE_SIZE,
    before: int | None = None,
) -> ApprovalPage:
    """A page of cards as they are shown."""
    found = await cards(services, viewer, status, page_size=page_size, before=before)
    following = next_page([card.approval_id for card in found], page_size)
    return ApprovalPage(approvals=[approval_view(card) for card in found], next=following)


async def show_approval(services: Services, viewer: Viewer, approval_id: int) -> ApprovalView:
    """One card; NotFound."""
    viewer.require("approvals:read")
    return approval_view(await visible_approval(services, viewer, approval_id))


async def decide(services: Services, viewer: Viewer, approval_id: int, decision: Decision) -> ApprovalView:
    """Decide as the viewer and show the card as it is then; errors as of `press`."""
    return approval_view(await press(services, viewer, approval_id, decision))


async def press(services: Services, viewer: Viewer, approval_id: int, decision: Decision) -> Approval:
    """Decide as the viewer, with a row in the audit, and return the card as it is now.

    NotFound; Forbidden for somebody who may not decide this card; Conflict when it is decided already.
    """
    viewer.require("approvals:decide")
    card = await visible_approval(services, viewer, approval_id)
    pressed = ButtonPress(
        presser=viewer.member,
        verdict=decision.verdict,
        pressed_at=services.clock.now(),
        approval_id=card.approval_id,
        items=tuple(decision.items),
        reason=decision.reason,
        outcome=decision.outcome,
    )
    said = {"verdict": decision.outcome or decision.verdict, "items": decision.items}
    try:
        decided = await services.approvals.decide(pressed)
    except (Forbidden, Conflict) as refusal:
        await audit.record(services, viewer, "press_refused", str(approval_id), code=refusal.code, **said)
        raise
    await audit.record(services, viewer, "approval_decided", str(approval_id), **said)
    return decided


async def visible_approval(services: Services, viewer: Viewer, approval_id: int) -> Approval:
    card = await services.store.find_approval(approval_id=approval_id)
    if not viewer.sees((await services.store.task(card.task_id)).workspace):
        raise NotFound(f"There is no approval {approval_id}.")
    return card


def _item(call: Call) -> ItemView:
    return ItemView(
        item=call.item,
        tool=call.tool,
        capability=call.capability,
        arguments=orjson.loads(call.arguments),
        title=call.title,
        preview=call.preview,
        status=call.status,
        reason=call.reason,
    )
