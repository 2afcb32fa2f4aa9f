"""A delivery on its way: which of its parts arrived, where the next one goes, and the parts themselves.

Each part is written down before the next is sent, so that an attempt which ended in the middle is gone on with there.
Telegram cannot be asked what arrived: a part that got no answer is not sent again, the others are, and in the end the
delivery is unsure.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import structlog
from telegram import InlineKeyboardMarkup, LinkPreviewOptions, ReplyParameters

from agent.errors import DeliveryUnsure, StorageError
from agent.ports.channels import Outgoing
from agent.ports.deliveries import Deliveries
from channels.telegram.calls import Calls, Kind, Refused
from channels.telegram.messages import entities, request, written
from channels.telegram.text import Part
from channels.telegram.traffic import Traffic

log = structlog.get_logger()

Place = dict[str, Any]
"""The topic and the message that is answered, as arguments of a method that sends."""
Send = Callable[[Place], Awaitable[Any]]

HOPELESS: frozenset[Kind] = frozenset({"blocked", "chat_gone", "no_rights", "thread_gone"})
"""Refusals that are about the chat: saying it another way does not help."""
TOPIC_GONE = Part(text="The topic in which this was asked is closed or gone, so it goes on here.")
# What a link shows of itself would be fetched, from wherever the model says.
NO_PREVIEW = LinkPreviewOptions(is_disabled=True)
COPY = "copy"
"""The part that is not missed as much as where its card lies: without a card's number its verdict cannot be shown."""
_UNSURE = "?"


class Attempt:
    """`arrived` are parts by name, and the ids of their messages. `reply_to` is answered by the next part."""

    def __init__(self, calls: Calls, deliveries: Deliveries, traffic: Traffic, outgoing: Outgoing) -> None:
        delivery = outgoing.delivery
        self._calls = calls
        self._deliveries = deliveries
        self._traffic = traffic
        self._delivery_id = delivery.delivery_id
        self._unnoted: list[str] = []
        self.to = delivery.to
        self.conversation = delivery.to.conversation
        noted = (part.partition(" ") for part in delivery.parts)
        self.arrived = {name: message_id for name, _, message_id in noted}
        asked = None if self.arrived else request(outgoing.task)
        own = asked is not None and asked[0] == delivery.to
        self.reply_to = calls.message_id(self.conversation, asked[1]) if asked is not None and own else None
        self._thread = None if "topic" in self.arrived else delivery.to.thread

    # --- parts ---

    async def markdown(self, text: str, name: str = "") -> None:
        """Send a text: as a rich message where that shows more and is taken, else with entities; nothing of a blank
        one."""
        said = written(text)
        is_begun = f"{name}0" in self.arrived
        if said.html is not None and not is_begun and await self._rich(f"{name}rich", said.html):
            return
        for number, part in enumerate(said.parts):
            await self.text(f"{name}{number}", part)

    async def text(self, name: str, part: Part, keyboard: InlineKeyboardMarkup | None = None) -> None:
        """Send a part; as plain text when Telegram does not take its formats."""
        try:
            await self.post(name, lambda place: self._message(place, part, keyboard))
        except Refused as refusal:
            if refusal.kind == "empty":  # nothing in it can be seen, whatever Unicode says of it
                log.info("telegram_part_empty", delivery=self._delivery_id, part=name)
                return
            if refusal.kind in HOPELESS or not part.entities:
                raise
            log.warning("telegram_formats_refused", delivery=self._delivery_id, reason=str(refusal))
            await self.post(name, lambda place: self._message(place, Part(text=part.text), keyboard))

    async def post(self, name: str, send: Send, messages: int = 1) -> None:
        """Send a part, if it did not arrive; what it is refused with goes on."""
        if name in self.arrived:
            return
        try:
            await self.note()
        except StorageError as error:  # the database will be there again before the end; the words do not wait for it
            log.warning("telegram_part_not_noted", delivery=self._delivery_id, reason=str(error))
        self._traffic.count(self.conversation, messages)
        try:
            sent = await self._placed(send)
        except DeliveryUnsure as unsure:
            log.warning("telegram_part_unsure", delivery=self._delivery_id, part=name, reason=str(unsure))
            self._came(name, _UNSURE)
        else:
            self._came(name, self._calls.message_name(self.conversation, _message_id(sent)))
        self.reply_to = None

    def go_to(self, conversation: str) -> None:
        """Send what follows there."""
        self.conversation, self._thread, self.reply_to = conversation, None, None

    # --- how far it is ---

    def ids(self, names: Sequence[str]) -> list[str]:
        """The messages of parts, in order, as far as they are known."""
        found = (self.arrived.get(name, _UNSURE) for name in names)
        return [message_id for message_id in found if message_id != _UNSURE]

    @property
    def last(self) -> str | None:
        """The last message that is known, None when there is none."""
        return next(reversed(self.ids(list(self.arrived))), None)

    async def note(self) -> None:
        """Write down what arrived; StorageError."""
        while self._unnoted:
            name = self._unnoted[0]
            await self._deliveries.part_sent(self._delivery_id, f"{name} {self.arrived[name]}")
            del self._unnoted[0]

    def end(self) -> None:
        """DeliveryUnsure when it is not known of every part, but a copy, that it arrived."""
        if any(message_id == _UNSURE for name, message_id in self.arrived.items() if name != COPY):
            raise DeliveryUnsure("Telegram did not answer, so some of it may not have arrived; the rest was sent.")

    # --- one call ---

    async def _rich(self, name: str, html: str) -> bool:
        async def send(place: Place) -> Any:
            return await self._calls.newer(
                self.conversation, "sendRichMessage", {"rich_message": {"html": html}, **place}
            )

        try:
            await self.post(name, send)
        except Refused as refusal:
            if refusal.kind in HOPELESS:
                raise
            log.info("telegram_rich_message_refused", delivery=self._delivery_id, reason=str(refusal))
            return False
        return True

    async def _message(self, place: Place, part: Part, keyboard: InlineKeyboardMarkup | None) -> Any:
        return await self._calls.to_chat(
            self.conversation,
            lambda chat_id: self._calls.bot.send_message(
                chat_id,
                part.text,
                entities=entities(part),
                reply_markup=keyboard,
                link_preview_options=NO_PREVIEW,
                **place,
            ),
        )

    async def _placed(self, send: Send) -> Any:
        try:
            return await send(self._place)
        except Refused as refusal:
            if refusal.kind == "thread_gone" and self._thread is not None:
                self._thread = self.reply_to = None
                await self.text("topic", TOPIC_GONE)
            elif refusal.kind == "reply_gone" and self.reply_to is not None:
                self.reply_to = None
            else:
                raise
        return await self._placed(send)

    @property
    def _place(self) -> Place:
        place: Place = {} if self._thread is None else {"message_thread_id": int(self._thread)}
        if self.reply_to is not None:
            place["reply_parameters"] = ReplyParameters(self.reply_to, allow_sending_without_reply=True)
        return place

    def _came(self, name: str, message_id: str) -> None:
        self.arrived[name] = message_id
        self._unnoted.append(name)


def _message_id(sent: Any) -> int:
    """Of what a method answers: a message, those of an album, or JSON as it came."""
    last = sent[-1] if isinstance(sent, tuple | list) else sent
    return int(last["message_id"] if isinstance(last, dict) else last.message_id)
