"""What every answer tells browsers, so that nothing a model or a file says can act there."""

from __future__ import annotations

from aiohttp import web

CONTENT_SECURITY_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; "
    "form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
SECURITY = {
    "Content-Security-Policy": CONTENT_SECURITY_POLICY,
    "X-Content-Type-Options": "nosniff",
    # Not no-referrer: with it browsers send `Origin: null` along with forms, also to ourselves (fetch.spec.whatwg.org).
    "Referrer-Policy": "same-origin",
}


async def secure(_: web.Request, response: web.StreamResponse) -> None:
    """A signal for `on_response_prepare`; a handler that set a stricter value keeps it."""
    response.headers["Server"] = "signoff"  # instead of the versions of Python and aiohttp
    for name, value in SECURITY.items():
        response.headers.setdefault(name, value)
