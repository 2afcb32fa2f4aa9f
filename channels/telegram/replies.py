"""What is said at once to whoever pressed, answered or edited something: best effort, the decision stands anyway."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

import structlog
from telegram import ForceReply, InputFile, MessageEntity, ReplyParameters, User

from agent.domain import Address
from agent.errors import ChannelError
from channels.telegram.calls import Calls
from channels.telegram.forms import Question
from channels.telegram.text import CAPTION_UNITS, Rendered, caption, split

log = structlog.get_logger()

ANSWER = 200
"""Characters of the answer to a press (core.telegram.org/bots/api#answercallbackquery)."""


class Replies:
    """Says things in the background, so that the next update is not kept waiting."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls
        self._saying: set[asyncio.Task[None]] = set()

    async def close(self, grace_seconds: float = 2.0) -> None:
        """Let what is being said come to its end for a moment."""
        if self._saying:
            await asyncio.wait(self._saying, timeout=grace_seconds)
        for task in tuple(self._saying):
            task.cancel()

    def answer(self, query_id: str, text: str = "", *, alert: bool = False) -> None:
        """Answer a press, whose button shows that it waits until then."""
        self._begin(self._answer(query_id, text, alert=alert))

    def say(self, to: Address, text: str, message_id: int) -> None:
        """Answer a message."""
        self._begin(self._say(to, text, message_id))

    def ask(self, to: Address, question: Question, query_id: str) -> None:
        """Ask for what a form asks for; the press behind it is answered once the question is there."""
        self._begin(self._ask(to, question, query_id))

    def clear(self, to: Address, name: str) -> None:
        """Take the buttons away from a message, for which there is nothing to decide any more."""
        self._begin(self._clear(to, name))

    def _begin(self, saying: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(_best_effort(saying), name="telegram reply")
        self._saying.add(task)
        task.add_done_callback(self._saying.discard)

    async def _answer(self, query_id: str, text: str, *, alert: bool) -> None:
        short = text if len(text) <= ANSWER else f"{text[: ANSWER - 1]}…"
        await self._calls.ask(
            lambda: self._calls.bot.answer_callback_query(query_id, short or None, show_alert=alert or None)
        )

    async def _say(self, to: Address, text: str, message_id: int) -> None:
        for part in split(Rendered(text=text)):
            await self._calls.to_chat(
                to.conversation,
                lambda chat_id, part=part: self._calls.bot.send_message(  # type: ignore[misc]
                    chat_id, part.text, message_thread_id=_thread(to), reply_parameters=_reply(message_id)
                ),
            )

    async def _ask(self, to: Address, question: Question, query_id: str) -> None:
        try:
            await self._calls.to_chat(to.conversation, lambda chat_id: self._asked(chat_id, to, question))
        except ChannelError as error:
            await self._answer(query_id, str(error), alert=True)
            return
        await self._answer(query_id, "", alert=False)

    async def _asked(self, chat_id: int, to: Address, question: Question) -> Any:
        markup = ForceReply(selective=True, input_field_placeholder=question.placeholder)
        entities = _entities(question)
        if question.file is None:
            return await self._calls.bot.send_message(
                chat_id, question.text, entities=entities, message_thread_id=_thread(to), reply_markup=markup
            )
        first, _ = caption(Rendered(text=question.text), CAPTION_UNITS)
        return await self._calls.bot.send_document(
            chat_id,
            InputFile(question.file.encode(), filename="values.txt"),
            caption=first.text,
            caption_entities=entities,
            message_thread_id=_thread(to),
            reply_markup=markup,
        )

    async def _clear(self, to: Address, name: str) -> None:
        await self._calls.to_message(
            to.conversation,
            name,
            lambda chat_id, message_id: self._calls.bot.edit_message_reply_markup(
                chat_id, message_id, reply_markup=None
            ),
        )


async def _best_effort(saying: Coroutine[Any, Any, None]) -> None:
    try:
        await saying
    except ChannelError as error:
        log.info("telegram_reply_not_sent", reason=str(error))


def _entities(question: Question) -> list[MessageEntity]:
    """The link that says what is asked, the person it is for, and the values as they would be typed."""
    entities = [MessageEntity("text_link", *question.title, url=question.link)]
    if (person := question.person) is not None:
        user = User(person.user_id, person.name, is_bot=False)
        entities.insert(0, MessageEntity("text_mention", 0, question.title[0] - 2, user=user))
    return [*entities, MessageEntity("pre", *question.values)] if question.values else entities


def _reply(message_id: int) -> ReplyParameters:
    return ReplyParameters(message_id, allow_sending_without_reply=True)


def _thread(to: Address) -> int | None:
    return None if to.thread is None else int(to.thread)
