"""Shows what a task is doing while it works: a draft in private chats, elsewhere one message that is edited.

Best effort, and slower than Telegram allows, so that the answer never waits. A draft fades by itself; a message is
written down, so that the answer can take it away also after a crash.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

import structlog

from agent.domain import Address, Task
from agent.errors import DeliveryUnsure, StorageError
from agent.ports.channels import Shown
from agent.ports.clock import Clock
from agent.ports.deliveries import Deliveries
from channels.telegram import drawing
from channels.telegram.attempt import HOPELESS, NO_PREVIEW, Place
from channels.telegram.calls import Calls, Refused
from channels.telegram.messages import entities
from channels.telegram.text import Part
from channels.telegram.traffic import Traffic

log = structlog.get_logger()

DRAFT_PAUSE = 1.0
"""Seconds after a draft: a chat takes one message a second."""
EDIT_PAUSE = timedelta(seconds=4)
"""Between two edits; what comes in between is shown with the next."""
DRAFT_FADES = timedelta(seconds=20)
"""After which a draft is shown again as it is: it lasts 30 seconds (core.telegram.org/bots/api#sendmessagedraft)."""
TYPING_FADES = timedelta(seconds=4)
"""It lasts 5 seconds (core.telegram.org/bots/api#sendchataction)."""
QUIET = timedelta(seconds=3)
"""Before a message says what is worked on: what is quick needs none."""
CLOSING_SECONDS = 3.0
"""For a call that is under way when the answer comes."""
REMEMBERED = 1_000
"""Places whose showing is over, so that news that come late do not begin it again."""
_LONG_AGO = timedelta(days=1)

Key = tuple[int, Address]


@dataclass(kw_only=True)
class Show:
    """One place. `is_lost`: what showed it is gone, or nobody knows its id; nothing else is begun."""

    key: Key
    began_at: datetime
    is_draft: bool
    drawn: Part | None = None
    drawn_at: datetime
    typed_at: datetime
    shown_as: str | None = None
    is_found: bool = False
    is_lost: bool = False
    is_over: asyncio.Event = field(default_factory=asyncio.Event)
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    @property
    def to(self) -> Address:
        return self.key[1]

    @property
    def place(self) -> Place:
        return {} if self.to.thread is None else {"message_thread_id": int(self.to.thread)}


class Live:
    """One show for each task and address."""

    def __init__(self, calls: Calls, deliveries: Deliveries, traffic: Traffic, clock: Clock) -> None:
        self._calls = calls
        self._deliveries = deliveries
        self._traffic = traffic
        self._clock = clock
        self._shows: dict[Key, Show] = {}
        self._over: OrderedDict[Key, int] = OrderedDict()

    async def progress(self, to: Address, shown: Shown) -> None:
        """Show the newest state; return when a draft may follow."""
        key = (shown.task.task_id, to)
        if shown.task.epoch <= self._over.get(key, -1):
            return
        show = self._shows.get(key)
        if show is None:
            now = self._clock.now()
            show = self._shows[key] = Show(
                key=key, began_at=now, drawn_at=now - _LONG_AGO, typed_at=now - _LONG_AGO, is_draft=_is_alone(to)
            )
        async with show.lock:
            if not show.is_over.is_set() and await self._draw(show, shown):
                await self._rest(show)

    async def close(self, task: Task, to: Address) -> None:
        """End a showing: nothing is drawn any more, so that what is sent now stays the last word."""
        key = (task.task_id, to)
        self._over[key] = task.epoch
        self._over.move_to_end(key)
        if len(self._over) > REMEMBERED:
            self._over.popitem(last=False)
        show = self._shows.pop(key, None)
        if show is None:
            return
        show.is_over.set()
        try:
            async with asyncio.timeout(CLOSING_SECONDS), show.lock:
                pass
        except TimeoutError:
            log.debug("telegram_progress_still_under_way", task=task.task_id)

    async def remains(self, task_id: int, to: Address) -> str | None:
        """The message that still shows a task, also one of a process that died."""
        return await self._deliveries.live_message(task_id, to)

    async def remove(self, task_id: int, to: Address, shown_as: str) -> None:
        """Take it away; ChannelUnavailable to try again."""
        await self._delete(to, shown_as)
        await self._deliveries.save_live_message(task_id, to, None)

    # --- drawing ---

    async def _draw(self, show: Show, shown: Shown) -> bool:
        """Whether a draft was sent."""
        if show.is_lost:
            return False
        try:
            is_drafted = show.is_draft and await self._draft(show, shown)
            if not show.is_draft:
                await self._type(show)
                await self._message(show, shown)
            return is_drafted
        except Refused as refusal:
            log.debug("telegram_progress_refused", task=shown.task.task_id, reason=str(refusal))
            show.is_lost = refusal.kind in {*HOPELESS, "message_gone"}
        except DeliveryUnsure:
            show.is_lost = True  # it may stand there under an id that nobody knows
        except StorageError as error:
            log.debug("telegram_progress_not_noted", task=shown.task.task_id, reason=str(error))
        return False

    async def _rest(self, show: Show) -> None:
        """Until there is room for the next, or the showing is over."""
        waits = [
            asyncio.ensure_future(self._clock.sleep(DRAFT_PAUSE)),
            asyncio.ensure_future(show.is_over.wait()),
        ]
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in waits:
                wait.cancel()

    # --- a draft ---

    async def _draft(self, show: Show, shown: Shown) -> bool:
        """Show a draft, if it changed or fades; whether it did. Where there are none, a message takes its place."""
        look, now = drawing.draft(shown), self._clock.now()
        if look == show.drawn and now - show.drawn_at < DRAFT_FADES:
            return False
        # Its number is the task's, so that the stop button names it.
        about: dict[str, Any] = {"draft_id": shown.task.task_id, "can_stop": True, **show.place}
        try:
            await self._send_draft(show, about, look, drawing.rich_draft(shown))
        except Refused as refusal:
            if refusal.kind in HOPELESS:
                raise
            log.info("telegram_draft_refused", task=shown.task.task_id, reason=str(refusal))
            show.is_draft = False
            return False
        show.drawn, show.drawn_at = look, now
        return True

    async def _send_draft(self, show: Show, about: Place, look: Part, html: str | None) -> None:
        conversation = show.to.conversation
        if html is not None:
            rich = {**about, "rich_message": {"html": html}}
            try:
                await self._calls.newer(conversation, "sendRichMessageDraft", rich, repeatable=True)
            except Refused as refusal:
                if refusal.kind in HOPELESS:
                    raise
            else:
                return
        plain = {**about, "text": look.text, "entities": [entity.fields() for entity in look.entities]}
        await self._calls.newer(conversation, "sendMessageDraft", plain, repeatable=True)

    # --- a message that is edited ---

    async def _type(self, show: Show) -> None:
        if self._clock.now() - show.typed_at < TYPING_FADES:
            return
        show.typed_at = self._clock.now()
        bot, place = self._calls.bot, show.place
        await self._calls.to_chat(
            show.to.conversation,
            lambda chat_id: bot.send_chat_action(chat_id, "typing", **place),
            repeatable=True,
        )

    async def _message(self, show: Show, shown: Shown) -> None:
        now = self._clock.now()
        is_early = now - show.began_at < QUIET or now - show.drawn_at < EDIT_PAUSE
        if is_early or not self._traffic.has_room(show.to.conversation):
            return
        if not show.is_found:
            show.shown_as = await self.remains(*show.key)
            show.is_found = True
        look = drawing.status(shown)
        if look == show.drawn:
            return
        self._traffic.count(show.to.conversation)
        if show.shown_as is None:
            await self._post(show, look)
        else:
            await self._edit(show, look, show.shown_as)
        show.drawn, show.drawn_at = look, self._clock.now()

    async def _post(self, show: Show, look: Part) -> None:
        """Without a sound: the answer brings one."""
        bot, place = self._calls.bot, show.place
        sent = await self._calls.to_chat(
            show.to.conversation,
            lambda chat_id: bot.send_message(
                chat_id, look.text, entities=entities(look), disable_notification=True,
                link_preview_options=NO_PREVIEW, **place,
            ),
        )  # fmt: skip
        shown_as = self._calls.message_name(show.to.conversation, sent.message_id)
        if show.is_over.is_set():  # the answer did not wait
            await self._delete(show.to, shown_as)
            return
        show.shown_as = shown_as
        await self._deliveries.save_live_message(*show.key, shown_as)

    async def _edit(self, show: Show, look: Part, shown_as: str) -> None:
        bot = self._calls.bot
        try:
            await self._calls.to_message(
                show.to.conversation,
                shown_as,
                lambda chat_id, message_id: bot.edit_message_text(
                    look.text, chat_id=chat_id, message_id=message_id, entities=entities(look),
                    link_preview_options=NO_PREVIEW,
                ),
            )  # fmt: skip
        except Refused as refusal:
            if refusal.kind != "unchanged":
                raise

    async def _delete(self, to: Address, shown_as: str) -> None:
        try:
            await self._calls.to_message(
                to.conversation,
                shown_as,
                self._calls.bot.delete_message,
            )
        except Refused as refusal:
            log.debug("telegram_progress_not_removed", reason=str(refusal))


def _is_alone(to: Address) -> bool:
    """Whether it is a private chat, whose id is the person's; those of groups are negative."""
    return not to.conversation.startswith("-")
