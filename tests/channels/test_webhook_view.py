"""What a hook's body may be."""

from __future__ import annotations

import pytest
from aiohttp import web

from channels.webhook_view import parse


@pytest.mark.parametrize(
    "body",
    [b'{"text": "A", "text": "B"}', b'{"text": "A", "files": [{"name": "a", "name": "b", "content_base64": ""}]}'],
)
def test_a_key_that_stands_twice_is_refused(body: bytes) -> None:
    """400: it is unclear which value is meant, and two readers could take different ones."""
    with pytest.raises(web.HTTPBadRequest) as refused:
        parse(body)
    assert "stands there twice" in (refused.value.text or "")
