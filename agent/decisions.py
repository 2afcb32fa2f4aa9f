"""What a press on a card changes, or why it changes nothing: pure decisions over a task's rows."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from agent import texts
from agent.domain import (
    Approval,
    ApprovalStatus,
    ButtonPress,
    Call,
    CallStatus,
    Edit,
    Entry,
    Member,
    Received,
    ReceivedKind,
)
from agent.endings import settles, tool_entry
from agent.errors import BadInput, Conflict, Forbidden
from agent.policy import electors, is_requester
from agent.ports.access import Act, NewAudit
from agent.ports.store import ApprovalChange, CallChange, Step, TaskState
from agent.previews import visible

UNDECIDED = frozenset({"waiting", "unknown"})
"""What an item is while a person is asked about it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Decided:
    """What an event on a card comes to: the step to be committed, and why it changes nothing but the journal, if so."""

    step: Step
    refusal: BadInput | None = None


def decision(state: TaskState, approval_id: int, press: ButtonPress, people: Mapping[str, Member]) -> Decided:
    """What a press does. `people` is everybody there is: whoever is not among them decides nothing."""
    card = card_of(state, approval_id)
    try:
        step = _Press(state, card, press, people).step()
    except BadInput as refusal:
        return refused(card, press, refusal)
    outcome = "changes" if press.verdict == "changes" else "decided"
    event = received(press, outcome, visible(_counted(card, press, step)))
    return Decided(step=replace(step, deliveries=settles(state, card, press.pressed_at), received=event))


def refused(card: Approval, event: ButtonPress | Edit, refusal: BadInput) -> Decided:
    """The try is written down, in the journal, too."""
    named = [call for call in card.items if call.item in _items(event)]
    said = {"verdict": "refused", "tried": tried(event), "code": refusal.code, "reason": str(refusal)}
    entry = entered(card, named, by=who(event).name, **said)
    event_row = received(event, f"refused:{refusal.code}", str(refusal))
    return Decided(step=Step(entries=(entry,), received=event_row), refusal=refusal)


def once(state: TaskState, step: Step) -> Step:
    """The step of a refused try without what the journal tells already: pressing without end must not make it grow
    without end. Each try is a row of its own among what was received."""
    before = [entry.data for entry in state.entries if entry.kind == "decision"]
    return replace(step, entries=tuple(entry for entry in step.entries if entry.data not in before))


def received(event: ButtonPress | Edit, outcome: str, said: str = "") -> Received:
    """The row of an event on a card."""
    kind: ReceivedKind = "press" if isinstance(event, ButtonPress) else "edit"
    at = event.pressed_at if isinstance(event, ButtonPress) else event.edited_at
    name = who(event).name
    return Received(dedup_key=event.dedup_key, kind=kind, outcome=outcome, who=name, received_at=at, said=said)


def audited(event: ButtonPress | Edit, approval_id: int | None, refusal: BadInput | None) -> NewAudit:
    """What the audit says of an event on a card: no reasons and no arguments."""
    done: Act = "approval_decided" if isinstance(event, ButtonPress) else "approval_edited"
    detail = {"verdict": tried(event), "items": list(_items(event))}
    return NewAudit(
        at=event.pressed_at if isinstance(event, ButtonPress) else event.edited_at,
        who=who(event).name,
        what=done if refusal is None else "press_refused",
        subject="" if approval_id is None else str(approval_id),
        detail=detail if refusal is None else detail | {"code": refusal.code},
        way=event.way,
        client=event.client,
    )


def who(event: ButtonPress | Edit) -> Member:
    """Who pressed or edited."""
    return event.presser if isinstance(event, ButtonPress) else event.editor


def tried(event: ButtonPress | Edit) -> str:
    """What somebody wanted, in a word."""
    return (event.outcome or event.verdict) if isinstance(event, ButtonPress) else "edited"


def entered(card: Approval, calls: Sequence[Call], **data: object) -> Entry:
    """The journal row of what a person did with some items of a card."""
    about = {
        "approval_id": card.approval_id,
        "items": [call.item for call in calls],
        "call_ids": [call.call_id for call in calls],
        "sha256": [call.sha256 for call in calls],
    }
    return Entry(kind="decision", data=about | data)


def card_of(state: TaskState, approval_id: int) -> Approval:
    """One of the task's cards."""
    return next(approval for approval in state.approvals if approval.approval_id == approval_id)


def number_of(state: TaskState, approval_id: int) -> int:
    """Which card of its task it is, from 1."""
    return [approval.approval_id for approval in state.approvals].index(approval_id) + 1


def check_open(card: Approval, now: datetime) -> None:
    """Conflict for a card that is decided, withdrawn or past its time."""
    if card.status != "open" or card.expires_at <= now:
        late = replace(card, status="expired") if card.status == "open" else card
        raise Conflict(texts.already_decided(late), code="already_decided")


def check_revision(card: Approval, revision: int | None) -> None:
    """Conflict when the card shows something else now than whoever pressed has seen."""
    if revision is not None and revision != card.revision:
        raise Conflict(texts.card_changed(card), code="card_changed")


def undecided(card: Approval, number: int) -> Call:
    """An item that nobody has decided yet; BadInput, Conflict."""
    call = next((call for call in card.items if call.item == number), None)
    if call is None:
        raise BadInput(texts.unknown_item(card, number), code="unknown_item", field="items")
    if call.status not in UNDECIDED:
        raise Conflict(texts.item_decided(call), code="already_decided")
    return call


def able(state: TaskState, call: Call, people: Mapping[str, Member]) -> list[str]:
    """Who may decide an item today, by name."""
    return electors(call.rule, people, state.task.requester) if call.rule is not None else []


def was_edited(call: Call) -> bool:
    """Whether a person has put other arguments in place of the model's."""
    return call.original is not None and call.original != call.arguments


def writer(call: Call) -> str | None:
    """Who wrote what would run and may not approve it, because the policy asks for one other person than its author."""
    rule = call.rule
    return call.edited_by if rule is not None and rule.other and rule.quorum == 1 and was_edited(call) else None


def approvers(call: Call, able: Sequence[str]) -> list[str]:
    """Of those who may decide an item, whose approval counts."""
    return [name for name in able if name != writer(call)]


def forbidden(state: TaskState, card: Approval, name: str, calls: Sequence[Call]) -> Forbidden:
    """Says whom these items are for."""
    rules = [call.rule for call in calls if call.rule is not None]
    return Forbidden(texts.not_an_approver(name, card, rules, state.task.requester), code="not_an_approver")


class _Press:
    """One press on one card."""

    def __init__(self, state: TaskState, card: Approval, press: ButtonPress, people: Mapping[str, Member]) -> None:
        self._state = state
        self._card = card
        self._press = press
        self._by = press.presser.name
        self._able = {call.call_id: able(state, call, people) for call in card.items}

    def step(self) -> Step:
        """What is to be committed but the card's redrawing; BadInput says why nothing is."""
        card, press = self._card, self._press
        if not (any(map(self._mine, card.items)) or self._own_wish()):
            raise self._forbidden(card.items)
        check_open(card, press.pressed_at)
        check_revision(card, press.revision)
        if press.verdict == "changes":
            return self._changes()
        self._fitting_outcome()
        chosen = self._chosen()
        changes = [self._change(call) for call in chosen]
        entries = [*self._verdicts(chosen, changes), *self._results(chosen, changes)]
        return self._closed(Step(entries=tuple(entries), call_changes=tuple(changes)))

    # --- who and what ---

    def _mine(self, call: Call) -> bool:
        return self._by in self._able[call.call_id]

    def _own_wish(self) -> bool:
        """Whoever asked may have it proposed differently: nothing runs by that."""
        return self._press.verdict == "changes" and is_requester(self._press.presser, self._state.task.requester)

    def _forbidden(self, calls: Sequence[Call]) -> Forbidden:
        return forbidden(self._state, self._card, self._by, calls)

    def _waiting(self) -> list[Call]:
        return [call for call in self._card.items if call.status in UNDECIDED]

    def _chosen(self) -> list[Call]:
        """The items this press decides: those it names, or all that wait and that this person may decide."""
        if self._press.items:
            named = [undecided(self._card, number) for number in dict.fromkeys(self._press.items)]
            foreign = [call for call in named if not self._mine(call)]
            if foreign:
                raise self._forbidden(foreign)
        else:
            named = [call for call in self._waiting() if self._mine(call)]
            if not named:
                raise self._forbidden(self._waiting())
        problems = {call.call_id: problem for call in named if (problem := self._problem(call)) is not None}
        ready = [call for call in named if call.call_id not in problems]
        if problems and (self._press.items or not ready):
            raise next(iter(problems.values()))
        return ready

    def _problem(self, call: Call) -> Conflict | None:
        """Why an approval of an item would not count."""
        if not self._approves() or call.rule is None:
            return None
        able = approvers(call, self._able[call.call_id])
        if len(able) < call.rule.quorum:
            text = texts.quorum_impossible(call.rule, able, self._state.task.requester, writer(call))
            return Conflict(text, code="quorum_impossible")
        if self._by not in able:
            return Conflict(texts.own_edit(call), code="own_edit")
        if self._by in self._votes(call):
            return Conflict(texts.voted_already(call, self._votes(call)), code="voted_already")
        return None

    def _approves(self) -> bool:
        """Whether it makes something run; to refuse, or to say what happened, takes one person only."""
        press = self._press
        return press.outcome == "again" if press.outcome is not None else press.verdict == "approved"

    def _votes(self, call: Call) -> tuple[str, ...]:
        """Who has approved it and may still do so."""
        return tuple(name for name in call.votes if name in self._able[call.call_id])

    # --- what becomes of it ---

    def _fitting_outcome(self) -> None:
        if self._card.kind == "outcome" and self._press.outcome is None:
            raise BadInput("This card asks what happened: give the outcome happened, again or skip.", field="outcome")
        if self._card.kind == "outcome" and self._press.verdict != "approved":
            raise BadInput(
                "Send an outcome with the verdict approved; what is to be done is said by the outcome.", field="verdict"
            )
        if self._card.kind == "change" and self._press.outcome is not None:
            raise BadInput("An outcome is only for a card that asks whether something happened.", field="outcome")

    def _change(self, call: Call) -> CallChange:
        """The call's new state, which is the old one while more people must approve it."""
        press = self._press
        if self._approves():
            votes = (*self._votes(call), self._by)
            if len(votes) < (call.rule.quorum if call.rule else 1):
                return CallChange(call_id=call.call_id, status=call.status, votes=votes)
            return self._verdict(call, "approved", votes)
        if press.outcome is None:
            return self._verdict(call, "denied")
        return self._verdict(call, "done" if press.outcome == "happened" else "cancelled")

    def _verdict(self, call: Call, status: CallStatus, votes: tuple[str, ...] | None = None) -> CallChange:
        reason = self._press.reason or None
        return CallChange(call_id=call.call_id, status=status, decided_by=self._by, votes=votes, reason=reason)

    def _verdicts(self, chosen: Sequence[Call], changes: Sequence[CallChange]) -> Iterator[Entry]:
        """One row for what is decided by this press, and one for each count of votes that are not enough yet."""
        said = {"verdict": tried(self._press), "by": self._by, "reason": self._press.reason}
        by_votes: dict[int | None, list[Call]] = defaultdict(list)
        for call, change in zip(chosen, changes, strict=True):
            by_votes[len(change.votes or ()) if change.status in UNDECIDED else None].append(call)
        for count, calls in by_votes.items():
            yield entered(self._card, calls, **said | ({} if count is None else {"vote": count}))

    def _results(self, chosen: Sequence[Call], changes: Sequence[CallChange]) -> Iterator[Entry]:
        """What the model reads about a call of which somebody said that it happened, or is to be left."""
        for call, change in zip(chosen, changes, strict=True):
            if change.status == "done":
                yield tool_entry(call, texts.HAPPENED_CALL, status="done", net=True)
            elif change.status == "cancelled":
                yield tool_entry(call, texts.SKIPPED_CALL, status="cancelled")

    def _changes(self) -> Step:
        """Nothing that waits is run; the model reads what should be different."""
        press, waiting = self._press, self._waiting()
        if self._card.kind == "outcome":
            raise BadInput(texts.NO_CHANGES_TO_OUTCOME, field="verdict")
        if press.items:
            raise BadInput(texts.CHANGES_TO_ALL, field="items")
        if not press.reason.strip():
            raise BadInput(texts.CHANGES_NEED_REASON, field="reason")
        if not (any(map(self._mine, waiting)) or self._own_wish()):
            raise self._forbidden(waiting)
        step = Step(
            entries=(entered(self._card, waiting, verdict="changes", by=self._by, reason=press.reason),),
            call_changes=tuple(self._verdict(call, "denied") for call in waiting),
        )
        return self._closed(step)

    def _closed(self, step: Step) -> Step:
        """Once every item has its verdict the card is closed and the task may go on."""
        now = {call.call_id: call.status for call in self._card.items}
        now |= {change.call_id: change.status for change in step.call_changes}
        if not UNDECIDED.isdisjoint(now.values()):
            return step
        status: ApprovalStatus = "changes" if self._press.verdict == "changes" else "denied"
        change = ApprovalChange(
            approval_id=self._card.approval_id,
            status="approved" if {"approved", "done"} & set(now.values()) else status,
            decided_by=self._by,
            decided_at=self._press.pressed_at,
        )
        return replace(step, approval_changes=(change,), status="queued", run_after=self._press.pressed_at)


def _counted(card: Approval, press: ButtonPress, step: Step) -> str:
    """What whoever pressed is told: what became of which items, and how many still wait."""
    if press.verdict == "changes":
        return texts.changes_asked(card)
    changes = {change.call_id: change for change in step.call_changes}
    after = [_as_changed(call, changes[call.call_id]) if call.call_id in changes else call for call in card.items]
    return texts.counted(card, [call for call in after if call.call_id in changes], after)


def _as_changed(call: Call, change: CallChange) -> Call:
    votes = call.votes if change.votes is None else change.votes
    return replace(
        call, status=change.status, votes=votes, decided_by=change.decided_by, reason=change.reason or call.reason
    )


def _items(event: ButtonPress | Edit) -> Sequence[int]:
    return event.items if isinstance(event, ButtonPress) else (event.item,)
