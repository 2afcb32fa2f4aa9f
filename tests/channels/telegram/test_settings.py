"""`channels.telegram` in config.yaml."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from agent.errors import ConfigError
from bot.config import Config, load_config

TOKEN = "123456:AAH-secret-of-a-test"
REFERENCE = "${TELEGRAM_BOT_TOKEN}"


def loaded(folder: Path, telegram: dict[str, Any], *, token: str | None = TOKEN, **bot: Any) -> Config:
    path = folder / "config.yaml"
    path.write_text(json.dumps({"bot": bot, "channels": {"telegram": telegram}}))
    return load_config(path, {} if token is None else {"TELEGRAM_BOT_TOKEN": token})


def test_it_is_off_by_default(tmp_path: Path) -> None:
    """And its token is not needed then."""
    config = loaded(tmp_path, {"token": REFERENCE}, token=None)
    assert not config.channels.telegram.enabled
    assert "telegram" not in config.channels.enabled()


def test_it_is_on_with_a_token(tmp_path: Path) -> None:
    """Which is hidden from the log; ids may be numbers."""
    config = loaded(tmp_path, {"enabled": True, "token": REFERENCE, "allow": [4242, -1001234567890]})
    assert config.channels.telegram.bot_id == "123456"
    assert config.channels.telegram.allow == ("4242", "-1001234567890")
    assert TOKEN in config.secrets()
    assert TOKEN not in repr(config)


@pytest.mark.parametrize(
    ("telegram", "token", "refusal"),
    [
        ({"enabled": True}, TOKEN, "a token is needed: ask @BotFather"),
        ({"enabled": True, "token": REFERENCE}, None, "channels.telegram.token: TELEGRAM_BOT_TOKEN is not set"),
        ({"enabled": True, "token": TOKEN}, TOKEN, "channels.telegram.token: a secret is read from the environment"),
        ({"enabled": True, "token": REFERENCE}, "AAH-half", "channels.telegram.token: this is no token of @BotFather"),
        ({"enabled": True, "token": REFERENCE, "groups": "thread"}, TOKEN, "channels.telegram.groups"),
        ({"enabled": True, "token": REFERENCE, "base_url": "telegram"}, TOKEN, "channels.telegram.base_url"),
        ({"enabled": True, "token": REFERENCE, "allow": ["@ann"]}, TOKEN, "channels.telegram.allow.0: '@ann' is no id"),
        ({"enabled": True, "token": REFERENCE, "mode": "webhook"}, TOKEN, "a webhook needs bot.http.public_url"),
        ({"enabled": True, "tokens": REFERENCE}, TOKEN, "channels.telegram.tokens"),
    ],
)
def test_what_cannot_be_used(tmp_path: Path, telegram: dict[str, Any], token: str | None, refusal: str) -> None:
    """Is refused at the start in one line, with its path and without the token."""
    with pytest.raises(ConfigError) as error:
        loaded(tmp_path, telegram, token=token)
    assert refusal in str(error.value)
    assert "secret-of-a-test" not in str(error.value)
    assert "AAH-half" not in str(error.value)


def test_a_webhook_needs_an_address(tmp_path: Path) -> None:
    """TGU-11: its secrets are made by themselves, so there is no way to be without them."""
    telegram = {"enabled": True, "token": REFERENCE, "mode": "webhook"}
    config = loaded(tmp_path, telegram, http={"public_url": "http://127.0.0.1:8080"})
    assert config.channels.telegram.mode == "webhook"
