"""How times, JSON, money and free text are kept, the same on both engines."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import orjson
from sqlalchemy import BigInteger, ColumnElement, Dialect, Integer, Text, bindparam, cast, extract, func
from sqlalchemy.types import TypeDecorator

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)
PICODOLLARS = Decimal(10**12)
Id = BigInteger().with_variant(Integer(), "sqlite")
"""SQLite numbers rows by itself only when the type is INTEGER to the letter."""
SERVER_CLOCK = cast(extract("epoch", func.clock_timestamp()) * 1_000_000, BigInteger)
"""PostgreSQL's own time, in the form of UtcTime; the clocks of several machines differ, a lease must not."""


class UtcTime(TypeDecorator[datetime]):
    """An aware time as microseconds since 1970: exact, and comparable in SQL on both engines."""

    impl = BigInteger
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> int | None:
        return None if value is None else (value - EPOCH) // MICROSECOND

    def process_result_value(self, value: int | None, dialect: Dialect) -> datetime | None:
        return None if value is None else EPOCH + timedelta(microseconds=value)


def lease_clock(dialect: str) -> ColumnElement[int]:
    """What leases are measured by: PostgreSQL's own time, else the parameter `now`, because SQLite has one process, and
    tests that turn its clock."""
    return SERVER_CLOCK if dialect == "postgresql" else cast(bindparam("now", type_=UtcTime), BigInteger)


class Usd(TypeDecorator[Decimal]):
    """Money as a whole number of 10^-12 dollars, so that SQL adds it up exactly.

    A price has at most six digits per million tokens; a BIGINT holds nine million dollars of them.
    """

    impl = BigInteger
    cache_ok = True

    def process_bind_param(self, value: Decimal | None, dialect: Dialect) -> int | None:
        return None if value is None else int((value * PICODOLLARS).to_integral_value())

    def process_result_value(self, value: int | Decimal | None, dialect: Dialect) -> Decimal | None:
        return None if value is None else Decimal(value) / PICODOLLARS


class Damaged(tuple[Any, ...]):
    """Stands for JSON that cannot be read: an empty sequence, so that one damaged row does not hide all others."""

    __slots__ = ()


class Json(TypeDecorator[Any]):
    """JSON as text; dataclasses go in as objects and come out as dicts. None is NULL."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: Any, dialect: Dialect) -> str | None:
        return None if value is None else orjson.dumps(value).decode()

    def process_result_value(self, value: str | None, dialect: Dialect) -> Any:
        try:
            return None if value is None else orjson.loads(value)
        except orjson.JSONDecodeError:
            return Damaged()


class Prose(TypeDecorator[str]):
    """Text that somebody else wrote. PostgreSQL takes no NUL in a text, so it becomes U+FFFD."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:
        return value.replace("\x00", "\N{REPLACEMENT CHARACTER}") if value else value
