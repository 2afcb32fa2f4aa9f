"""What a bot has to remember on disk: its webhook's secrets, and which groups have got another id."""

from __future__ import annotations

import asyncio
import os
import secrets
import tempfile
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from agent.errors import ConfigError, StorageError
from agent.tool import in_thread


class Kept(BaseModel):
    """The file. `moved`: by a group's id now, the one it had first."""

    model_config = ConfigDict(extra="forbid")

    path: str = Field(default_factory=lambda: secrets.token_urlsafe(24))
    secret_token: str = Field(default_factory=lambda: secrets.token_urlsafe(32))
    moved: dict[int, int] = {}


class BotState:
    """The state of one bot, in a folder of its own.

    A group gets another id when it becomes a supergroup. Here it is called by its first one for ever, so that
    sessions, cards, schedules and the configuration go on; only what goes to Telegram names the id of now.
    """

    def __init__(self, folder: Path) -> None:
        self._file = folder / "state.json"
        self._writing = asyncio.Lock()
        self.held = folder / "held"
        """Where messages lie that wait for their other parts."""
        try:
            self._kept = self._read()
        except FileNotFoundError:
            self._make()
            self._kept = self._read()

    @property
    def path(self) -> str:
        """The last part of the webhook's URL, which nobody else knows."""
        return self._kept.path

    @property
    def secret_token(self) -> str:
        """What Telegram sends along with every update (1-256 characters of A-Z a-z 0-9 _ -:
        core.telegram.org/bots/api#setwebhook)."""
        return self._kept.secret_token

    def conversation(self, chat_id: int) -> str:
        """What a chat is called in addresses."""
        return str(self._kept.moved.get(chat_id, chat_id))

    def chat_id(self, conversation: str) -> int:
        """The id that Telegram knows a conversation by now."""
        first = int(conversation)
        return next((now for now, before in reversed(self._kept.moved.items()) if before == first), first)

    def message_name(self, chat_id: int, message_id: int) -> str:
        """What a message is written down as. When a group moves they begin anew with 1, so those of later chats carry
        its id."""
        is_first = str(chat_id) == self.conversation(chat_id)
        return str(message_id) if is_first else f"{message_id}@{chat_id}"

    def message_id(self, conversation: str, name: str) -> int | None:
        """Its id; None when it was left behind in the group as it was before it moved."""
        message_id, _, chat_id = name.partition("@")
        return int(message_id) if (chat_id or conversation) == str(self.chat_id(conversation)) else None

    def names(self, ids: Iterable[str]) -> frozenset[str]:
        """Ids as somebody wrote them, and what those groups are called in addresses."""
        written = frozenset(ids)
        return written | {self.conversation(int(one)) for one in written if one != "*"}

    async def moved(self, before: int, now: int) -> bool:
        """Note that a group has another id; False when that was known."""
        first = self._kept.moved.get(before, before)
        if self._kept.moved.get(now) == first:
            return False
        self._kept.moved[now] = first
        try:
            async with self._writing:
                await in_thread(self._keep)
        except StorageError:  # it comes again
            del self._kept.moved[now]
            raise
        return True

    async def reload(self) -> None:
        """Learn what another process of the bot has noted meanwhile."""
        async with self._writing:
            await in_thread(self._merge)

    def _keep(self) -> None:
        try:
            self._merge()
            self._write().replace(self._file)
        except OSError as error:
            raise StorageError(f"{self._file} cannot be written ({error.strerror}).") from None

    def _merge(self) -> None:
        try:
            noted = self._read().moved
        except FileNotFoundError:
            return
        except ConfigError as error:
            raise StorageError(str(error)) from None
        self._kept.moved = {**noted, **self._kept.moved}

    def _read(self) -> Kept:
        try:
            return Kept.model_validate_json(self._file.read_bytes())
        except FileNotFoundError:
            raise
        except (OSError, ValidationError) as error:
            raise ConfigError(f"{self._file} cannot be read ({type(error).__name__}); restore or remove it.") from None

    def _make(self) -> None:
        """The first process that gets there makes it, for all."""
        self._kept = Kept()
        fresh = self._write()
        with suppress(FileExistsError):
            os.link(fresh, self._file)
        fresh.unlink()

    def _write(self) -> Path:
        """A file that is whole, for the owner's eyes only, and not in its place yet."""
        self._file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        descriptor, name = tempfile.mkstemp(suffix=".new", dir=self._file.parent)
        with os.fdopen(descriptor, "w") as file:
            file.write(self._kept.model_dump_json())
            file.flush()
            os.fsync(file.fileno())
        return Path(name)
