"""What a form of a page sent: fields, and files that together are not larger than allowed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from aiohttp import BodyPartReader, web
from aiohttp.http_exceptions import HttpProcessingError

from agent.domain import IncomingFile

FIELD_BYTES = 256 * 1024
"""What one field may hold; the longest is a request of 40,000 characters."""
_CHUNK = 64 * 1024


@dataclass(frozen=True, kw_only=True, slots=True)
class Form:
    """Fields by name (the last of a name counts) and the files that were really chosen."""

    fields: Mapping[str, str] = field(default_factory=dict)
    files: tuple[IncomingFile, ...] = ()

    def text(self, name: str) -> str:
        """A field, with the line ends that a text in a program has; empty when it was not sent."""
        return self.fields.get(name, "").replace("\r\n", "\n")


async def read_form(request: web.Request, max_upload: int) -> Form:
    """The form of a request; HTTP 400 when it cannot be read, 413 when it is too large."""
    if request.content_type != "multipart/form-data":
        return Form(fields={name: str(value) for name, value in (await request.post()).items()})
    if (request.content_length or 0) > max_upload + FIELD_BYTES:
        raise _too_large(max_upload)
    try:
        return await _read_parts(request, max_upload)
    except (ValueError, HttpProcessingError) as error:
        raise web.HTTPBadRequest(text=f"The form cannot be read: {error}.") from None


async def _read_parts(request: web.Request, max_upload: int) -> Form:
    fields: dict[str, str] = {}
    files: list[IncomingFile] = []
    left = max_upload
    form = await request.multipart()
    while (part := await form.next()) is not None:
        if not isinstance(part, BodyPartReader) or part.name is None:
            continue
        if part.filename is None:
            fields[part.name] = (await _content(part, FIELD_BYTES, FIELD_BYTES)).decode()
            continue
        content = await _content(part, left, max_upload)
        left -= len(content)
        if part.filename:
            files.append(IncomingFile(name=part.filename, content=content))
    return Form(fields=fields, files=tuple(files))


async def _content(part: BodyPartReader, left: int, limit: int) -> bytes:
    content = bytearray()
    while chunk := await part.read_chunk(_CHUNK):
        content += chunk
        if len(content) > left:
            raise _too_large(limit)
    return bytes(content)


def _too_large(limit: int) -> web.HTTPRequestEntityTooLarge:
    text = f"That is too large: at most {limit // 2**20 or 1} MiB can be sent at once."
    return web.HTTPRequestEntityTooLarge(limit, text=text)
