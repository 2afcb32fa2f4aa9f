"""What a bot has to remember on disk: its webhook's secrets, and which groups have got another id."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterable
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from agent.errors import ConfigError
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
        self.held = folder / "held"
        """Where messages lie that wait for their other parts."""
        try:
            self._kept = Kept.model_validate_json(self._file.read_bytes())
        except FileNotFoundError:
            self._kept = Kept()
            self._write()
        except (OSError, ValidationError) as error:
            raise ConfigError(f"{self._file} cannot be read ({type(error).__name__}); restore or remove it.") from None

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
        await in_thread(self._write)
        return True

    def _write(self) -> None:
        """Whole or not at all, for the owner's eyes only."""
        self._file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        fresh = self._file.with_suffix(".new")
        descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "w") as file:
            file.write(self._kept.model_dump_json())
            file.flush()
            os.fsync(file.fileno())
        fresh.replace(self._file)
