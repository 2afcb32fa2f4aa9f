"""A key that stands twice is found wherever it is."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.json_body import RepeatedKey, refuse_repeated


@pytest.mark.parametrize(
    "text",
    [
        '{"a": 1, "a": 1}',
        '{"a": 1, "\\u0061": 2}',
        '[{"x": {"a": 1, "b": 2, "a": 3}}]',
        '{"\\ud800": 1, "\\ud800": 2}',
        f'{{"{"k" * 999}": 1, "{"k" * 999}": 2}}',
    ],
)
def test_a_repeated_key_is_refused(text: str) -> None:
    """Also deep inside, also written another way; the message is short and can be sent as JSON."""
    with pytest.raises(RepeatedKey, match="stands there twice") as refused:
        refuse_repeated(text.encode())
    assert len(str(refused.value).encode()) < 200


VALUES = st.recursive(
    st.none() | st.integers() | st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)
)


@given(VALUES)
def test_what_json_writes_is_fine(value: object) -> None:
    """No object that was written by a serialiser is refused."""
    refuse_repeated(json.dumps(value).encode())


@pytest.mark.parametrize("body", [b"", b"{", b"\xff", b"\xef\xbb\xbf{}", b"[" * 100_000, b"9" * 5_000])
def test_what_is_no_json_is_for_the_parser(body: bytes) -> None:
    """It says what is wrong better."""
    refuse_repeated(body)
