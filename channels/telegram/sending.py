"""What leaves: deliveries, cards and what a task is doing, in the chats and topics they are for."""

from __future__ import annotations

from telegram import MessageEntity

from agent.domain import Address
from agent.ports.channels import Outgoing, Shown
from channels.telegram.calls import Calls, Refused
from channels.telegram.markdown import render
from channels.telegram.text import Part, split


class Sending:
    """The way out of the channel."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls

    async def send(self, outgoing: Outgoing) -> str | None:
        """Send a delivery; the id of its last message, None when there is nothing to be seen of it."""
        to, sent_as = outgoing.delivery.to, None
        for part in split(render(outgoing.text)):
            sent_as = await self._sent(to, part)
        return sent_as

    async def settle(self, outgoing: Outgoing, sent_as: str) -> None:
        """Edit a card to what has become of it; a card that is gone stays gone."""
        part, *_ = split(render(outgoing.text))
        entities = [MessageEntity(**entity.fields()) for entity in part.entities]
        try:
            await self._calls.to_chat(
                outgoing.delivery.to.conversation,
                lambda chat_id: self._calls.bot.edit_message_text(
                    part.text, chat_id=chat_id, message_id=int(sent_as), entities=entities
                ),
                repeatable=True,
            )
        except Refused as refusal:
            if refusal.kind not in {"unchanged", "message_gone", "chat_gone", "blocked"}:
                raise

    async def progress(self, to: Address, shown: Shown) -> None:
        """Show what a task is doing."""

    async def _sent(self, to: Address, part: Part) -> str:
        entities = [MessageEntity(**entity.fields()) for entity in part.entities]
        message = await self._calls.to_chat(
            to.conversation,
            lambda chat_id: self._calls.bot.send_message(
                chat_id, part.text, entities=entities, message_thread_id=thread_id(to)
            ),
        )
        return str(message.message_id)


def thread_id(to: Address) -> int | None:
    """The topic of an address; General and chats without topics have none."""
    return None if to.thread is None else int(to.thread)
