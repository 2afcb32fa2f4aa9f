"""What every chat platform can be told about who may write there."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from channels.admission import ChatSettings


def test_nobody_is_let_in_by_default() -> None:
    """It is off, and when it is on it hears those we know."""
    settings = ChatSettings()
    assert (settings.enabled, settings.allow) == (False, ())


def test_ids_may_be_numbers() -> None:
    """As Telegram's are."""
    settings = ChatSettings.model_validate({"allow": ["C012AB3CD", -1001234567890, "*"]})
    assert settings.allow == ("C012AB3CD", "-1001234567890", "*")


@pytest.mark.parametrize("wrong", [{"allow": ["@ann"]}, {"allow": "*"}, {"alow": []}])
def test_what_is_not_understood_is_refused(wrong: dict[str, object]) -> None:
    """A name is no id, a single text no list, and a misspelt key would let nobody in."""
    with pytest.raises(ValidationError):
        ChatSettings.model_validate(wrong)
