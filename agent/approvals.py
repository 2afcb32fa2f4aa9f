"""Deciding: who may, once, on exactly what was shown; and what happens when nobody does."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial

import structlog

from agent import cards, texts
from agent.decisions import Decided, audited, card_of, decision, number_of, once, received, refused, tried, who
from agent.domain import COLLECTED, Approval, ButtonPress, Edit, Entry, IncomingMessage, Member
from agent.edits import Draft, Drafts, edition
from agent.endings import cancellation, expiry
from agent.errors import BadInput, Conflict, NotFound
from agent.people import People
from agent.ports.channels import Inbox
from agent.ports.clock import Clock
from agent.ports.store import ApprovalChange, NewDelivery, Step, Store, TaskState

log = structlog.get_logger()

NOT_FOUND = "not_found"
"""The code of what there is not, and of what is not this person's: the same answer."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Approvals:
    """The decisions of people, each one short transaction under the task's lock.

    `within`: the workspaces that whoever presses can see from there, None being all; a card of another one is unknown
    to them. A press or an edit that changes nothing is written down, too, before it is refused. Each has its row in
    the audit, in the same transaction; a repeat has none.
    """

    store: Store
    inbox: Inbox
    people: People
    drafts: Drafts
    clock: Clock

    async def decide(self, press: ButtonPress, within: Collection[str] | None = None) -> Approval:
        """Record a verdict and return the card as it is now.

        NotFound for an unknown card, Forbidden for somebody who may not decide, Conflict when it is decided, expired
        or withdrawn already, or shows something else by now: exactly one press wins.
        """
        card = await self._found(press, press.approval_id, press.token)
        people = await self.people.by_name()
        return await self._commit(card, press, within, lambda state: decision(state, card.approval_id, press, people))

    async def edit(self, edit: Edit, within: Collection[str] | None = None) -> Approval:
        """Put a person's arguments in place of an item's and return the card as it shows them; errors as of `decide`,
        and BadInput for arguments that the tool does not take or cannot preview."""
        card = await self._found(edit, edit.approval_id, None)
        people = await self.people.by_name()
        draft = await self._draft(card, edit, within, people)
        return await self._commit(card, edit, within, lambda state: edition(state, edit, draft, people))

    async def refuse(self, card: Approval, edit: Edit, refusal: BadInput) -> None:
        """Write down an edit whose arguments could not even be read."""
        step = replace(refused(card, edit, refusal).step, audit=audited(edit, card.approval_id, refusal))
        await self.store.change(card.task_id, lambda _: step, edit.dedup_key)

    async def cancel(self, task_id: int) -> None:
        """Stop a task: one that runs is asked to, any other ends here and now. Conflict when it has ended."""
        while await self.store.change(task_id, lambda state: cancellation(state, self.clock.now())) is None:
            if await self.store.request_cancel(task_id):
                return  # else it left its run in between: look again

    async def sweep(self) -> int:
        """End every task whose card ran out of time; how many."""
        late = await self.store.expired_approvals(self.clock.now())
        for card in late:
            await self.expire(card)
        return len(late)

    async def expire(self, card: Approval) -> None:
        """End the task of a card that is past its time; any other card is left alone."""
        now = self.clock.now()
        await self.store.change(card.task_id, lambda state: expiry(state, card_of(state, card.approval_id), now))

    async def remind(self) -> int:
        """Bring the open cards whose time for it has come to mind, once each; how many."""
        now = self.clock.now()
        waiting = await self.store.approvals_to_remind(now)
        people = await self.people.by_name() if waiting else {}
        for card in waiting:
            await self.store.change(
                card.task_id, partial(reminder, approval_id=card.approval_id, people=people, now=now)
            )
        return len(waiting)

    async def ask_again(self, approval_id: int) -> int:
        """Make the follow-up task of an expired card and return its id; the same one however often it is asked.

        Whoever wants that, it is still the request of whoever asked first, who may not sign it off under `by: other`.
        """
        card = await self.store.find_approval(approval_id=approval_id)
        if card.status != "expired":
            raise Conflict(f"Approval {approval_id} is {card.status}; only an expired one can be asked again.")
        state = await self.store.load(card.task_id)
        accepted = await self.inbox.accept(
            IncomingMessage(
                dedup_key=f"again:{approval_id}",
                address=state.session.address,
                sender=state.task.requester,
                text=texts.ask_again(state.task.prompt),
                origin=state.task.origin,
                received_at=self.clock.now(),
                reply_to=state.task.reply_to,
                workspace=state.task.workspace,
                follow_up_of=card.task_id,
            )
        )
        return accepted.task_id

    async def _found(self, event: ButtonPress | Edit, approval_id: int | None, token: str | None) -> Approval:
        try:
            return await self.store.find_approval(approval_id=approval_id, token=token)
        except NotFound as unknown:
            refusal = NotFound(str(unknown), code=NOT_FOUND)
            row = received(event, f"refused:{NOT_FOUND}", str(unknown))
            await self.store.receive(row, audit=audited(event, approval_id, refusal))
            raise refusal from None

    async def _draft(
        self, card: Approval, edit: Edit, within: Collection[str] | None, people: Mapping[str, Member]
    ) -> Draft | BadInput:
        """The new arguments, or why there are none."""
        state = await self.store.load(card.task_id)
        try:
            _seen(state, card, within)
            return await self.drafts.draft(state, edit, people)
        except BadInput as refusal:
            return refusal

    async def _commit(
        self,
        card: Approval,
        event: ButtonPress | Edit,
        within: Collection[str] | None,
        decide: Callable[[TaskState], Decided],
    ) -> Approval:
        """Commit what an event comes to, then raise what it was refused for, and return the card."""
        refusal: BadInput | None = None

        def plan(state: TaskState) -> Step:
            nonlocal refusal
            try:
                _seen(state, card, within)
                decided = decide(state)
            except NotFound as unknown:
                decided = refused(card, event, unknown)
            refusal = decided.refusal
            step = decided.step if refusal is None else once(state, decided.step)
            return replace(step, audit=audited(event, card.approval_id, refusal))

        if await self.store.change(card.task_id, plan, event.dedup_key) is None:
            refusal = await self._first_answer(event.dedup_key)
        said = {"approval": card.approval_id, "by": who(event).name, "tried": tried(event)}
        if refusal is not None:
            log.warning("press_refused", **said, code=refusal.code)
            if refusal.code == "already_decided":
                await self.expire(card)
            raise refusal
        log.info("approval_pressed", **said)
        return await self.store.find_approval(approval_id=card.approval_id)

    async def _first_answer(self, key: str) -> BadInput | None:
        """What an event was refused for when it came first."""
        before = await self.store.received(key)
        if before is None or not before.outcome.startswith("refused:"):
            return None
        return Conflict(before.said, code=before.outcome.removeprefix("refused:"))


def reminder(state: TaskState, approval_id: int, people: Mapping[str, Member], now: datetime) -> Step | None:
    """Brings a card to mind wherever it was shown; None when there is nothing to remind of any more."""
    card = card_of(state, approval_id)
    if card.status != "open" or card.remind_at is None or card.remind_at > now:
        return None
    change = ApprovalChange(approval_id=approval_id, status=card.status, reminded=True)
    if card.expires_at <= now:
        return Step(approval_changes=(change,))
    drawn = cards.card(card, state.task, people, number_of(state, approval_id))
    deliveries = tuple(
        NewDelivery(
            kind="notice",
            to=to,
            text=cards.reminder(card, drawn, cards.place(to)),
            dedup_key=f"remind:{approval_id}:{number}",
            expires_at=card.expires_at,
            collected=to.channel in COLLECTED,
        )
        for number, to in enumerate(card.shown_at)
    )
    entry = Entry(kind="status", data={"status": "waiting_approval", "text": cards.reminder(card, drawn, "chat")})
    return Step(entries=(entry,), approval_changes=(change,), deliveries=deliveries)


def _seen(state: TaskState, card: Approval, within: Collection[str] | None) -> None:
    """NotFound for a card of a workspace that whoever presses cannot see, like for one that there is not."""
    if within is not None and state.task.workspace not in within:
        raise NotFound(f"There is no approval {card.approval_id}.", code=NOT_FOUND)
