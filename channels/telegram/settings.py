"""`channels.telegram` of the configuration, and how long things take; needs no SDK."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, Field, SecretStr, model_validator

from channels.admission import ChatSettings


def _token(token: SecretStr) -> SecretStr:
    # core.telegram.org/bots/api#authorizing-your-bot
    bot_id, _, key = token.get_secret_value().partition(":")
    if not bot_id.isdecimal() or not key:
        raise ValueError("this is no token of @BotFather, which looks like 123456:ABC-DEF1234ghIkl")
    return token


def _address(url: str) -> str:
    return url.rstrip("/")


Token = Annotated[SecretStr, AfterValidator(_token)]
Groups = Literal["mention", "reply", "all"]
Url = Annotated[str, Field(pattern=r"^https?://[^\s?#]+$"), AfterValidator(_address)]


class TelegramSettings(ChatSettings):
    """`mode` polling asks Telegram for updates; webhook has it post them to `bot.http.public_url`.

    `groups`: what is heard in a group, namely messages that name the bot, also replies to what it said, or everything.
    `base_url` and `base_file_url`, to which the token is added, may name a self-hosted Bot API server.
    """

    token: Token | None = None
    mode: Literal["polling", "webhook"] = "polling"
    groups: Groups = "mention"
    base_url: Url = "https://api.telegram.org/bot"
    base_file_url: Url = "https://api.telegram.org/file/bot"

    @model_validator(mode="before")
    @classmethod
    def _unused(cls, values: Any) -> Any:
        """The token of a channel that is off may be a reference to nothing."""
        if isinstance(values, dict) and not values.get("enabled"):
            return {key: value for key, value in values.items() if key != "token"}
        return values

    @model_validator(mode="after")
    def _complete(self) -> Self:
        if self.enabled and self.token is None:
            raise ValueError("a token is needed: ask @BotFather for one and write token: ${TELEGRAM_BOT_TOKEN}")
        return self

    @property
    def secret(self) -> str:
        """The token as it is sent; empty where there is none."""
        return self.token.get_secret_value() if self.token else ""

    @property
    def bot_id(self) -> str:
        """Whose token it is."""
        return self.secret.partition(":")[0]


@dataclass(frozen=True, kw_only=True, slots=True)
class Pace:
    """How long things take, in seconds. `quiet`: how long the rest of an album or of a long text is waited for;
    `rest`: the same after a crash, when it has to be asked for first."""

    poll: int = 25
    answer: float = 20.0
    connect: float = 10.0
    upload: float = 300.0
    quiet: float = 1.0
    rest: float = 5.0
    lease: float = 45.0
    pause: float = 1.0
    longest_pause: float = 30.0
    conflict: float = 60.0
    refused: float = 300.0
