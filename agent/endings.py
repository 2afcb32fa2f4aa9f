"""How a task ends: its open calls closed, its open card settled, its requester told, all in one step."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from agent import texts
from agent.domain import (
    CLOSED_CALLS,
    COLLECTED,
    TERMINAL,
    Approval,
    ApprovalStatus,
    Call,
    CallStatus,
    Entry,
    TaskStatus,
)
from agent.errors import Conflict
from agent.ports.store import ApprovalChange, CallChange, NewDelivery, Step, TaskState

DELIVERY_LIFE = timedelta(days=3)
"""How long a message to people is tried before it is given up."""

_LEFT: dict[TaskStatus, tuple[CallStatus, str]] = {
    "cancelled": ("cancelled", texts.CANCELLED_CALL),
    "expired": ("expired", texts.EXPIRED_CALL),
    "failed": ("cancelled", texts.CLOSED_CALL),
    "done": ("cancelled", texts.CLOSED_CALL),
}
"""By the task's end: what becomes of a call without a result, and what the model reads about it."""


def ending(
    state: TaskState,
    status: TaskStatus,
    answer: str,
    now: datetime,
    *,
    code: str | None = None,
    reason: str | None = None,
) -> Step:
    """The step that ends a task. `answer` is what the requester is told, `code` and `reason` say why it failed."""
    changes, results = _closed(state, status)
    data: dict[str, Any] = {"status": status, "error_code": code, "text": reason}
    card = next((approval for approval in state.approvals if approval.status == "open"), None)
    return Step(
        entries=(*results, Entry(kind="status", data={key: value for key, value in data.items() if value is not None})),
        call_changes=changes,
        approval_changes=() if card is None else (_withdrawn(card, status, now),),
        deliveries=(*replies(state, answer, now), *(() if card is None else settles(state, card, now))),
        status=status,
        answer=answer,
        error_code=code,
        error_text=reason,
    )


def cancellation(state: TaskState, now: datetime) -> Step | None:
    """The end of a task that a person stops; None for one that runs. Conflict when it has ended."""
    if state.task.status in TERMINAL:
        raise Conflict(f"Task {state.task.task_id} has ended already: {state.task.status}.", code="already_ended")
    if state.task.status == "running":
        return None
    return ending(state, "cancelled", texts.CANCELLED, now)


def expiry(state: TaskState, card: Approval, now: datetime) -> Step | None:
    """The end of a task whose card ran out of time; None when the card is decided or has time left."""
    if card.status != "open" or card.expires_at > now or state.task.status != "waiting_approval":
        return None
    return ending(state, "expired", texts.EXPIRED, now, code="approval_expired")


def replies(state: TaskState, text: str, now: datetime) -> tuple[NewDelivery, ...]:
    """The one answer of a task, to every address that waits for it."""
    return tuple(
        NewDelivery(
            kind="reply",
            to=to,
            text=text,
            dedup_key=f"reply:{state.task.task_id}:{number}",
            expires_at=now + DELIVERY_LIFE,
            collected=to.channel in COLLECTED,
        )
        for number, to in enumerate(state.task.reply_to)
    )


def settles(state: TaskState, card: Approval, now: datetime) -> tuple[NewDelivery, ...]:
    """Redraws a card wherever it was shown, once for each step of the journal."""
    return tuple(
        NewDelivery(
            kind="settle",
            to=to,
            dedup_key=f"settle:{card.approval_id}:{len(state.entries)}:{number}",
            expires_at=now + DELIVERY_LIFE,
            approval_id=card.approval_id,
            collected=to.channel in COLLECTED,
        )
        for number, to in enumerate(card.shown_at)
    )


def tool_entry(call: Call, text: str, *, status: CallStatus, net: bool = False, seconds: float | None = None) -> Entry:
    """The journal row that holds a call's result; `seconds` is how long its tool ran."""
    data = {"call_id": call.call_id, "name": call.tool, "text": text, "status": status, "net": net}
    return Entry(kind="tool", data=data if seconds is None else data | {"seconds": seconds})


def _closed(state: TaskState, status: TaskStatus) -> tuple[tuple[CallChange, ...], tuple[Entry, ...]]:
    """A result for every call without one, so that the history stays legal for a provider."""
    answered = {entry.data["call_id"] for entry in state.entries if entry.kind == "tool"}
    left = [call for call in state.calls if call.call_id not in answered]
    call_status, text = _LEFT[status]
    changes = tuple(
        CallChange(call_id=call.call_id, status="unknown" if call.status == "started" else call_status)
        for call in left
        if call.status not in CLOSED_CALLS
    )
    started = {call.call_id for call in left if call.status == "started"}
    entries = tuple(
        tool_entry(call, texts.INTERRUPTED_CALL if call.call_id in started else text, status=call_status)
        for call in left
    )
    return changes, entries


def _withdrawn(card: Approval, status: TaskStatus, now: datetime) -> ApprovalChange:
    outcome: ApprovalStatus = "expired" if status == "expired" else "cancelled"
    return ApprovalChange(approval_id=card.approval_id, status=outcome, decided_at=now)
