"""What waits for a person, and the decision."""

from __future__ import annotations

import secrets
from typing import Annotated, Any

import orjson
from pydantic import Field

from agent.decisions import tried
from agent.domain import (
    Approval,
    ApprovalKind,
    ApprovalStatus,
    ApproverRule,
    ButtonPress,
    Call,
    CallStatus,
    Edit,
    Outcome,
    Task,
    Verdict,
)
from agent.errors import BadInput, NotFound
from agent.ports.access import Act
from agent.ports.listings import ApprovalSelection
from bot.api import audit
from bot.api.shapes import MAX_ID, PAGE_SIZE, Body, Moment, Page, Shown, Text, next_page
from bot.api.viewer import Viewer
from bot.services import Services

MAX_REASON = 4_000


class RuleView(Shown):
    """Who may decide: whoever every one of the `groups` names by role or by name. `other`: not the requester;
    `quorum`: so many different people."""

    groups: list[list[str]]
    other: bool
    quorum: int


class ItemView(Shown):
    """One call of a card: what would run, how it would look, who may decide and who approved so far.

    `original`: the model's own arguments when a person (`edited_by`) has changed them.
    """

    item: int | None
    tool: str
    capability: str
    arguments: Any
    title: str
    preview: str
    status: CallStatus
    reason: str
    rule: RuleView
    votes: list[str]
    decided_by: str | None
    original: Any
    edited_by: str | None


class ApprovalView(Shown):
    """A card with its items. `revision` counts up when it shows something else; `remind_at` is when it is brought to
    mind, null after that."""

    id: int
    task_id: int
    requester: str
    kind: ApprovalKind
    status: ApprovalStatus
    revision: int
    items: list[ItemView]
    note: str
    created_at: Moment
    expires_at: Moment
    remind_at: Moment | None
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
    """A verdict on a card, or on the items named by their numbers; none: all that this person may decide.

    `changes`: nothing of it runs and the `reason` goes back to the model. `outcome`: for a card that asks what
    happened. `revision`: of the card as it was looked at; a card that changed since is not decided.
    """

    verdict: Verdict
    items: list[Annotated[int, Field(ge=1, le=1_000)]] = Field(default_factory=list, max_length=1_000)
    reason: Annotated[Text, Field(max_length=MAX_REASON)] = ""
    outcome: Outcome | None = None
    revision: Annotated[int, Field(ge=1, le=MAX_ID)] | None = None


class NewArguments(Body):
    """A person's own arguments for one item, checked like the model's; the card then shows what they would do."""

    item: Annotated[int, Field(ge=1, le=1_000)] = 1
    arguments: dict[str, Any]
    revision: Annotated[int, Field(ge=1, le=MAX_ID)] | None = None


def approval_view(approval: Approval, task: Task) -> ApprovalView:
    """A card as it is shown, with the task that asks."""
    return ApprovalView(
        id=approval.approval_id,
        task_id=approval.task_id,
        requester=task.requester,
        kind=approval.kind,
        status=approval.status,
        revision=approval.revision,
        items=[_item(call) for call in approval.items],
        note=approval.note,
        created_at=approval.created_at,
        expires_at=approval.expires_at,
        remind_at=approval.remind_at,
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
    shown = [approval_view(card, await services.store.task(card.task_id)) for card in found]
    return ApprovalPage(approvals=shown, next=following)


async def show_approval(services: Services, viewer: Viewer, approval_id: int) -> ApprovalView:
    """One card; NotFound."""
    viewer.require("approvals:read")
    return await _shown(services, await visible_approval(services, viewer, approval_id))


async def decide(services: Services, viewer: Viewer, approval_id: int, decision: Decision) -> ApprovalView:
    """Decide as the viewer and show the card as it is then; errors as of `press`."""
    return await _shown(services, await press(services, viewer, approval_id, decision))


async def edit(services: Services, viewer: Viewer, approval_id: int, new: NewArguments) -> ApprovalView:
    """Give an item other arguments and show the card as it is then.

    NotFound; BadInput for arguments the tool refuses; Forbidden for somebody who may not decide the item; Conflict when
    it is decided already or the card changed.
    """
    wanted = Edit(
        dedup_key=_event(),
        editor=viewer.member,
        edited_at=services.clock.now(),
        approval_id=approval_id,
        item=new.item,
        arguments=orjson.dumps(new.arguments).decode(),
        revision=new.revision,
    )
    return await _shown(services, await decided(services, viewer, wanted))


async def press(services: Services, viewer: Viewer, approval_id: int, decision: Decision) -> Approval:
    """Decide as the viewer and return the card as it is now.

    NotFound; Forbidden for somebody who may not decide this card; Conflict when it is decided already.
    """
    wanted = ButtonPress(
        dedup_key=_event(),
        presser=viewer.member,
        verdict=decision.verdict,
        pressed_at=services.clock.now(),
        approval_id=approval_id,
        revision=decision.revision,
        items=tuple(decision.items),
        reason=decision.reason,
        outcome=decision.outcome,
    )
    return await decided(services, viewer, wanted)


async def decided(services: Services, viewer: Viewer, event: ButtonPress | Edit) -> Approval:
    """What a viewer pressed or edited, with a row in the audit; errors as of `press` and `edit`."""
    viewer.require("approvals:decide")
    said: dict[str, Any] = {"verdict": tried(event)}
    said |= {"items": list(event.items)} if isinstance(event, ButtonPress) else {"item": event.item}
    try:
        if isinstance(event, ButtonPress):
            card = await services.approvals.decide(event, viewer.workspaces)
        else:
            card = await services.approvals.edit(event, viewer.workspaces)
    except BadInput as refusal:
        await audit.record(services, viewer, "press_refused", str(event.approval_id), code=refusal.code, **said)
        raise
    what: Act = "approval_decided" if isinstance(event, ButtonPress) else "approval_edited"
    await audit.record(services, viewer, what, str(card.approval_id), **said)
    return card


async def visible_approval(services: Services, viewer: Viewer, approval_id: int) -> Approval:
    card = await services.store.find_approval(approval_id=approval_id)
    if not viewer.sees((await services.store.task(card.task_id)).workspace):
        raise NotFound(f"There is no approval {approval_id}.")
    return card


async def _shown(services: Services, card: Approval) -> ApprovalView:
    return approval_view(card, await services.store.task(card.task_id))


def _event() -> str:
    """Over HTTP every press is an event of its own; who repeats one is told that it is decided already."""
    return f"press:{secrets.token_hex(12)}"


def _item(call: Call) -> ItemView:
    rule = call.rule or ApproverRule()
    return ItemView(
        item=call.item,
        tool=call.tool,
        capability=call.capability,
        arguments=orjson.loads(call.arguments),
        title=call.title,
        preview=call.preview,
        status=call.status,
        reason=call.reason,
        rule=RuleView(groups=[list(group) for group in rule.groups], other=rule.other, quorum=rule.quorum),
        votes=list(call.votes),
        decided_by=call.decided_by,
        original=None if call.original is None else orjson.loads(call.original),
        edited_by=call.edited_by,
    )
