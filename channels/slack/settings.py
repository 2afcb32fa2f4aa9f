"""What config.yaml says of Slack."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, SecretStr, model_validator

from channels.admission import ChatSettings

API_URL = "https://slack.com/api/"


class SlackSettings(ChatSettings):
    """`mode` socket connects to Slack and needs `app_token`; http is called by Slack at `/channels/slack/events` and
    needs `signing_secret`.

    `allow`: who is let in without being known: people, everybody of a conversation, everybody of another company that
    shares a channel (its T…), another app's bot; `*` for everybody of the own company. `groups`: what is listened to in
    channels: what is addressed to the bot, also the further messages of threads it takes part in, or all.
    """

    bot_token: SecretStr = SecretStr("")
    app_token: SecretStr = SecretStr("")
    signing_secret: SecretStr = SecretStr("")
    mode: Literal["socket", "http"] = "socket"
    base_url: Annotated[str, Field(pattern=r"^https?://[^\s?#]+$")] = API_URL
    groups: Literal["mention", "thread", "all"] = "mention"

    @model_validator(mode="after")
    def _has_what_its_mode_needs(self) -> Self:
        needed = ("bot_token", "app_token" if self.mode == "socket" else "signing_secret")
        for name in needed if self.enabled else ():
            if not getattr(self, name).get_secret_value().strip():
                raise ValueError(f"mode {self.mode} needs {name}; write ${{SLACK_{name.upper()}}} and set it in .env")
        return self
