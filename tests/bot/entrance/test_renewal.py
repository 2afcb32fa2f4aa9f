"""When a browser's secret changes, and how long the old one holds: pure."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from agent.ports.access import BrowserSession
from bot.api.access import IDLE, OVERLAP, ROTATION, SEEN, browser_is_live, renewed
from tests.clock import START

TICK = timedelta(microseconds=1)
FRESH = BrowserSession(browser_id=1, member="Ann", sha256="current", csrf_token="c", seen_at=START, rotated_at=START)
ROTATED = replace(FRESH, previous_sha256="previous")
SHOWN = replace(ROTATED, previous_until=START + OVERLAP)


@pytest.mark.parametrize(
    ("session", "digest", "after", "live"),
    [
        (FRESH, "current", IDLE - TICK, True),
        (FRESH, "current", IDLE, False),
        (ROTATED, "previous", IDLE - TICK, True),
        (SHOWN, "previous", OVERLAP - TICK, True),
        (SHOWN, "previous", OVERLAP, False),
        (SHOWN, "current", OVERLAP, True),
    ],
)
def test_how_long_a_secret_holds(session: BrowserSession, digest: str, after: timedelta, live: bool) -> None:
    """The current one while the browser comes by; the previous one until the new one was shown, and a minute more."""
    assert browser_is_live(session, digest, START + after) is live


@pytest.mark.parametrize(
    ("session", "digest", "after", "changes"),
    [
        (FRESH, "current", SEEN - TICK, None),
        (FRESH, "current", SEEN, {}),
        (FRESH, "current", ROTATION, {"sha256": "new", "previous_sha256": "current", "rotated": True}),
        (ROTATED, "current", TICK, {"previous_until": TICK + OVERLAP}),
        (SHOWN, "current", TICK, None),
        (SHOWN, "current", ROTATION, {"sha256": "new", "previous_sha256": "current", "rotated": True}),
        (ROTATED, "previous", OVERLAP - TICK, None),
        (ROTATED, "previous", OVERLAP, {"sha256": "new", "rotated": True}),
        (SHOWN, "previous", TICK, None),
    ],
)
def test_what_a_request_changes(
    session: BrowserSession, digest: str, after: timedelta, changes: dict[str, object] | None
) -> None:
    """Nothing most of the time; else the session was seen, and what is listed."""
    now = START + after
    found = renewed(session, digest, "new", now)
    if changes is None:
        assert found is None
        return
    until = changes.get("previous_until")
    expected = replace(
        session,
        seen_at=now,
        sha256=str(changes.get("sha256", session.sha256)),
        previous_sha256=changes.get("previous_sha256", session.previous_sha256),  # type: ignore[arg-type]
        previous_until=START + until if isinstance(until, timedelta) else None,
        rotated_at=now if changes.get("rotated") else session.rotated_at,
    )
    assert found == expected
