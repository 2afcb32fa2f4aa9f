"""Tokens and money by day, model or person."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from functools import reduce
from typing import Annotated, Any, Literal
from zoneinfo import ZoneInfo

from pydantic import AfterValidator, AwareDatetime, BeforeValidator

from agent.errors import BadInput
from agent.ports.listings import UsageSelection, UsageSum
from bot.api.shapes import Moment, Parameters, Shown
from bot.api.viewer import Viewer
from bot.services import Services

DAYS = timedelta(days=30)
LONGEST = timedelta(days=400)
"""Tasks and their usage are kept for half a year by default."""
By = Literal["day", "model", "member"]
_NOTHING = UsageSum(calls=0, input_tokens=0, output_tokens=0, cached_tokens=0, cost_usd=Decimal(0), unpriced=0)
_TIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt]")
_FIRST, _LAST = datetime(1970, 1, 1, tzinfo=UTC), datetime(9000, 1, 1, tzinfo=UTC)


def _countable(moment: datetime) -> datetime:
    """Far enough from the ends of the calendar that days can be added and time zones applied."""
    if not _FIRST <= moment <= _LAST:
        raise ValueError("must be a time from 1970 on")
    return moment


def _written(value: Any) -> Any:
    """A bare number would be read as seconds since 1970."""
    if isinstance(value, str) and not _TIME.match(value):
        raise ValueError("write a time like 2026-03-02T09:00:00+01:00")
    return value


When = Annotated[AwareDatetime, BeforeValidator(_written), AfterValidator(_countable)]


class UsageLine(Shown):
    """What the calls of one day, model or person used. `cost_usd` null: the price of no call is known; `unpriced`
    calls are not in it."""

    key: str
    calls: int
    input_tokens: int
    output_tokens: int
    cached_tokens: int
    cost_usd: float | None
    unpriced: int


class UsageReport(Shown):
    """Usage from `since` to before `until`; days are those of the viewer's time zone."""

    by: By
    since: Moment
    until: Moment
    lines: list[UsageLine]
    total: UsageLine


class UsageQuery(Parameters):
    """Which usage; the last thirty days unless said otherwise."""

    by: By = "day"
    since: When | None = None
    until: When | None = None


async def usage(services: Services, viewer: Viewer, wanted: UsageQuery | None = None) -> UsageReport:
    """The usage of the viewer's workspaces; BadInput for a span that is none."""
    viewer.require("usage:read")
    wanted = wanted or UsageQuery()
    until = wanted.until or services.clock.now()
    since = wanted.since or until - DAYS
    if not timedelta(0) <= until - since <= LONGEST:
        raise BadInput(f"since: must be before until, and at most {LONGEST.days} days.", field="since")
    which = UsageSelection(since=since, until=until, workspaces=viewer.workspaces)
    sums = await _sums(services, wanted.by, which, ZoneInfo(viewer.member.timezone))
    lines = [_line(key, one) for key, one in sums.items()]
    total = reduce(_added, sums.values(), _NOTHING)
    return UsageReport(by=wanted.by, since=since, until=until, lines=lines, total=_line("total", total))


async def _sums(services: Services, by: By, which: UsageSelection, zone: ZoneInfo) -> Mapping[str, UsageSum]:
    if by == "day":
        days: dict[str, UsageSum] = {}
        for quarter, one in (await services.store.usage_by_quarter(which)).items():
            day = quarter.astimezone(zone).date().isoformat()
            days[day] = _added(days.get(day, _NOTHING), one)
        return days
    return await services.store.usage_by("model" if by == "model" else "requester", which)


def _added(one: UsageSum, other: UsageSum) -> UsageSum:
    left, right = asdict(one), asdict(other)
    return UsageSum(**{name: left[name] + right[name] for name in left})


def _line(key: str, one: UsageSum) -> UsageLine:
    known = one.unpriced < one.calls or not one.calls
    return UsageLine(
        key=key,
        calls=one.calls,
        input_tokens=one.input_tokens,
        output_tokens=one.output_tokens,
        cached_tokens=one.cached_tokens,
        cost_usd=float(one.cost_usd) if known else None,
        unpriced=one.unpriced,
    )
