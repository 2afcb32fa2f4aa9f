"""What people say and press, wherever they do: each event does its work once, and a repeat gets the first answer."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace

import structlog

from agent.approvals import NOT_FOUND, Approvals
from agent.commands import Command, Judgement, run
from agent.decisions import audited, decision, entered, once, received
from agent.domain import Address, Approval, ButtonPress, Edit, IncomingMessage, Member, Received
from agent.errors import BadInput, Conflict, NotFound, ToolError
from agent.inbox import TaskInbox, notice
from agent.people import People
from agent.ports.access import NewAudit
from agent.ports.desk import Desk
from agent.ports.store import Accepted, NewDelivery, Step, Store, TaskState

log = structlog.get_logger()


@dataclass(frozen=True, kw_only=True, slots=True)
class Reception:
    """Where everything that a person wants arrives, from chat, console, `/v1` and terminal."""

    store: Store
    inbox: TaskInbox
    approvals: Approvals
    people: People

    async def say(self, message: IncomingMessage, member: Member) -> Accepted:
        """Take a person's plain message: the answer to the open card of its conversation, else a request.

        Without files, from the requester or from somebody who may decide, it asks for changes and belongs to the task
        that waits. Draining, BadInput.
        """
        message = self.inbox.checked(message)
        if not message.files and not message.awaited_files:
            await self._ask_for_changes(message, member)
        return await self.inbox.accept(message)  # known by now, if it was an answer

    async def word(self, command: Command, desk: Desk, event: Received, to: Address | None = None) -> Received:
        """Do what a chat word says; the row tells what was answered, which is sent to `to` if that is given."""
        row = await self.known(event.dedup_key, to)
        return row or await self.note(await self._answered(command, desk, event), to)

    async def press(self, press: ButtonPress | Edit, desk: Desk) -> Received:
        """Decide on a card or change what it shows; the row tells what became of it, and what to say to that."""
        try:
            await (desk.decide(press) if isinstance(press, ButtonPress) else desk.edit(press))
        except BadInput as error:
            return await self.note(received(press, f"refused:{error.code}", str(error)))
        return await self.note(received(press, "decided"))

    async def refuse(self, card: Approval, tried: str, event: Received, error: BadInput) -> Received:
        """Write down a try on a card that was none to decide about, in the journal of its task and in the audit."""
        said = {"verdict": "refused", "tried": tried, "code": error.code, "reason": str(error)}
        audit = NewAudit(
            at=event.received_at,
            who=event.who,
            what="press_refused",
            subject=str(card.approval_id),
            detail={"verdict": tried, "items": [], "code": error.code},
            way="chat",
        )
        entry = entered(card, [], by=event.who, **said)
        step = Step(entries=(entry,), received=declined(event, error), audit=audit)
        await self.store.change(card.task_id, lambda state: once(state, step), event.dedup_key)
        return await self.known(event.dedup_key) or event

    async def note(self, row: Received, to: Address | None = None) -> Received:
        """Write an event down with what is said to it, unless it is there already; the row that counts."""
        if not await self.store.receive(row, _answers(row, to)):
            return await self.known(row.dedup_key, to) or row
        await self._stop(row)
        return row

    async def known(self, key: str, to: Address | None = None) -> Received | None:
        """An event that was received before, once what a crash may have left of it is done."""
        row = await self.store.received(key)
        if row is not None:
            if answers := _answers(row, to):
                await self.store.deliver(answers)
            await self._stop(row)
        return row

    async def _stop(self, row: Received) -> None:
        """What /stop is about is written down first, so that a repeat stops that task and not the one behind it."""
        if row.outcome == "stop" and row.task_id is not None:
            with suppress(Conflict, NotFound):  # it has ended, or is gone
                await self.approvals.cancel(row.task_id)

    async def _answered(self, command: Command, desk: Desk, event: Received) -> Received:
        event = replace(event, kind="command", outcome="command")
        try:
            answer = await run(command, desk)
        except (BadInput, ToolError) as error:
            return declined(event, error)
        if isinstance(answer, Judgement):
            return await self.press(_typed(answer, desk.member, event), desk)
        outcome = "command" if answer.stop is None else "stop"
        return replace(event, outcome=outcome, said=answer.text, task_id=answer.stop, session_id=answer.session_id)

    async def _ask_for_changes(self, message: IncomingMessage, member: Member) -> None:
        """Take the message as the answer to the open card of its conversation; if it cannot be one, do nothing."""
        card = await self.store.waiting(message.address)
        if card is None or card.kind != "change":
            return
        press = ButtonPress(
            dedup_key=message.dedup_key,
            presser=member,
            verdict="changes",
            pressed_at=message.received_at,
            approval_id=card.approval_id,
            reason=message.text,
            way="chat" if message.origin == "message" else message.origin,
        )
        event = replace(received(press, "changes"), kind="message", fingerprint=message.fingerprint)
        people = await self.people.by_name()

        def plan(state: TaskState) -> Step | None:
            decided = decision(state, card.approval_id, press, people)
            if decided.refusal is not None:
                return None
            return replace(decided.step, received=event, audit=audited(press, card.approval_id, None))

        if await self.store.change(card.task_id, plan, message.dedup_key) is not None:
            log.info("changes_asked_for", approval=card.approval_id, by=member.name)


def declined(event: Received, error: BadInput | ToolError) -> Received:
    """The row of an event that did nothing, with the sentence that says why."""
    match error:
        case NotFound(code="invalid"):
            code = NOT_FOUND
        case BadInput():
            code = error.code
        case _:
            code = "failed"
    return replace(event, outcome=f"refused:{code}", said=str(error))


def _answers(row: Received, to: Address | None) -> tuple[NewDelivery, ...]:
    if to is None or not row.said:
        return ()
    return (notice(to, f"said:{row.dedup_key}", row.said, row.received_at),)


def _typed(judgement: Judgement, presser: Member, event: Received) -> ButtonPress:
    return ButtonPress(
        dedup_key=event.dedup_key,
        presser=presser,
        verdict=judgement.verdict,
        pressed_at=event.received_at,
        approval_id=judgement.approval_id,
        items=judgement.items,
        reason=judgement.reason,
        outcome=judgement.outcome,
    )
