"""The files of a workspace, as far as people look at them and bring some along."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import PurePosixPath
from typing import Annotated, Literal

from pydantic import Field

from agent.artifacts import media_type
from agent.errors import BadInput, Conflict, NotFound, TargetChanged, ToolError, ToolFailed
from agent.ports.files import FileInfo, WorkspaceFiles
from agent.tool import in_thread
from bot.api import audit
from bot.api.shapes import Moment, Parameters, Shown, Text, YesOrNo
from bot.api.viewer import Viewer
from bot.api.workspaces import opened
from bot.services import Services
from tools.encoding import decode
from tools.sheets.head import ENDINGS, heads

ENTRIES = 5_000
"""What one folder shows."""
TEXT_CHARACTERS = 100_000
PICTURES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
"""What a browser shows as a picture and never runs; SVG can hold script."""
_PREVIEW_BYTES = 20 * 1024 * 1024
_TABLE_SECONDS = 20


class FileRow(Shown):
    """An entry of a folder. `link` and `other` (devices, names that are no text) cannot be opened."""

    name: str
    path: str
    kind: Literal["file", "folder", "link", "other"]
    size_bytes: int
    modified_at: Moment | None


class FolderView(Shown):
    """A folder's entries by name; `cut` when there are more than 5,000."""

    workspace: str
    path: str
    entries: list[FileRow]
    cut: bool


class SheetView(Shown):
    """The first rows of a sheet; `cut` when there is more."""

    sheet: str | None
    rows: list[list[str]]
    row_count: int
    cut: bool


class FilePreview(Shown):
    """A file as it can be shown: its text, its sheets, as a picture (its content is one), or not at all."""

    workspace: str
    path: str
    kind: Literal["text", "table", "picture", "none"]
    media_type: str
    size_bytes: int
    text: str | None = None
    sheets: list[SheetView] | None = None
    cut: bool = False
    reason: str | None = None


class PathQuery(Parameters):
    """A path from the top of the workspace, with `/`."""

    path: Text = ""


class FileQuery(Parameters):
    """The path of a file from the top of the workspace, with `/`."""

    path: Annotated[Text, Field(min_length=1)]


class UploadQuery(Parameters):
    """Where a file goes. `name` is needed when the body is the file itself; `replace` allows one that is there."""

    folder: Text = ""
    name: Text | None = None
    replace: YesOrNo = False


async def list_folder(services: Services, viewer: Viewer, workspace: str, path: str = "") -> FolderView:
    """What lies in a folder; NotFound, BadInput for a path that leaves the workspace."""
    viewer.require("files:read")
    return await in_thread(_listed, opened(services, viewer, workspace), path)


async def preview_file(services: Services, viewer: Viewer, workspace: str, path: str) -> FilePreview:
    """A file as text, table or picture; NotFound."""
    viewer.require("files:read")
    files = opened(services, viewer, workspace)
    info = await in_thread(_file, files, path)
    shown = FilePreview(
        workspace=workspace, path=info.path, kind="none", media_type=media_type(path), size_bytes=info.size_bytes
    )
    try:
        return await _previewed(services, files, shown)
    except ToolError as error:
        return shown.model_copy(update={"reason": str(error)})


async def read_file_bytes(services: Services, viewer: Viewer, workspace: str, path: str) -> bytes:
    """The content of a file; NotFound, also when it vanished."""
    viewer.require("files:read")
    files = opened(services, viewer, workspace)
    await in_thread(_file, files, path)
    with _refused("path"):
        return await in_thread(files.read, path)


async def upload(services: Services, viewer: Viewer, workspace: str, where: UploadQuery, content: bytes) -> FileRow:
    """Put a file into a folder, through the guard and with a row in the audit.

    BadInput for a name with a path in it and for places that are the product's own; Conflict when a file is there
    and `replace` was not asked for.
    """
    viewer.require("files:write")
    files = opened(services, viewer, workspace)
    path = str(PurePosixPath(where.folder) / plain_name(where.name or ""))
    written = await in_thread(_written, files, path, content, replace=where.replace)
    await audit.record(services, viewer, "file_uploaded", f"{workspace}:{written.path}", size_bytes=len(content))
    return written


def plain_name(name: str) -> str:
    """A file's name that a sender gave; BadInput when it is none or has a path in it."""
    if not name.strip():
        raise BadInput("The file needs a name.", field="name")
    if "/" in name or "\\" in name or name in {".", ".."}:
        raise BadInput("The file's name must not have a path in it; give the folder apart.", field="name")
    return name


def _listed(files: WorkspaceFiles, path: str) -> FolderView:
    with _refused("path"):
        info = files.stat(path)
        if info is None or info.kind != "folder":
            raise NotFound("There is no such folder.", field="path")
        rows: list[FileRow] = []
        for entry in files.scan(path, max_depth=1):
            if len(rows) == ENTRIES:
                return FolderView(workspace=files.name, path=info.path, entries=rows, cut=True)
            rows.append(_row(entry))
    return FolderView(workspace=files.name, path=info.path, entries=rows, cut=False)


def _file(files: WorkspaceFiles, path: str) -> FileInfo:
    with _refused("path"):
        info = files.stat(path)
    if info is None or info.kind != "file":
        raise NotFound("There is no such file.", field="path")
    return info


async def _previewed(services: Services, files: WorkspaceFiles, shown: FilePreview) -> FilePreview:
    if shown.media_type in PICTURES:
        return shown.model_copy(update={"kind": "picture"})
    content = await in_thread(files.read, shown.path, limit_bytes=_PREVIEW_BYTES)
    if shown.path.lower().endswith(ENDINGS):
        found = await services.processes.run(heads, shown.path, content, seconds=_TABLE_SECONDS)
        sheets = [SheetView(**head._asdict()) for head in found]
        return shown.model_copy(update={"kind": "table", "sheets": sheets, "cut": any(head.cut for head in found)})
    text = decode(content, shown.path).text
    cut = len(text) > TEXT_CHARACTERS
    return shown.model_copy(update={"kind": "text", "text": text[:TEXT_CHARACTERS], "cut": cut})


def _written(files: WorkspaceFiles, path: str, content: bytes, *, replace: bool) -> FileRow:
    with _refused("folder" if "/" in path else "name"):
        standing = files.sha256(path)
        if standing is not None and not replace:
            raise Conflict("There is a file of this name already; ask for `replace` to replace it.", code="exists")
        files.write(path, content, expected=standing)
        info = files.stat(path)
    if info is None:
        raise NotFound("The file vanished as soon as it was there.")
    return _row(info)


def _row(info: FileInfo) -> FileRow:
    modified_at = datetime.fromtimestamp(info.modified_ns / 1e9, UTC) if info.modified_ns else None
    return FileRow(
        name=info.path.rpartition("/")[2],
        path=info.path,
        kind=info.kind,
        size_bytes=info.size_bytes,
        modified_at=modified_at,
    )


@contextmanager
def _refused(field: str) -> Iterator[None]:
    """What the guard tells a tool, told to a person."""
    try:
        yield
    except ToolFailed as error:
        raise BadInput(str(error), field=field) from None
    except TargetChanged as error:
        raise Conflict(str(error), code="changed") from None
