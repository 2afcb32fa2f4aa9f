"""Time zones as people write them in the configuration."""

from __future__ import annotations

from typing import Annotated
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import AfterValidator


def zone_name(name: str) -> str:
    """The name of an IANA time zone, checked; ValueError says how one is written."""
    try:
        ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise ValueError(f"{name!r} is no IANA time zone; write one like Europe/Berlin") from None
    return name


Zone = Annotated[str, AfterValidator(zone_name)]
"""A settings field that names a time zone."""
