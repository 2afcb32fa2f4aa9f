"""What arrives on chat platforms: who it is from, what becomes of it, and what its sender is told."""

from __future__ import annotations

from collections.abc import Awaitable, Mapping
from dataclasses import dataclass, replace
from typing import Protocol

import structlog

from agent import buttons
from agent import command_texts as texts
from agent.commands import parse
from agent.domain import Address, Approval, Edit, IncomingMessage, Member, Received
from agent.edits import editable
from agent.errors import BadInput, Forbidden
from agent.inbox import notice
from agent.pairing import Pairing
from agent.people import People
from agent.ports.channels import ChannelMessage, ChannelPress, Form, Receipt
from agent.ports.clock import Clock
from agent.ports.desk import Desk
from agent.ports.store import Store
from agent.reception import Reception, declined
from agent.tool import clean

log = structlog.get_logger()

EVERYBODY = "*"
"""In the allow list of a channel."""


class Desks(Protocol):
    """Makes desks."""

    def __call__(self, member: Member, address: Address, *, direct: bool) -> Awaitable[Desk]:
        """That of a member in a conversation; `direct`: nobody else reads what it shows there."""
        ...


@dataclass(frozen=True, kw_only=True, slots=True)
class PlatformChat:
    """Implements the port Chat for every chat platform.

    `allow`: by channel, the platform's ids of people and conversations that are let in without being known, or `*`; of
    another company only people, and companies.
    Whoever is let in by it is a guest: a member named by their identity, without any other role.
    """

    reception: Reception
    store: Store
    people: People
    pairing: Pairing
    desks: Desks
    clock: Clock
    allow: Mapping[str, frozenset[str]]

    async def admits(self, identity: str, address: Address, company: str | None = None) -> bool:
        """Whether this sender is let in here."""
        return await self._member(identity, address, company) is not None

    async def receive(self, message: ChannelMessage) -> Receipt:
        """Whatever somebody wrote; what is said to that is in the outbox."""
        message = replace(message, text=clean(message.text), shown_name=clean(message.shown_name))
        row = await self.reception.known(message.dedup_key, message.address) or await self._received(message)
        return Receipt(outcome=row.outcome, task_id=row.task_id)

    async def press(self, press: ChannelPress) -> Receipt:
        """Whatever somebody pressed, or sent with a form; what is said to that is for them alone."""
        press = replace(press, fields={name: clean(text) for name, text in press.fields.items()})
        row = await self.reception.known(press.dedup_key) or await self._pressed(press)
        return Receipt(outcome=row.outcome, task_id=row.task_id, said=row.said, private=True)

    async def form(self, identity: str, value: str) -> Form:
        """What a button that opens a form asks for. The arguments of a call are shown to those alone who may edit
        them."""
        pressed = buttons.parse(value)
        card = await self.store.find_approval(token=pressed.token)
        if pressed.verb == "edit":
            edit = Edit(
                dedup_key="",
                editor=await self.people.known_as(identity) or self._guest(identity),
                edited_at=self.clock.now(),
                approval_id=card.approval_id,
                item=pressed.item or 0,
                arguments="",
                revision=pressed.revision,
            )
            editable(await self.store.load(card.task_id), edit, await self.people.by_name())
        return buttons.form(card, pressed)

    # --- messages ---

    async def _received(self, message: ChannelMessage) -> Received:
        key, at = message.dedup_key, message.received_at
        event = Received(dedup_key=key, kind="message", outcome="task", who=message.identity, received_at=at)
        member = await self._member(message.identity, message.address, message.company)
        if member is None:
            return await self._knocked(message, replace(event, outcome="stranger"))
        event = replace(event, who=member.name)
        desk = await self.desks(member, message.address, direct=message.direct)
        # A word with a file is a request about the file.
        command = None if message.quoted or message.files or message.awaited_files else parse(message.text)
        if command is not None:
            return await self.reception.word(command, desk, event, message.address)
        try:
            await self.reception.say(_request(message, member, desk.workspace), member)
        except BadInput as error:
            return await self.reception.note(declined(event, error), message.address)
        return await self.reception.known(key) or event

    async def _knocked(self, message: ChannelMessage, event: Received) -> Received:
        """A stranger is shown a code alone; in company they are told where to ask for one, at most once an hour."""
        log.info("stranger_knocked", channel=message.address.channel, direct=message.direct)
        if message.direct:
            knock = await self.pairing.knock(message.identity, message.shown_name)
            return await self.reception.note(replace(event, said=knock.text), message.address)
        to, hour = message.address, f"{message.received_at:%Y-%m-%dT%H}"
        key = f"stranger:{message.identity}:{to.channel}:{to.conversation}:{hour}"
        await self.store.receive(event, (notice(to, key, texts.DIRECT_ONLY, message.received_at),))
        return event

    # --- presses ---

    async def _pressed(self, press: ChannelPress) -> Received:
        key, at = press.dedup_key, press.pressed_at
        event = Received(dedup_key=key, kind="press", outcome="", who=press.identity, received_at=at)
        try:
            value = buttons.parse(press.value)
            card = await self.store.find_approval(token=value.token)
        except BadInput as error:
            return await self.reception.note(declined(event, error))
        event = replace(event, kind="edit" if value.verb == "edit" else "press")
        member = await self._member(press.identity, press.address, press.company)
        if member is None:
            stranger = Forbidden(texts.NOT_KNOWN, code="stranger")
            return await self.reception.refuse(card, value.verb, event, stranger)
        event = replace(event, who=member.name)
        try:
            wanted = buttons.meant(card, value, press, member)
            desk = await self.desks(member, press.address, direct=True)
            if isinstance(wanted, buttons.AskAgain):
                return await self._asked_again(card, desk, event)
        except BadInput as error:
            return await self.reception.refuse(card, value.verb, event, error)
        return await self.reception.press(wanted, desk)

    async def _asked_again(self, card: Approval, desk: Desk, event: Received) -> Received:
        task_id = await desk.ask_again(card.approval_id)
        row = replace(event, outcome="task", task_id=task_id, said=texts.asked_again(task_id))
        return await self.reception.note(row)

    # --- people ---

    async def _member(self, identity: str, address: Address, company: str | None) -> Member | None:
        """Somebody we know, or a guest whom the channel lets in."""
        known = await self.people.known_as(identity)
        if known is not None:
            return known
        _, _, who = identity.partition(":")
        allowed = self.allow.get(address.channel, frozenset())
        named = {EVERYBODY, who, address.conversation} if company is None else {who, company}
        return None if allowed.isdisjoint(named) else self._guest(identity)

    def _guest(self, identity: str) -> Member:
        return Member(name=identity, identities=frozenset({identity}), timezone=self.people.operator.timezone)


def _request(message: ChannelMessage, member: Member, workspace: str) -> IncomingMessage:
    return IncomingMessage(
        dedup_key=message.dedup_key,
        address=message.address,
        sender=member.name,
        text=message.text,
        origin="message",
        received_at=message.received_at,
        files=message.files,
        awaited_files=message.awaited_files,
        message_id=message.message_id,
        reply_to=(message.address,),
        workspace=workspace,
    )
