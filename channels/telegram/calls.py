"""The one place that calls the Bot API, and the one table of what its refusals mean."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Literal, TypeVar, cast

import structlog
from telegram import Bot, User
from telegram.error import TelegramError

from agent.errors import ChannelError, ChannelUnavailable, DeliveryRefused, DeliveryUnsure
from channels.telegram.connection import Answered, Http, Unanswered
from channels.telegram.settings import Pace, TelegramSettings
from channels.telegram.state import BotState

log = structlog.get_logger()
T = TypeVar("T")

Kind = Literal[
    "blocked", "unchanged", "message_gone", "reply_gone", "thread_gone", "too_long", "bad_format", "no_rights",
    "chat_gone", "query_too_old", "file_too_big", "no_such_file", "unknown_method", "empty",
    "other",
]  # fmt: skip
"""Why a call was refused, as far as somebody does something about it."""

# Telegram names its refusals in words only: github.com/TelegramBotAPI/errors, github.com/tdlib/telegram-bot-api.
_WORDS: Sequence[tuple[str, Kind]] = (
    ("message is not modified", "unchanged"),
    ("message to edit not found", "message_gone"),
    ("message can't be edited", "message_gone"),
    ("there is no text in the message to edit", "message_gone"),
    ("message to delete not found", "message_gone"),
    ("message can't be deleted", "message_gone"),
    ("message to react not found", "message_gone"),
    ("message_id_invalid", "message_gone"),
    ("message to be replied not found", "reply_gone"),
    ("message to reply not found", "reply_gone"),
    ("message thread not found", "thread_gone"),
    ("topic_closed", "thread_gone"),
    ("topic_deleted", "thread_gone"),
    ("too long", "too_long"),
    ("message_too_long", "too_long"),
    ("must be non-empty", "empty"),
    ("text is empty", "empty"),
    ("can't parse", "bad_format"),
    ("rich_message", "bad_format"),
    ("not enough rights", "no_rights"),
    ("have no rights", "no_rights"),
    ("write_forbidden", "no_rights"),
    ("chat not found", "chat_gone"),
    ("query is too old", "query_too_old"),
    ("query id is invalid", "query_too_old"),
    ("file is too big", "file_too_big"),
    ("invalid file_id", "no_such_file"),
    ("wrong file_id", "no_such_file"),
    ("wrong file identifier", "no_such_file"),
    ("wrong remote file identifier", "no_such_file"),
    ("temporarily unavailable", "no_such_file"),
)
_OTHER: Kind = "other"
TOO_MANY = "Telegram gets too many messages."
LOGIN_REFUSED = "Telegram refuses the token; ask @BotFather for the current one and set it as channels.telegram.token."


class Refused(DeliveryRefused):
    """Telegram will never take this call."""

    def __init__(self, message: str, kind: Kind) -> None:
        super().__init__(message)
        self.kind: Kind = kind


class TokenRefused(ChannelUnavailable):
    """The token is wrong or was revoked; nothing works until somebody sets another one."""


class NotThere(TokenRefused):
    """Either the token is no token at all, or the server does not know the method."""


class Conflicting(ChannelUnavailable):
    """Somebody else receives the bot's updates."""


class Calls:
    """Calls of one bot. What they raise is a ChannelError.

    A chat that got too much is left alone until its time has come; the others are not touched by that.
    """

    def __init__(self, settings: TelegramSettings, state: BotState, pace: Pace) -> None:
        self._pace = pace
        self._state = state
        self._http, self._polling = Http(pace), Http(pace)
        self.bot = _Bot(
            settings.secret,
            base_url=settings.base_url,
            base_file_url=settings.base_file_url,
            request=self._http,
            get_updates_request=self._polling,
        )
        self._me: User | None = None
        self._asking = asyncio.Lock()
        self._free_at: dict[int, float] = {}
        self._unknown: set[str] = set()

    async def close(self) -> None:
        """Release the connections; the next call opens them again."""
        await self._http.shutdown()
        await self._polling.shutdown()

    async def reconnect(self) -> None:
        """Receive over a fresh connection: the old one may be dead without saying so."""
        await self._polling.shutdown()

    async def me(self) -> User:
        """The bot itself, asked for once; it proves that the token is good."""
        async with self._asking:
            if self._me is None:
                self._me = await self.ask(self.bot.get_me)
        return self._me

    async def ask(self, call: Callable[[], Awaitable[T]]) -> T:
        """A call that is about no chat, or may be made twice without harm wherever it goes."""
        try:
            return await call()
        except TelegramError as error:
            raise meant(error, repeatable=True) from None

    async def to_message(self, conversation: str, name: str, call: Callable[[int, int], Awaitable[T]]) -> T:
        """A call about a message, which `call` is given the ids of its chat and of itself; it may be made twice. One
        that was left behind where its group moved from is gone."""
        gone = Refused("Telegram refused it: the message stayed behind when the group moved.", "message_gone")

        async def called(chat_id: int) -> T:
            message_id = self._state.message_id(conversation, name)
            if message_id is None:
                raise gone
            return await call(chat_id, message_id)

        return await self.to_chat(conversation, called, repeatable=True)

    def message_name(self, conversation: str, message_id: int) -> str:
        """What a message is written down as."""
        return self._state.message_name(self._state.chat_id(conversation), message_id)

    def message_id(self, conversation: str, name: str) -> int | None:
        """Its id, None when it stayed behind."""
        return self._state.message_id(conversation, name)

    async def to_chat(self, conversation: str, call: Callable[[int], Awaitable[T]], *, repeatable: bool = False) -> T:
        """A call to a chat, which `call` is given the id of. `repeatable`: a second one does no harm, so a lost answer
        is no DeliveryUnsure."""
        chat_id = self._state.chat_id(conversation)
        self._check_free(chat_id)
        try:
            return await call(chat_id)
        except Answered as error:
            if error.moved_to is None:
                raise self._noted(chat_id, meant(error, repeatable=repeatable)) from None
            moved_to = error.moved_to
        except TelegramError as error:
            raise meant(error, repeatable=repeatable) from None
        await self._state.moved(chat_id, moved_to)
        log.info("telegram_group_moved", before=chat_id, now=moved_to)
        try:
            return await call(moved_to)
        except TelegramError as error:
            raise self._noted(moved_to, meant(error, repeatable=repeatable)) from None

    async def newer(
        self, conversation: str, method: str, arguments: Mapping[str, Any], *, repeatable: bool = False
    ) -> Any:
        """A method that the library does not know, with its arguments but `chat_id`; a server that does not know it
        either is asked once."""
        if method in self._unknown:
            raise Refused(f"The server does not know {method}.", "unknown_method")
        await self.me()  # from here on, 404 is about the method and not about the token
        try:
            return await self.to_chat(
                conversation,
                lambda chat_id: self.bot.raw(method, {"chat_id": chat_id, **arguments}),
                repeatable=repeatable,
            )
        except NotThere:
            self._unknown.add(method)
            log.info("telegram_method_unknown", method=method)
            raise Refused(f"The server does not know {method}.", "unknown_method") from None

    async def updates(self, offset: int | None, kinds: Sequence[str]) -> list[dict[str, Any]]:
        """The updates from `offset` on, once there are any; an empty list after a while without."""
        arguments = {"timeout": self._pace.poll, "allowed_updates": list(kinds)}
        if offset is not None:
            arguments["offset"] = offset
        seconds = self._pace.poll + self._pace.answer
        found = await self.ask(lambda: self.bot.raw("getUpdates", arguments, read_timeout=seconds))
        return cast("list[dict[str, Any]]", found)

    async def fetch(self, path: str) -> bytes:
        """A file below the bot's file URL."""
        return await self.ask(lambda: self._http.fetch(f"{self.bot.base_file_url}/{path}"))

    def _check_free(self, chat_id: int) -> None:
        left = self._free_at.get(chat_id, 0.0) - time.monotonic()
        if left > 0:
            raise ChannelUnavailable("Telegram wants this chat to be left alone for a while.", retry_after=left)
        self._free_at.pop(chat_id, None)

    def _noted(self, chat_id: int, error: ChannelError) -> ChannelError:
        if isinstance(error, ChannelUnavailable) and error.retry_after is not None:
            self._free_at[chat_id] = time.monotonic() + error.retry_after
        return error


class _Bot(Bot):
    """The library's bot, which can also be asked for JSON as it came."""

    async def raw(self, method: str, arguments: dict[str, Any], *, read_timeout: float | None = None) -> Any:
        """Call a method by its name."""
        more: dict[str, Any] = {} if read_timeout is None else {"read_timeout": read_timeout}
        return await self._post(method, arguments, **more)


def meant(error: TelegramError, *, repeatable: bool) -> ChannelError:
    """What a refusal of the library or of Telegram means for whoever called."""
    if isinstance(error, Unanswered):
        if error.sent and not repeatable:
            return DeliveryUnsure(f"{error}; it may have arrived.")
        return ChannelUnavailable(f"{error}.")
    if not isinstance(error, Answered):
        return Refused(f"The call cannot be made: {error}.", "other")
    if error.retry_after is not None:
        return ChannelUnavailable(TOO_MANY, retry_after=float(error.retry_after))
    return _refusal(error, repeatable=repeatable)


_BY_STATUS: Mapping[int, Callable[[Answered], ChannelError]] = {
    401: lambda _: TokenRefused(LOGIN_REFUSED),
    # Also of a malformed token, not only of an unknown method: core.telegram.org/bots/api#making-requests
    404: lambda _: NotThere(LOGIN_REFUSED),
    403: lambda error: Refused(f"Telegram does not let the bot write there: {error.description}.", "blocked"),
    409: lambda error: Conflicting(error.description),
    413: lambda _: Refused("The Bot API server takes nothing of this size.", "file_too_big"),
    429: lambda _: ChannelUnavailable(TOO_MANY, retry_after=1.0),
}


def _refusal(error: Answered, *, repeatable: bool) -> ChannelError:
    if error.status in _BY_STATUS:
        return _BY_STATUS[error.status](error)
    if error.status == 504 and not repeatable:
        return DeliveryUnsure("The Bot API server got no answer in time; it may have arrived.")
    if error.status >= 500:
        return ChannelUnavailable(f"The Bot API server does not work: {error.description}.")
    said = error.description.lower()
    kind = next((kind for words, kind in _WORDS if words in said), _OTHER)
    return Refused(f"Telegram refused it: {error.description.removeprefix('Bad Request: ')}.", kind)
