"""The stable ids by which chat platforms know people and conversations; never names, which anybody can take."""

from __future__ import annotations

import re
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator


def _written(value: Any) -> Any:
    """YAML reads 4242 as a number."""
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


def _like(pattern: str, hint: str) -> AfterValidator:
    def checked(text: str) -> str:
        if not re.fullmatch(pattern, text):
            raise ValueError(f"{text!r} is no id: {hint}")
        return text

    return AfterValidator(checked)


PlatformId = Annotated[
    str,
    BeforeValidator(_written),
    _like(r"\*|-?[A-Z0-9]{1,64}", "use the platform's id, such as C012AB3CD or -1001234567890, or '*' for everybody"),
]
"""Of a person or a conversation on any platform, or `*`."""
SlackMember = Annotated[
    str,
    BeforeValidator(_written),
    _like(r"[UW][A-Z0-9]{1,32}", "a member's begins with U or W; Slack shows it in the profile under 'Copy member ID'"),
]
TelegramUser = Annotated[
    str,
    BeforeValidator(_written),
    _like(r"[1-9][0-9]{0,15}", "a user's is a number such as 4242; the code that a stranger is shown links it, too"),
]
