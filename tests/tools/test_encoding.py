"""Text files are read in the encoding they have, and what is no text is said to be none."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.errors import ToolFailed
from tools.encoding import decode, is_binary

HEADERS = "供应商,金额,日期\r\n"


@pytest.mark.parametrize(
    ("content", "encoding"),
    [
        (HEADERS.encode(), "UTF-8"),
        (HEADERS.encode("gb18030"), "GB18030"),
        (HEADERS.encode("utf-8-sig"), "UTF-8 with a byte order mark"),
        (b"\xff\xfe" + HEADERS.encode("utf-16-le"), "UTF-16-LE with a byte order mark"),
        (b"\xfe\xff" + HEADERS.encode("utf-16-be"), "UTF-16-BE with a byte order mark"),
        (b"\xff\xfe\0\0" + HEADERS.encode("utf-32-le"), "UTF-32-LE with a byte order mark"),
    ],
)
def test_the_encoding_is_found_and_kept(content: bytes, encoding: str) -> None:
    """A byte order mark decides, else strict UTF-8, else GB18030; the text goes back into the same bytes."""
    found = decode(content, "a.csv")
    assert (found.text, found.encoding) == (HEADERS, encoding)
    assert found.encode(found.text) == content
    assert not is_binary(content)


@pytest.mark.parametrize(
    ("content", "path", "why"),
    [
        (b"PK\x03\x04\0\0\0\x08", "a.xlsx", "a.xlsx is a binary file, not text. Use analyze_table"),
        (b"%PDF-1.7\n%abc", "a.pdf", "a.pdf is a binary file, not text"),
        (b"\x89PNG\r\n\x1a\n\0", "a.png", "binary"),
        (b"\xb0\xa1\x01\x02", "a.dat", "binary"),
        (b"\xff\xfe\x00", "a.txt", "damaged UTF text"),
        (b"caf\xe9\n", "a.txt", "neither UTF-8 nor GB18030 text. Save it as UTF-8 first"),
    ],
)
def test_what_is_no_text_is_refused_with_a_hint(content: bytes, path: str, why: str) -> None:
    """The message says what the file is and which tool reads it."""
    with pytest.raises(ToolFailed, match=why):
        decode(content, path)


@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0\ufeff")))
def test_every_utf8_text_survives(text: str) -> None:
    """Decoding and encoding again changes no byte."""
    content = text.encode()
    if not content.startswith(b"%PDF-"):
        assert decode(content, "a").encode(text) == content
