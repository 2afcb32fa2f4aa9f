"""What waits for a person, and the decision."""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any

from pydantic import Field

from agent.buttons import edited_arguments
from agent.decisions import UNDECIDED
from agent.domain import (
    Approval,
    ApprovalKind,
    ApprovalStatus,
    ApproverRule,
    ButtonPress,
    Call,
    CallStatus,
    Edit,
    Member,
    Outcome,
    Task,
    Verdict,
)
from agent.errors import BadInput, NotFound
from agent.ids import MAX_ID
from agent.policy import electors
from agent.ports.listings import ApprovalSelection
from bot.api.shapes import PAGE_SIZE, Body, Moment, Page, Shown, Text, next_page
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

    `able` are the people who fit the rule today, nobody once it is decided; fewer than its quorum can only deny.
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
    able: list[str]
    votes: list[str]
    decided_by: str | None
    original: Any
    edited_by: str | None


class ApprovalView(Shown):
    """A card with its items. `number`: which card of its task. `revision` counts up when it shows something else;
    `remind_at` is when it is brought to mind, null after that."""

    id: int
    task_id: int
    number: int
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


def rule_view(rule: ApproverRule) -> RuleView:
    """Whom a rule names."""
    return RuleView(groups=[list(group) for group in rule.groups], other=rule.other, quorum=rule.quorum)


def approval_view(approval: Approval, task: Task, number: int, people: Mapping[str, Member]) -> ApprovalView:
    """A card as it is shown, with the task that asks, which of its cards it is, and everybody there is."""
    return ApprovalView(
        id=approval.approval_id,
        task_id=approval.task_id,
        number=number,
        requester=task.requester,
        kind=approval.kind,
        status=approval.status,
        revision=approval.revision,
        items=[_item(approval, call, electors(_rule(call), people, task.requester)) for call in approval.items],
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
    return ApprovalPage(approvals=await _shown(services, found), next=following)


async def show_approval(services: Services, viewer: Viewer, approval_id: int) -> ApprovalView:
    """One card; NotFound."""
    viewer.require("approvals:read")
    return await _one(services, await visible_approval(services, viewer, approval_id))


async def decide(services: Services, viewer: Viewer, approval_id: int, decision: Decision) -> ApprovalView:
    """Decide as the viewer and show the card as it is then; errors as of `press`."""
    return await _one(services, await press(services, viewer, approval_id, decision))


async def edit(services: Services, viewer: Viewer, approval_id: int, new: NewArguments) -> ApprovalView:
    """Give an item other arguments and show the card as it is then.

    NotFound; BadInput for arguments the tool refuses; Forbidden for somebody who may not decide the item; Conflict when
    it is decided already or the card changed.
    """
    wanted = _edit(services, viewer, approval_id, new)
    return await _one(services, await decided(services, viewer, wanted))


async def edit_by_form(
    services: Services, viewer: Viewer, approval_id: int, form: NewArguments, fields: Mapping[str, str]
) -> ApprovalView:
    """The same from a form, which has a field for every argument: a text as it is, anything else as JSON. `form` names
    the item and the revision."""
    viewer.require("approvals:decide")
    wanted = _edit(services, viewer, approval_id, form)
    card = await _visible(services, viewer, approval_id)
    call = next((call for call in card.items if call.item == form.item), None) if card else None
    if card is not None and call is not None:
        try:
            wanted = replace(wanted, arguments=edited_arguments(call, fields))
        except BadInput as error:
            await services.approvals.refuse(card, wanted, error)
            raise
    return await _one(services, await decided(services, viewer, wanted))


async def press(services: Services, viewer: Viewer, approval_id: int, decision: Decision) -> Approval:
    """Decide as the viewer and return the card as it is now.

    NotFound; Forbidden for somebody who may not decide this card; Conflict when it is decided already.
    """
    return await decided(services, viewer, button(services, viewer, approval_id, decision))


def button(services: Services, viewer: Viewer, approval_id: int, decision: Decision) -> ButtonPress:
    """A decision as the press of a button, which is an event of its own: who repeats it is told that it is decided."""
    return ButtonPress(
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


async def decided(services: Services, viewer: Viewer, event: ButtonPress | Edit) -> Approval:
    """What a viewer pressed or edited, by the way they came in; errors as of `press` and `edit`."""
    viewer.require("approvals:decide")
    if isinstance(event, ButtonPress):
        press = replace(event, way=viewer.way, client=viewer.client)
        return await services.approvals.decide(press, viewer.workspaces)
    edited = replace(event, way=viewer.way, client=viewer.client)
    return await services.approvals.edit(edited, viewer.workspaces)


async def visible_approval(services: Services, viewer: Viewer, approval_id: int) -> Approval:
    """A card; one of a workspace that the viewer does not see is NotFound like an unknown one."""
    card = await services.store.find_approval(approval_id=approval_id)
    if not viewer.sees((await services.store.task(card.task_id)).workspace):
        raise NotFound(f"There is no approval {approval_id}.")
    return card


async def _visible(services: Services, viewer: Viewer, approval_id: int) -> Approval | None:
    try:
        return await visible_approval(services, viewer, approval_id)
    except NotFound:
        return None


def _edit(services: Services, viewer: Viewer, approval_id: int, new: NewArguments) -> Edit:
    return Edit(
        dedup_key=_event(),
        editor=viewer.member,
        edited_at=services.clock.now(),
        approval_id=approval_id,
        item=new.item,
        arguments=json.dumps(new.arguments),
        revision=new.revision,
        way=viewer.way,
        client=viewer.client,
    )


async def _one(services: Services, card: Approval) -> ApprovalView:
    [shown] = await _shown(services, [card])
    return shown


async def _shown(services: Services, found: Sequence[Approval]) -> list[ApprovalView]:
    """Cards beside their tasks and the people there are."""
    people = await services.people.by_name() if found else {}
    numbers = await services.store.card_numbers([card.approval_id for card in found])
    return [
        approval_view(card, await services.store.task(card.task_id), numbers[card.approval_id], people)
        for card in found
    ]


def _event() -> str:
    return f"press:{secrets.token_hex(12)}"


def _rule(call: Call) -> ApproverRule:
    """Who may decide a call; one without a rule nobody."""
    return call.rule or ApproverRule()


def _item(card: Approval, call: Call, able: Sequence[str]) -> ItemView:
    rule, undecided = _rule(call), card.status == "open" and call.status in UNDECIDED
    return ItemView(
        item=call.item,
        tool=call.tool,
        capability=call.capability,
        arguments=json.loads(call.arguments),
        title=call.title,
        preview=call.preview,
        status=call.status,
        reason=call.reason,
        rule=rule_view(rule),
        able=list(able) if undecided else [],
        votes=[name for name in call.votes if not undecided or name in able],
        decided_by=call.decided_by,
        original=None if call.original is None else json.loads(call.original),
        edited_by=call.edited_by,
    )
