"""Deciding: who may, once, on exactly what was shown; and what happens when nobody does."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime

import structlog

from agent import policy, texts
from agent.domain import TERMINAL, Approval, ButtonPress, Call, Entry, IncomingMessage
from agent.endings import ending, settles, tool_entry
from agent.errors import BadInput, Conflict, Forbidden
from agent.ports.channels import Inbox
from agent.ports.clock import Clock
from agent.ports.store import ApprovalChange, CallChange, Step, Store, TaskState

log = structlog.get_logger()


@dataclass(frozen=True, kw_only=True, slots=True)
class Approvals:
    """The decisions of people, each one short transaction under the task's lock."""

    store: Store
    inbox: Inbox
    clock: Clock

    async def decide(self, press: ButtonPress) -> Approval:
        """Record a verdict and return the card as it is now.

        NotFound for an unknown card, Forbidden for somebody who may not decide, Conflict when it is decided, expired
        or withdrawn already: exactly one press wins.
        """
        card = await self.store.find_approval(approval_id=press.approval_id, token=press.token)
        try:
            await self.store.change(card.task_id, lambda state: decision(state, card.approval_id, press))
        except (Forbidden, Conflict) as refusal:
            log.warning(
                "press_refused", approval=card.approval_id, by=press.presser.name, reason=type(refusal).__name__
            )
            if isinstance(refusal, Conflict):
                await self.expire(card)
            raise
        log.info("approval_pressed", approval=card.approval_id, by=press.presser.name, verdict=press.verdict)
        return await self.store.find_approval(approval_id=card.approval_id)

    async def cancel(self, task_id: int) -> None:
        """Stop a task: one that runs is asked to, any other ends here and now. Conflict when it has ended."""
        while await self.store.change(task_id, lambda state: cancellation(state, self.clock.now())) is None:
            if await self.store.request_cancel(task_id):
                return  # else it left its run in between: look again

    async def sweep(self) -> int:
        """End every task whose card ran out of time; how many."""
        cards = await self.store.expired_approvals(self.clock.now())
        for card in cards:
            await self.expire(card)
        return len(cards)

    async def expire(self, card: Approval) -> None:
        """End the task of a card that is past its time; any other card is left alone."""
        await self.store.change(card.task_id, lambda state: expiry(state, card.approval_id, self.clock.now()))

    async def ask_again(self, approval_id: int, by: str) -> int:
        """Make the follow-up task of an expired card and return its id; the same one however often it is asked."""
        card = await self.store.find_approval(approval_id=approval_id)
        if card.status != "expired":
            raise Conflict(f"Approval {approval_id} is {card.status}; only an expired one can be asked again.")
        state = await self.store.load(card.task_id)
        accepted = await self.inbox.accept(
            IncomingMessage(
                dedup_key=f"again:{approval_id}",
                address=state.session.address,
                sender=by,
                text=texts.ask_again(state.task.prompt),
                origin=state.task.origin,
                received_at=self.clock.now(),
                reply_to=state.task.reply_to,
                workspace=state.task.workspace,
                follow_up_of=card.task_id,
            )
        )
        return accepted.task_id


def decision(state: TaskState, approval_id: int, press: ButtonPress) -> Step:
    """What a press changes, or why it changes nothing (BadInput, Forbidden, Conflict)."""
    card = _card(state, approval_id)
    if not policy.may_decide(press.presser, card.approvers):
        raise Forbidden(texts.not_an_approver(press.presser.name, card), code="not_an_approver")
    if card.status != "open" or card.expires_at <= press.pressed_at:
        late = replace(card, status="expired") if card.status == "open" else card
        raise Conflict(texts.already_decided(late), code="already_decided")
    pressed = _pressed(card, press)
    change = _outcome if card.kind == "outcome" else _verdict
    decided = Step(entries=(_decision_entry(card, pressed, press),))
    for call in pressed:
        decided = change(decided, call, press)
    left = [call for call in card.items if call.status in ("waiting", "unknown") and call not in pressed]
    count = len(card.items) - len(left)
    step = replace(decided, deliveries=settles(state, card, press.pressed_at, count))
    return step if left else _closed(step, card, press)


def cancellation(state: TaskState, now: datetime) -> Step | None:
    """The end of a task that does not run; None for one that does."""
    if state.task.status in TERMINAL:
        raise Conflict(f"Task {state.task.task_id} has ended already: {state.task.status}.", code="already_ended")
    if state.task.status == "running":
        return None
    return ending(state, "cancelled", texts.CANCELLED, now)


def expiry(state: TaskState, approval_id: int, now: datetime) -> Step | None:
    """The end of a task whose card ran out of time; None when the card is decided or has time left."""
    card = _card(state, approval_id)
    if card.status != "open" or card.expires_at > now or state.task.status != "waiting_approval":
        return None
    return ending(state, "expired", texts.EXPIRED, now, code="approval_expired")


def _card(state: TaskState, approval_id: int) -> Approval:
    return next(approval for approval in state.approvals if approval.approval_id == approval_id)


def _pressed(card: Approval, press: ButtonPress) -> list[Call]:
    """The items a press is about: those it names, or all that are still open."""
    if not press.items:
        return [call for call in card.items if call.status in ("waiting", "unknown")]
    by_number = {call.item: call for call in card.items}
    unknown = [number for number in press.items if number not in by_number]
    if unknown:
        raise BadInput(
            f"Approval {card.approval_id} has the items 1 to {len(card.items)}; {unknown[0]} is none of them."
        )
    pressed = [by_number[number] for number in dict.fromkeys(press.items)]
    for call in pressed:
        if call.status not in ("waiting", "unknown"):
            by = call.decided_by or "somebody"
            raise Conflict(f"Item {call.item} was already decided by {by}: {call.status}.", code="already_decided")
    return pressed


def _verdict(step: Step, call: Call, press: ButtonPress) -> Step:
    if press.outcome is not None:
        raise BadInput("An outcome is only for a card that asks whether something happened.", field="outcome")
    change = CallChange(
        call_id=call.call_id, status=press.verdict, decided_by=press.presser.name, reason=press.reason or None
    )
    return replace(step, call_changes=(*step.call_changes, change))


def _outcome(step: Step, call: Call, press: ButtonPress) -> Step:
    """What a person says of an effect that is unknown: it happened, run it again, or leave it."""
    by = press.presser.name
    if press.outcome is None:
        raise BadInput("This card asks what happened: give the outcome happened, again or skip.", field="outcome")
    if press.outcome == "again":
        change = CallChange(call_id=call.call_id, status="approved", decided_by=by)
        return replace(step, call_changes=(*step.call_changes, change))
    happened = press.outcome == "happened"
    text = texts.HAPPENED_CALL if happened else texts.SKIPPED_CALL
    change = CallChange(call_id=call.call_id, status="done" if happened else "cancelled", decided_by=by)
    entry = tool_entry(call, text, status=change.status, net=happened)
    return replace(step, entries=(*step.entries, entry), call_changes=(*step.call_changes, change))


def _decision_entry(card: Approval, pressed: list[Call], press: ButtonPress) -> Entry:
    data = {
        "approval_id": card.approval_id,
        "call_ids": [call.call_id for call in pressed],
        "sha256": [call.sha256 for call in pressed],
        "verdict": press.outcome or press.verdict,
        "by": press.presser.name,
        "reason": press.reason,
    }
    return Entry(kind="decision", data=data)


def _closed(step: Step, card: Approval, press: ButtonPress) -> Step:
    """Every item has its verdict: the card is settled and the task may go on."""
    earlier = any(call.status == "approved" for call in card.items)
    approved = earlier or any(change.status in ("approved", "done") for change in step.call_changes)
    change = ApprovalChange(
        approval_id=card.approval_id,
        status="approved" if approved else "denied",
        decided_by=press.presser.name,
        decided_at=press.pressed_at,
    )
    return replace(step, approval_changes=(change,), status="queued", run_after=press.pressed_at)
