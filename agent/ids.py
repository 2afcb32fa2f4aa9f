"""How large an id can be, for every way in."""

from __future__ import annotations

import re

ID = r"[0-9]{1,15}"
"""An id as people and programs write it."""
MAX_ID = 10**15 - 1
"""All of fifteen digits: below the 2**53 up to which every JSON parser keeps a number exact (RFC 8259, section 6)."""


def written_id(text: str) -> int | None:
    """The id that stands there; None when it is none."""
    return int(text) if re.fullmatch(ID, text) else None
