"""Values survive the way into a column and back."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import create_engine

from agent.domain import Address
from storage.columns import Json, Prose, Usd, UtcTime

DIALECT = create_engine("sqlite://").dialect
ZONES = st.integers(-840, 840).map(lambda minutes: timezone(timedelta(minutes=minutes)))


@given(st.datetimes(datetime(1900, 1, 1), datetime(9000, 1, 1), timezones=ZONES))  # noqa: DTZ001
def test_a_time_keeps_its_microsecond(time: datetime) -> None:
    """Whatever zone it came in, it comes back as the same instant, in UTC."""
    stored = UtcTime().process_bind_param(time, DIALECT)
    back = UtcTime().process_result_value(stored, DIALECT)
    assert back == time
    assert back is not None
    assert back.tzinfo is UTC


@given(st.decimals(0, 1_000_000, places=12))
def test_money_keeps_its_last_digit(cost: Decimal) -> None:
    """Twelve digits after the point: six of a price, six of a million tokens."""
    assert Usd().process_result_value(Usd().process_bind_param(cost, DIALECT), DIALECT) == cost


def test_json_takes_the_domains_records() -> None:
    """Dataclasses become objects; a NUL is an escape and needs no care."""
    stored = Json().process_bind_param((Address(channel="a", conversation="\x00"),), DIALECT)
    assert stored == '[{"channel":"a","conversation":"\\u0000","thread":null}]'
    assert Json().process_result_value(stored, DIALECT) == [{"channel": "a", "conversation": "\x00", "thread": None}]


@pytest.mark.parametrize("column", [UtcTime(), Usd(), Json()])
def test_nothing_stays_nothing(column: UtcTime | Usd | Json) -> None:
    """None is NULL in every column."""
    assert column.process_bind_param(None, DIALECT) is None
    assert column.process_result_value(None, DIALECT) is None


@pytest.mark.parametrize(
    ("text", "stored"),
    [(None, None), ("", ""), ("a\x00b", "a\N{REPLACEMENT CHARACTER}b"), ("Grüße 你好", "Grüße 你好")],
)
def test_prose_has_no_nul(text: str | None, stored: str | None) -> None:
    """PostgreSQL would refuse the whole row for it."""
    assert Prose().process_bind_param(text, DIALECT) == stored
