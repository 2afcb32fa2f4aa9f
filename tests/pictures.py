"""Small pictures as their kinds begin, padded to any size."""

from __future__ import annotations

PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 24
JPEG = b"\xff\xd8\xff\xe0" + b"\0" * 24
GIF = b"GIF89a" + b"\0" * 24
WEBP = b"RIFF\x20\0\0\0WEBP" + b"\0" * 24


def of_size(size_bytes: int) -> bytes:
    """A PNG of so many bytes."""
    return PNG.ljust(size_bytes, b"\0")
