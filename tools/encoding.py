"""Bytes of a text file as text and back again, in the encoding they came in. Pure."""

from __future__ import annotations

import codecs
from dataclasses import dataclass

from agent.errors import ToolFailed
from tools.workspace.paths import shown

_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # starts with the mark of UTF-16, so it comes first
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_TEXT_CONTROLS = frozenset("\t\n\v\f\r\x1b")
_SAMPLE = 8_192
_HINTS = {".xlsx": " Use analyze_table.", ".xlsm": " Use analyze_table."}


@dataclass(frozen=True, kw_only=True, slots=True)
class Text:
    """A decoded file: its text without the byte order mark, and what is needed to write it back."""

    text: str
    codec: str = "utf-8"
    bom: bytes = b""

    @property
    def encoding(self) -> str:
        """The encoding's name for people."""
        return self.codec.upper() + (" with a byte order mark" if self.bom else "")

    def encode(self, text: str) -> bytes:
        """Another text as bytes in the same encoding."""
        return self.bom + text.encode(self.codec)


def decode(content: bytes, path: str) -> Text:
    """A byte order mark decides, else strict UTF-8, else GB18030; ToolFailed for what is no text."""
    for bom, codec in _BOMS:
        if content.startswith(bom):
            return _decoded(content[len(bom) :], codec, bom, path)
    if not is_binary(content):
        try:
            return Text(text=content.decode())
        except UnicodeDecodeError:
            return _decoded(content, "gb18030", b"", path)
    raise ToolFailed(f"{shown(path)} is a binary file, not text.{_hint(path)}")


def is_binary(content: bytes) -> bool:
    """Whether the beginning is that of no text; UTF-16 and UTF-32 with their mark are text."""
    if any(content.startswith(bom) for bom, _ in _BOMS):
        return False
    return b"\0" in content[:_SAMPLE] or content.startswith(b"%PDF-")


def _decoded(content: bytes, codec: str, bom: bytes, path: str) -> Text:
    try:
        text = content.decode(codec)
    except UnicodeDecodeError:
        what = "damaged UTF text" if bom else "neither UTF-8 nor GB18030 text"
        raise ToolFailed(f"{shown(path)} is {what}.{_hint(path) or ' Save it as UTF-8 first.'}") from None
    if codec == "gb18030" and any(character < " " and character not in _TEXT_CONTROLS for character in text):
        raise ToolFailed(f"{shown(path)} is a binary file, not text.{_hint(path)}")  # almost any bytes pass as GB18030
    return Text(text=text, codec=codec, bom=bom)


def _hint(path: str) -> str:
    return next((hint for ending, hint in _HINTS.items() if path.lower().endswith(ending)), "")
