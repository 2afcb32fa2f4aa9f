"""Pictures that came with a request, for models that see."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from agent.errors import ToolError
from agent.ports.files import WorkspaceFiles

MOST = 8
"""Pictures of one request."""
MOST_BYTES = 5 * 2**20
"""Of one picture: what Anthropic takes at most, OpenAI takes more
(https://docs.claude.com/en/docs/build-with-claude/vision)."""
_KINDS = {".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".gif": "image/gif", ".webp": "image/webp"}
_STARTS = {b"\x89PNG\r\n\x1a\n": "image/png", b"\xff\xd8\xff": "image/jpeg", b"GIF8": "image/gif"}
UNSEEN = "[This model cannot see pictures ({names}); they lie in the workspace. Say so in the answer.]"
NOT_SHOWN = "[Not shown to you: {names}; a picture has at most 5 MiB, a request at most 8 of them.]"


@dataclass(frozen=True, kw_only=True, slots=True)
class Pictures:
    """What a request's message carries beside its text: data URLs, and a note on what is not among them."""

    urls: tuple[str, ...] = ()
    note: str = ""


def pictures_of(files: WorkspaceFiles, paths: Sequence[str], *, seen: bool) -> Pictures:
    """The pictures among the files of a request; blocking. `seen`: whether the model takes pictures."""
    named = [path for path in paths if _kind(path) is not None]
    if not named:
        return Pictures()
    if not seen:
        return Pictures(note=UNSEEN.format(names=", ".join(named)))
    urls = {path: url for path in named[:MOST] if (url := _url(files, path)) is not None}
    left = [path for path in named if path not in urls]
    return Pictures(urls=tuple(urls.values()), note=NOT_SHOWN.format(names=", ".join(left)) if left else "")


def with_pictures(message: dict[str, Any], pictures: Pictures) -> dict[str, Any]:
    """A user message in the OpenAI chat format with pictures behind its text
    (https://platform.openai.com/docs/guides/images-vision)."""
    text = "\n\n".join(filter(None, (message["content"], pictures.note)))
    if not pictures.urls:
        return {**message, "content": text}
    parts = [{"type": "image_url", "image_url": {"url": url}} for url in pictures.urls]
    return {**message, "content": [{"type": "text", "text": text}, *parts]}


def _kind(path: str) -> str | None:
    _, dot, ending = path.rpartition(".")
    return _KINDS.get(f".{ending.lower()}") if dot else None


def _url(files: WorkspaceFiles, path: str) -> str | None:
    """None for what is too large, or no picture whatever its name says."""
    try:
        content = files.read(path, limit_bytes=MOST_BYTES)
    except ToolError:
        return None
    kind = next((kind for start, kind in _STARTS.items() if content.startswith(start)), None)
    if kind is None and content[:4] == b"RIFF" and content[8:12] == b"WEBP":
        kind = "image/webp"
    return f"data:{kind};base64,{b64encode(content).decode()}" if kind else None
