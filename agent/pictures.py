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
"""Of one picture; Anthropic takes 10 MiB of Base64 (https://github.com/kolega-ai/kolega-code/pull/354)."""
ALL_BYTES = 20 * 2**20
"""Of all of them: Anthropic takes 32 MB a request, Base64 makes four bytes of three
(https://platform.claude.com/docs/en/build-with-claude/vision)."""
TOKENS = 1_600
"""What a picture costs about (the same page), where a provider does not count."""
UNSEEN = "[You cannot see the pictures of this request; they lie in the workspace. Say so in the answer.]"
NOT_SHOWN = (
    "[Not shown to you: {names}. At most 8 pictures are, each a PNG, JPEG, GIF or WebP of at most 5 MiB, 20 MiB in "
    "all. Say so in the answer.]"
)
_ENDINGS = (".png", ".jpg", ".jpeg", ".gif", ".webp")
_STARTS = {b"\x89PNG\r\n\x1a\n": "image/png", b"\xff\xd8\xff": "image/jpeg", b"GIF8": "image/gif"}


@dataclass(frozen=True, kw_only=True, slots=True)
class Pictures:
    """What a request's message carries beside its text: data URLs, and a note on what is not among them."""

    urls: tuple[str, ...] = ()
    note: str = ""


def is_named_picture(path: str) -> bool:
    """Whether a file says that it is a picture of a kind that models take."""
    return path.lower().endswith(_ENDINGS)


def pictures_of(files: WorkspaceFiles, paths: Sequence[str]) -> Pictures:
    """The pictures among the files of a request, for a model that sees; blocking."""
    urls: list[str] = []
    left: list[str] = []
    room = ALL_BYTES
    for path in filter(is_named_picture, paths):
        content = _content(files, path, min(room, MOST_BYTES)) if len(urls) < MOST else None
        kind = _kind(content) if content else None
        if content is None or kind is None:
            left.append(path)
        else:
            urls.append(f"data:{kind};base64,{b64encode(content).decode()}")
            room -= len(content)
    return Pictures(urls=tuple(urls), note=NOT_SHOWN.format(names=", ".join(left)) if left else "")


def with_pictures(message: dict[str, Any], pictures: Pictures) -> dict[str, Any]:
    """A user message in the OpenAI chat format with pictures behind its text
    (https://platform.openai.com/docs/guides/images-vision)."""
    text = "\n\n".join(filter(None, (message["content"], pictures.note)))
    if not pictures.urls:
        return {**message, "content": text}
    parts = [{"type": "image_url", "image_url": {"url": url}} for url in pictures.urls]
    return {**message, "content": [{"type": "text", "text": text}, *parts]}


def without_pictures(messages: Sequence[dict[str, Any]]) -> tuple[list[dict[str, Any]], int]:
    """The messages for a model that does not see, and how many pictures they had."""
    count = sum(len(message["content"]) - 1 for message in messages if isinstance(message.get("content"), list))
    return [_seen_by_none(message) for message in messages], count


def _seen_by_none(message: dict[str, Any]) -> dict[str, Any]:
    content = message.get("content")
    return {**message, "content": f"{content[0]['text']}\n\n{UNSEEN}"} if isinstance(content, list) else message


def _content(files: WorkspaceFiles, path: str, limit_bytes: int) -> bytes | None:
    """None for what is too large, or gone."""
    try:
        return files.read(path, limit_bytes=limit_bytes)
    except ToolError:
        return None


def _kind(content: bytes) -> str | None:
    """By its first bytes, whatever its name says."""
    if content[:4] == b"RIFF" and content[8:12] == b"WEBP":
        return "image/webp"
    return next((kind for start, kind in _STARTS.items() if content.startswith(start)), None)
