"""What becomes of an update: it is handed to the chat, and whoever pressed something is told at once."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import structlog

from agent import buttons
from agent.approvals import NOT_FOUND
from agent.domain import Address
from agent.errors import BadInput, NotFound, SignoffError
from agent.ports.channels import ChannelMessage, ChannelPress, Chat, Form, Receipt
from agent.ports.clock import Clock
from channels.telegram import forms, requests, updates
from channels.telegram.calls import Calls
from channels.telegram.gathering import Gathering
from channels.telegram.incoming import Me, joined
from channels.telegram.menu import offer_words
from channels.telegram.replies import Replies
from channels.telegram.settings import Pace, TelegramSettings
from channels.telegram.state import BotState
from channels.telegram.text import blank
from channels.telegram.updates import Changed, Moved, Piece, Pressed, Stopped

log = structlog.get_logger()

PRIVACY = (
    "in groups Telegram shows the bot only words, answers to it and perhaps mentions; for more, /setprivacy at "
    "@BotFather or make it an administrator, then add it to the group again"
)
"""core.telegram.org/bots/features#privacy-mode"""
EDITED = "I do not follow changes to a message that was sent. Send it again as a new one."
UNREAD = "I cannot read {}. Say it in words, or send a file."
WORDS_ONLY = "I take only words here and no file. Answer the question once more, in words."
REMEMBERED = 1_000
"""Requests of which it is known what they said, so that an edit of one is told from whatever else changes."""
FORMS = frozenset({"edit", "changes", "deny"})
"""What asks for something before it does anything."""
UNKNOWN = frozenset({f"refused:{NOT_FOUND}", "refused:invalid"})
"""What a press comes to on a card that is not there, and on one that whoever pressed may not know of."""


class Intake:
    """Takes updates one after the other. When `take` returns, the update is durable and may be acknowledged."""

    def __init__(
        self, settings: TelegramSettings, state: BotState, chat: Chat, calls: Calls, clock: Clock, pace: Pace
    ) -> None:
        self._settings = settings
        self._state = state
        self._chat = chat
        self._calls = calls
        self._clock = clock
        self._replies = Replies(calls)
        self._gathering = Gathering(state.held, self._handed_in, pace)
        self._requests: OrderedDict[tuple[int, int], str] = OrderedDict()
        self._me = Me(user_id=0, username="")

    async def begin(self) -> None:
        """Learn who the bot is, and hand in what was left by a crash; ChannelError, StorageError."""
        await self._state.reload()
        me = await self._calls.me()
        self._me = Me(user_id=me.id, username=me.username or "")
        log.info("telegram_signed_in", bot=me.username)
        if not me.can_read_all_group_messages:
            log.info("telegram_privacy_mode_on", groups=self._settings.groups, remedy=PRIVACY)
        await offer_words(self._calls)
        await self._gathering.recover(self._read_piece)

    async def close(self) -> None:
        """Let what is being said come to its end; what is not whole yet waits for the next start."""
        await self._gathering.stop()
        await self._replies.close()

    async def take(self, raw: Mapping[str, Any]) -> None:
        """Do what an update says. Draining, StorageError: it has to come again.

        The event border: an update that trips over a mistake of ours does so each time it comes, and would keep out
        all that come behind it.
        """
        try:
            await self._take(raw)
        except SignoffError:
            raise
        except Exception:
            log.exception("telegram_update_failed_unexpectedly", update=raw.get("update_id"))

    async def _take(self, raw: Mapping[str, Any]) -> None:
        try:
            event = updates.read(raw, self._me)
        except ValueError as error:
            log.error("telegram_update_unreadable", update=raw.get("update_id"), reason=str(error))  # noqa: TRY400
            return
        match event:
            case Piece():
                await self._gathering.take(raw, event)
            case Changed():
                await self._changed(event.piece)
            case Pressed():
                await self._pressed(event)
            case Stopped():
                await self._stopped(event, raw)
            case Moved():
                if await self._state.moved(event.before, event.now):
                    log.info("telegram_group_moved", before=event.before, now=event.now)

    # --- messages ---

    def _read_piece(self, raw: Mapping[str, Any]) -> Piece | None:
        event = updates.read(raw, self._me)
        return event if isinstance(event, Piece) else None

    async def _handed_in(self, pieces: Sequence[Piece]) -> None:
        first = pieces[0]
        value = forms.asked_by(first.answered_links, self._me.username)
        if value is not None and not requests.is_word(first):
            await self._filled(pieces, value)
        elif requests.addressed(pieces, self._settings.groups):
            await self._asked(pieces)

    async def _asked(self, pieces: Sequence[Piece]) -> None:
        first = pieces[0]
        address, identity = self._address(first.chat_id, first.thread_id), self._identity(first.sender.user_id)
        if first.unread and await self._chat.admits(identity, address):
            if first.direct or first.answers is not None:
                self._replies.say(address, UNREAD.format(first.unread), first.message_id)
            return
        self._remember(pieces)
        key = self._key(first.chat_id, first.message_id)
        name = self._state.message_name(first.chat_id, first.message_id)
        await self._chat.receive(
            requests.asked(pieces, key=key, address=address, identity=identity, name=name, at=self._clock.now())
        )

    def _remember(self, pieces: Sequence[Piece]) -> None:
        for piece in pieces:
            self._requests[piece.chat_id, piece.message_id] = piece.text
        while len(self._requests) > REMEMBERED:
            self._requests.popitem(last=False)

    async def _changed(self, piece: Piece) -> None:
        """Said once, to somebody who is let in, and only when the words are others: a message changes in many ways."""
        before = self._requests.get((piece.chat_id, piece.message_id))
        if before is None or before == piece.text:
            return
        del self._requests[piece.chat_id, piece.message_id]
        address = self._address(piece.chat_id, piece.thread_id)
        if await self._chat.admits(self._identity(piece.sender.user_id), address):
            self._replies.say(address, EDITED, piece.message_id)

    async def _stopped(self, stopped: Stopped, raw: Mapping[str, Any]) -> None:
        """A draft has the number of its task, so the word /stop names that one and not the one behind it."""
        await self._chat.receive(
            ChannelMessage(
                dedup_key=f"telegram:{self._me.user_id}:stop:{raw['update_id']}",
                address=self._address(stopped.chat_id, stopped.thread_id),
                identity=self._identity(stopped.chat_id),
                text=f"/stop {stopped.draft_id}",
                received_at=self._clock.now(),
                direct=True,
            )
        )

    # --- presses and forms ---

    async def _pressed(self, pressed: Pressed) -> None:
        address = self._address(pressed.chat_id, pressed.thread_id)
        identity = self._identity(pressed.user_id)
        if _opens_form(pressed.value):
            try:
                form = await self._chat.form(identity, pressed.value)
            except BadInput as error:
                await self._told(pressed, address, Receipt(outcome=f"refused:{error.code}", said=str(error)))
            else:
                self._asks(pressed, address, form)
            return
        press = ChannelPress(
            dedup_key=f"telegram:{self._me.user_id}:press:{pressed.query_id}",
            address=address,
            identity=identity,
            value=pressed.value,
            pressed_at=self._clock.now(),
        )
        await self._told(pressed, address, await self._chat.press(press))

    def _asks(self, pressed: Pressed, address: Address, form: Form) -> None:
        alone = pressed.chat_id == pressed.user_id
        person = None if alone else updates.Sender(user_id=pressed.user_id, name=pressed.name)
        self._replies.ask(address, forms.question(form, self._me.username, person), pressed.query_id)

    async def _told(self, pressed: Pressed, address: Address, receipt: Receipt) -> None:
        self._replies.answer(pressed.query_id, receipt.said, alert=receipt.outcome.startswith("refused"))
        if receipt.outcome in UNKNOWN and pressed.message_id is not None and await self._is_gone(pressed):
            self._replies.clear(address, self._state.message_name(pressed.chat_id, pressed.message_id))

    async def _is_gone(self, pressed: Pressed) -> bool:
        """Whether there is no such card, for nobody."""
        try:
            value = replace(buttons.parse(pressed.value), verb="approve", item=None)
        except BadInput:
            return True
        try:
            await self._chat.form(self._identity(pressed.user_id), str(value))
        except NotFound:
            return True
        except BadInput:  # there is one, and this verb has no form
            pass
        return False

    async def _filled(self, pieces: Sequence[Piece], value: str) -> None:
        """An answer to a question of the bot's counts like a press with that form."""
        first = pieces[0]
        address = self._address(first.chat_id, first.thread_id)
        identity = self._identity(first.sender.user_id)
        text = joined([replace(piece.said, text=piece.text) for piece in pieces])
        if blank(text) or any(piece.files for piece in pieces):
            self._replies.say(address, WORDS_ONLY, first.message_id)
            return
        try:
            fields = forms.answered(await self._chat.form(identity, value), text)
        except BadInput as error:
            self._replies.say(address, str(error), first.message_id)
            return
        receipt = await self._chat.press(
            ChannelPress(
                dedup_key=self._key(first.chat_id, first.message_id),
                address=address,
                identity=identity,
                value=value,
                pressed_at=self._clock.now(),
                fields=fields,
            )
        )
        if receipt.said:
            self._replies.say(address, receipt.said, first.message_id)

    # --- names ---

    def _key(self, chat_id: int, message_id: int) -> str:
        return f"telegram:{self._me.user_id}:{chat_id}:{message_id}"

    def _address(self, chat_id: int, thread_id: int | None) -> Address:
        thread = None if thread_id is None else str(thread_id)
        return Address(channel="telegram", conversation=self._state.conversation(chat_id), thread=thread)

    def _identity(self, user_id: int) -> str:
        return f"telegram:{self._state.conversation(user_id)}"


def _opens_form(value: str) -> bool:
    try:
        return buttons.parse(value).verb in FORMS
    except BadInput:
        return False
