"""Files over HTTP: downloads that no browser runs, uploads that are not larger than allowed."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import PurePosixPath
from urllib.parse import quote

from aiohttp import BodyPartReader, web
from aiohttp.http_exceptions import HttpProcessingError

from agent.artifacts import media_type
from agent.errors import BadInput
from bot.api.artifacts import artifact_file
from bot.api.files import PICTURES, FileRow, plain_name, read_file_bytes, upload
from bot.api.route import Call

_SHOWN = PICTURES | {"text/plain"}
_CHUNK = 64 * 1024


async def content_of_artifact(call: Call) -> web.StreamResponse:
    """The bytes of an artifact, or a range of them."""
    path, artifact = await artifact_file(call.services, call.viewer, call.id("artifact_id"))
    return web.FileResponse(path, headers=headers_of(artifact.name, artifact.media_type))


async def content_of_file(call: Call) -> web.StreamResponse:
    """The bytes of a file of a workspace, read through the guard."""
    path = call.query.path
    content = await read_file_bytes(call.services, call.viewer, call.workspace, path)
    return web.Response(body=content, headers=headers_of(PurePosixPath(path).name, media_type(path)))


def headers_of(name: str, kind: str) -> dict[str, str]:
    """Pictures and plain text are shown by the browser; everything else is saved, whatever it says it is."""
    disposition = "inline" if kind in _SHOWN else "attachment"
    return {
        "Content-Type": f"{kind}; charset=utf-8" if kind.startswith("text/") else kind,
        "Content-Disposition": f"{disposition}; filename*=UTF-8''{quote(name, safe='')}",
        "Content-Security-Policy": "sandbox; default-src 'none'",
        "X-Content-Type-Options": "nosniff",
    }


async def uploaded(call: Call) -> FileRow:
    """Take one file: the body itself, or the field `file` of a form, whose own name counts unless one is given."""
    request, where = call.request, call.query
    limit = call.services.config.bot.http.max_upload
    call.viewer.require("files:write")
    if request.content_type == "multipart/form-data":
        part = await _file_of_form(request)
        name = where.name if where.name is not None else part.filename or ""
        plain_name(name)
        where, chunks = where.model_copy(update={"name": name}), _chunks_of_part(part)
    elif request.content_type == "application/octet-stream":
        plain_name(where.name or "")
        chunks = request.content.iter_chunked(_CHUNK)
    else:
        raise web.HTTPUnsupportedMediaType(text="Send application/octet-stream or multipart/form-data.")
    content = await _limited(chunks, limit, request.content_length or 0)
    return await upload(call.services, call.viewer, call.workspace, where, content)


async def _file_of_form(request: web.Request) -> BodyPartReader:
    try:
        form = await request.multipart()
        while (part := await form.next()) is not None:
            if isinstance(part, BodyPartReader) and part.name == "file":
                return part
    except (ValueError, HttpProcessingError) as error:
        raise web.HTTPBadRequest(text=f"The form cannot be read: {error}.") from None
    raise BadInput("The form has no field `file`.", field="file")


async def _chunks_of_part(part: BodyPartReader) -> AsyncIterator[bytes]:
    try:
        while chunk := await part.read_chunk(_CHUNK):
            yield chunk
    except ValueError as error:
        raise web.HTTPBadRequest(text=f"The form cannot be read: {error}.") from None


async def _limited(chunks: AsyncIterator[bytes], limit: int, declared: int) -> bytes:
    """All of it; HTTP 413 as soon as it is more than `limit`, before it was read if the sender says so."""
    content = bytearray()
    if declared <= limit + _CHUNK:  # a form is somewhat larger than its file
        async for chunk in chunks:
            content += chunk
            if len(content) > limit:
                break
    if len(content) > limit or declared > limit + _CHUNK:
        raise web.HTTPRequestEntityTooLarge(limit, len(content) or declared, text=f"A file has at most {limit} bytes.")
    return bytes(content)
