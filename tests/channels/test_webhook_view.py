"""What a hook's body may be."""

from __future__ import annotations

import pytest
from aiohttp import web

from agent.json_body import parsed
from channels.webhook_view import HookRequest


@pytest.mark.parametrize(
    "body",
    [b'{"text": "A", "text": "B"}', b'{"text": "A", "files": [{"name": "a", "name": "b", "content_base64": ""}]}'],
)
def test_a_key_that_stands_twice_is_refused(body: bytes) -> None:
    """400: it is unclear which value is meant, and two readers could take different ones."""
    with pytest.raises(web.HTTPBadRequest) as refused:
        parsed(HookRequest, body)
    assert "stands there twice" in (refused.value.text or "")
