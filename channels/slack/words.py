"""Chat words without their slash: Slack takes a message that begins with one for a command of its own. Pure."""

from __future__ import annotations

import re

from agent.commands import WORDS

_CARD = re.compile(r"(?:approve|deny|changes)\s+#?[0-9].*", re.IGNORECASE | re.DOTALL)
_CODE = re.compile(r"pair\s+[A-Za-z]{4}-?[A-Za-z]{4}(?:\s.*)?", re.IGNORECASE | re.DOTALL)


def is_word(text: str) -> bool:
    """Whether a text begins with the name of a chat word."""
    return bool(text.split()) and text.split(maxsplit=1)[0].lower() in WORDS


def as_word(text: str) -> str:
    """A message that is nothing but a chat word (`status`, `approve 12`) with its slash; a request as it is, also one
    that begins like a word (`new slides, please`)."""
    meant = (is_word(text) and len(text.split()) == 1) or _CARD.fullmatch(text) or _CODE.fullmatch(text)
    return f"/{text}" if meant else text
