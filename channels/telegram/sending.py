"""What leaves for Telegram: answers, cards and their verdicts, files, and what a task is doing."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence

import structlog
from telegram import InputFile

from agent.domain import TERMINAL, Address, Task
from agent.errors import ChannelUnavailable, DeliveryRefused, NotFound, StorageError
from agent.ports.channels import Card, Outgoing, Shown
from agent.ports.platform import Members, Platform
from channels.telegram import cards
from channels.telegram.attempt import COPY, HOPELESS, NO_PREVIEW, Attempt, Place
from channels.telegram.calls import Calls, Refused
from channels.telegram.cards import CardMessage
from channels.telegram.live import Live
from channels.telegram.messages import entities
from channels.telegram.reactions import Reactions
from channels.telegram.text import Part
from channels.telegram.traffic import Traffic
from channels.telegram.uploads import Uploads

log = structlog.get_logger()

REMEMBERED = 1_000
"""Cards whose full copy is known to have been sent."""
_OURS = "telegram:"

Left = tuple[int, Address, str]
"""Task, place and message of a showing that has ended."""


class Sending:
    """The way out of the channel: ChannelUnavailable, DeliveryRefused, DeliveryUnsure. `most_bytes` is how large a file
    may be."""

    def __init__(self, calls: Calls, platform: Platform, most_bytes: int) -> None:
        self._calls = calls
        self._deliveries = platform.deliveries
        self._people = platform.people
        self._traffic = Traffic(platform.clock)
        self._live = Live(calls, platform.deliveries, self._traffic, platform.clock)
        self._reactions = Reactions(calls)
        self._uploads = Uploads(calls, platform.blobs, most_bytes)
        self._copied: OrderedDict[tuple[str, Address], None] = OrderedDict()

    async def send(self, outgoing: Outgoing) -> str | None:
        """Send a delivery; the id of its last message, of a card those of all its messages, None when there is nothing
        to be seen of it."""
        begun = self._begin(outgoing)
        left = await self._end_showing(outgoing)
        try:
            sent_as = await self._send(begun, outgoing)
        except Refused as refusal:
            await self._tell_requester(begun, outgoing, refusal)
            raise
        except (ChannelUnavailable, StorageError):
            await begun.note()
            raise
        if left is not None:
            await self._clear(begun, left)
        self._react(outgoing)
        begun.end()
        return sent_as

    async def settle(self, outgoing: Outgoing, sent_as: str) -> None:
        """Redraw a card where it was sent; one that is gone or too old is followed by a message that says the same."""
        if outgoing.card is None:
            return
        begun = self._begin(outgoing)
        begun.reply_to = None
        places = sent_as.split()
        for number, (message, place) in enumerate(zip(cards.messages(outgoing.card), places, strict=False)):
            await self._redraw(begun, f"verdict-{number}", message, place)
        await self._copy(begun, outgoing.card, places[-1])
        self._react(outgoing)
        begun.end()

    async def progress(self, to: Address, shown: Shown) -> None:
        """Show what a task is doing."""
        self._reactions.show(shown.task)
        await self._live.progress(to, shown)

    async def close(self) -> None:
        """Leave what is only nice to see."""
        await self._reactions.close()

    def _begin(self, outgoing: Outgoing) -> Attempt:
        return Attempt(self._calls, self._deliveries, self._traffic, outgoing)

    def _react(self, outgoing: Outgoing) -> None:
        if outgoing.task is not None:
            self._reactions.show(outgoing.task)

    async def _send(self, begun: Attempt, outgoing: Outgoing) -> str | None:
        if outgoing.delivery.kind == "approval" and outgoing.card is not None:
            return await self._card(begun, outgoing.card)
        await begun.markdown(outgoing.text)
        await self._uploads.send(begun, outgoing.artifacts)
        return begun.last

    async def _end_showing(self, outgoing: Outgoing) -> Left | None:
        """When a task waits or has ended, nothing shows it any more; the message that did is still there."""
        task, to = outgoing.task, outgoing.delivery.to
        if task is None or not (task.status in TERMINAL or task.status == "waiting_approval"):
            return None
        await self._live.close(task, to)
        shown_as = await self._live.remains(task.task_id, to)
        return None if shown_as is None else (task.task_id, to, shown_as)

    async def _clear(self, begun: Attempt, left: Left) -> None:
        """Take away what showed the task, once everything else is written down: a further attempt only does that."""
        try:
            await begun.note()
        except StorageError as error:
            log.warning("telegram_progress_not_removed", reason=str(error))
        else:
            await self._live.remove(*left)

    async def _tell_requester(self, begun: Attempt, outgoing: Outgoing, refusal: Refused) -> None:
        """What cannot be said where it was asked is said to whoever asked, alone; of a card only that there is one,
        because its buttons are for others."""
        person = await requester(outgoing.task, self._people)
        where = begun.conversation
        if person is None or person == where or outgoing.delivery.kind not in {"reply", "approval"}:
            return
        text = outgoing.text if outgoing.card is None else outgoing.card.title
        try:
            begun.go_to(person)
            await begun.text("alone", Part(text=f"I could not write this in {_OURS}{where}. {refusal}"))
            await begun.markdown(text, "alone-")
        except DeliveryRefused as refused:
            log.info("requester_not_told", delivery=outgoing.delivery.delivery_id, reason=str(refused))

    # --- cards ---

    async def _card(self, begun: Attempt, card: Card) -> str | None:
        drawn = cards.messages(card)
        names = [f"card-{number}" for number in range(len(drawn))]
        for name, message in zip(names, drawn, strict=True):
            await begun.text(name, message.part, message.keyboard)
        ids = begun.ids(names)
        await self._copy(begun, card, ids[-1] if ids else None)
        return " ".join(ids) or None

    async def _redraw(self, begun: Attempt, name: str, message: CardMessage, place: str) -> None:
        try:
            await self._edit(begun, message, place, message.part)
        except Refused as refusal:
            if refusal.kind in HOPELESS:
                raise
            log.info("telegram_card_not_redrawn", message=place, reason=str(refusal))
            if refusal.kind == "message_gone":
                await begun.text(name, message.part, message.keyboard)
            else:
                await self._edit(begun, message, place, Part(text=message.part.text))

    async def _edit(self, begun: Attempt, message: CardMessage, place: str, part: Part) -> None:
        bot = self._calls.bot
        self._traffic.count(begun.conversation)
        try:
            await self._calls.to_message(
                begun.conversation,
                place,
                lambda chat_id, message_id: bot.edit_message_text(
                    part.text, chat_id=chat_id, message_id=message_id, entities=entities(part),
                    reply_markup=message.keyboard, link_preview_options=NO_PREVIEW,
                ),
            )  # fmt: skip
        except Refused as refusal:
            if refusal.kind != "unchanged":
                raise

    async def _copy(self, begun: Attempt, card: Card, place: str | None) -> None:
        """What a card has no room for, as a file in answer to it; of what is shown anew, a new one."""
        copy = cards.full_copy(card)
        if copy is None or (copy[0], begun.to) in self._copied:
            return
        name, text = copy
        begun.reply_to = None if place is None else self._calls.message_id(begun.conversation, place)
        file = InputFile(text.encode(errors="replace"), filename=name)

        async def send(place: Place) -> object:
            return await self._calls.to_chat(
                begun.conversation, lambda chat_id: self._calls.bot.send_document(chat_id, file, **place)
            )

        try:
            await begun.post(COPY, send)
        except Refused as refusal:
            if refusal.kind in HOPELESS:
                raise
            await begun.text("no-copy", Part(text=f"{name} could not be attached: {refusal}"))
        self._copied[name, begun.to] = None
        if len(self._copied) > REMEMBERED:
            self._copied.popitem(last=False)


async def requester(task: Task | None, people: Members) -> str | None:
    """The chat of whoever asked for a task, which has their own id; None for somebody without. A guest's name is their
    identity."""
    if task is None:
        return None
    if task.requester.startswith(_OURS):
        return task.requester.removeprefix(_OURS)
    try:
        member = await people.member(task.requester)
    except NotFound:
        return None
    ids: Sequence[str] = sorted(one.removeprefix(_OURS) for one in member.identities if one.startswith(_OURS))
    return ids[0] if ids else None
