"""What the shapes of the API are made of."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Annotated, Any, TypeVar

from pydantic import (
    AfterValidator,
    AwareDatetime,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    ValidationError,
    WithJsonSchema,
)

from agent.ids import MAX_ID
from agent.json_body import refusal

M = TypeVar("M", bound=BaseModel)

PAGE_SIZE = 50
_WHOLE = re.compile(r"-?[0-9]{1,16}")


class Shown(BaseModel):
    """Something the API answers with."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Body(BaseModel):
    """Something the API is sent as JSON: unknown names are refused, values are not coerced."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class Parameters(BaseModel):
    """Something the API is sent in the query or the headers, where every value is a text."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)


def _whole(value: Any) -> Any:
    """Python would also take ` 1_0 ` for a number."""
    if isinstance(value, str) and not _WHOLE.fullmatch(value):
        raise ValueError("write a whole number")
    return value


def _yes_or_no(value: Any) -> Any:
    if isinstance(value, str):
        if value not in {"true", "false"}:
            raise ValueError("write true or false")
        return value == "true"
    return value


def _storable(text: str) -> str:
    """PostgreSQL's text type has no NUL, and no database a lone surrogate."""
    if "\0" in text:
        raise ValueError("must not contain a NUL character")
    if any("\ud800" <= character <= "\udfff" for character in text):
        raise ValueError("must be whole characters")
    return text


Moment = Annotated[
    AwareDatetime,
    PlainSerializer(datetime.isoformat, return_type=str),
    WithJsonSchema({"type": "string", "format": "date-time"}, mode="serialization"),
]
"""A time, written with its offset: 2026-03-02T09:00:00+00:00."""
Text = Annotated[str, AfterValidator(_storable)]
Id = Annotated[int, Field(ge=1, le=MAX_ID)]
YesOrNo = Annotated[bool, BeforeValidator(_yes_or_no)]
PageSize = Annotated[int, Field(ge=1, le=100), BeforeValidator(_whole)]
WrittenId = Annotated[int, Field(ge=1, le=MAX_ID), BeforeValidator(_whole)]
Seq = Annotated[int, Field(ge=0, le=MAX_ID), BeforeValidator(_whole)]
"""A place in a journal; 0 is before its first row."""


class Page(Parameters):
    """Which part of a list: `before` is the `next` of the page before."""

    page_size: PageSize = PAGE_SIZE
    before: WrittenId | None = None


class Problem(Shown):
    """What was wrong, and with which field."""

    code: str
    message: str
    field: str | None = None


class Refusal(Shown):
    """The answer to whatever could not be done."""

    error: Problem


def filled(model: type[M], **values: Any) -> M:
    """A model of what a person typed; BadInput names the field that does not fit."""
    try:
        return model.model_validate(values)
    except ValidationError as error:
        raise refusal(error) from None


def next_page(ids: list[int], page_size: int) -> int | None:
    """Where the list goes on after these; None when a page is not full, so that nothing follows."""
    return ids[-1] if len(ids) == page_size else None
