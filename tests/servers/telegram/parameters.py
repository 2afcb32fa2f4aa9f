"""The parameters of a call, whichever way they came: JSON, a form, or a form with files."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from aiohttp import web

from tests.servers.telegram.refusal import bad_request


@dataclass(frozen=True)
class Upload:
    """A file in the form."""

    name: str
    content: bytes
    mime_type: str


class Parameters:
    """Typed access to them, refusing as Telegram does."""

    def __init__(self, values: dict[str, Any], uploads: dict[str, Upload]) -> None:
        self.values = values
        self.uploads = uploads

    def text(self, name: str, default: str = "") -> str:
        value = self.values.get(name)
        if value is None:
            return default
        if not isinstance(value, str):
            raise bad_request(f'field "{name}" must be of type String')
        return value

    def integer(self, name: str, default: int | None = None) -> int | None:
        value = self.values.get(name)
        if value is None:
            return default
        try:
            return int(value)
        except (TypeError, ValueError):
            raise bad_request(f'field "{name}" must be a Number') from None

    def number(self, name: str) -> int:
        value = self.integer(name)
        if value is None:
            raise bad_request(f'parameter "{name}" is required')
        return value

    def flag(self, name: str) -> bool:
        value = self.values.get(name)
        return value is True or str(value).lower() in {"true", "1", "yes"}

    def given(self, name: str) -> bool:
        return name in self.values or name in self.uploads

    def json(self, name: str) -> Any:
        """A list or an object; None when it is not given."""
        value = self.values.get(name)
        if not isinstance(value, str):
            return value
        try:
            return json.loads(value)
        except ValueError:
            raise bad_request(f"can't parse {name} JSON object") from None

    def file(self, reference: str) -> Upload | None:
        """An uploaded file by its field, or by `attach://` and the field."""
        name = reference.removeprefix("attach://")
        return self.uploads.get(name)


async def read(request: web.Request) -> Parameters:
    """The parameters of a request (core.telegram.org/bots/api#making-requests)."""
    values: dict[str, Any] = dict(request.query)
    uploads: dict[str, Upload] = {}
    if request.content_type == "application/json":
        values |= await request.json()
    elif request.content_type.startswith(("multipart/", "application/x-www-form-urlencoded")):
        for name, value in (await request.post()).items():
            if isinstance(value, web.FileField):
                uploads[name] = Upload(value.filename, value.file.read(), value.content_type)
            else:
                values[name] = value
    return Parameters(values, uploads)
