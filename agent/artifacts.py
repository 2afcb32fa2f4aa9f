"""Files that a task made: what they are called and what they are."""

from __future__ import annotations

import hashlib
import mimetypes
from pathlib import PurePosixPath

from agent.ports.store import NewArtifact

_MEDIA_TYPES = {
    ".md": "text/markdown",
    ".csv": "text/csv",
    ".xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    ".docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    ".pptx": "application/vnd.openxmlformats-officedocument.presentationml.presentation",
}
"""Types that a slim system's table lacks or names otherwise."""


def media_type(path: str) -> str:
    """The media type by the file's ending."""
    suffix = PurePosixPath(path).suffix.lower()
    return _MEDIA_TYPES.get(suffix) or mimetypes.guess_type(path)[0] or "application/octet-stream"


def describe(path: str, content: bytes) -> NewArtifact:
    """The row of a file that was just made."""
    return NewArtifact(
        name=PurePosixPath(path).name,
        path=path,
        media_type=media_type(path),
        size_bytes=len(content),
        sha256=hashlib.sha256(content).hexdigest(),
    )
