"""Ways in: API tokens, one-time login links, and the browser sessions they start."""

from __future__ import annotations

import hmac
import re
import secrets
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from agent.domain import OPERATOR, Member
from agent.errors import BadInput, Conflict, NotAuthentic, NotFound
from agent.ids import ID
from agent.ports.access import ApiToken, BrowserSession, LoginLink, NewAudit, NewBrowserSession, NewToken
from bot.api import audit
from bot.api.viewer import SCOPES, Scope, Viewer, allowed, viewer
from bot.services import Services
from channels.webhook import token_sha256

LINK_SECONDS = 600
IDLE = timedelta(days=30)
"""A browser that was not seen for so long has to sign in again."""
ROTATION = timedelta(days=1)
"""How old a cookie's secret gets before the browser is handed a new one."""
OVERLAP = timedelta(minutes=1)
"""How long the old secret holds beside the new one: a page sends several requests at once."""
SEEN = timedelta(hours=1)
"""How exactly is known when a browser was last seen, so that not every request is a write."""

_TOKEN = re.compile(rf"signoff_({ID})_([A-Za-z0-9_-]{{43}})")
_NOBODY_SHA256 = "0" * 64
_NOT_LOGGED_IN = "Log in, or send an API token as `Authorization: Bearer TOKEN`."


@dataclass(frozen=True, kw_only=True, slots=True)
class Browser:
    """A signed-in browser. `secret` is a new one that its cookie must get, if any."""

    viewer: Viewer
    browser_id: int
    csrf_token: str
    secret: str | None = None


# --- API tokens -------------------------------------------------------------------------------------------------------


async def make_token(
    services: Services, by: Viewer, name: str, scopes: Iterable[Scope], *, label: str = "", seconds: int | None = None
) -> tuple[ApiToken, str]:
    """A new token of a member, and its text, which is shown this once. BadInput for a scope beyond their roles."""
    by.require_role("admin")
    member = await services.people.member(name)
    wanted = sorted(set(scopes))
    if beyond := [scope for scope in wanted if scope not in allowed(member)]:
        raise BadInput(f"The roles of {name} do not allow {', '.join(beyond)}.", field="scopes")
    secret, now = secrets.token_urlsafe(32), services.clock.now()
    new = NewToken(
        member=name,
        label=label,
        sha256=token_sha256(secret),
        scopes=tuple(wanted),
        created_at=now,
        expires_at=None if seconds is None else now + timedelta(seconds=seconds),
    )
    row = audit.row(services, by, "token_made", member=name, label=label, scopes=wanted)
    made = await services.access.save_token(new, row)
    return made, f"signoff_{made.token_id}_{secret}"


async def list_tokens(services: Services, by: Viewer, name: str) -> list[ApiToken]:
    """A member's tokens, revoked and expired ones too; also of somebody who was removed."""
    by.require_role("admin")
    return await services.access.tokens(name)


async def revoke_token(services: Services, by: Viewer, token_id: int) -> ApiToken:
    """End a token at once; NotFound, Conflict when it was revoked before."""
    by.require_role("admin")
    found = await services.access.token(token_id)
    if found is None:
        raise NotFound(f"There is no token {token_id}; `signoff people tokens NAME` lists them.")
    row = audit.row(services, by, "token_revoked", str(token_id), member=found.member)
    if not await services.access.revoke_token(token_id, row):
        raise Conflict(f"Token {token_id} was revoked before.")
    return found


async def by_token(services: Services, text: str, client: str) -> Viewer:
    """Whoever holds this API token; NotAuthentic, with one answer for all that can be wrong."""
    parts = _TOKEN.fullmatch(text)
    token = await services.access.token(int(parts[1])) if parts else None
    expected = token.sha256 if token else _NOBODY_SHA256
    known = hmac.compare_digest(token_sha256(parts[2] if parts else ""), expected)
    if token is None or not known or not token_is_live(token, services.clock.now()):
        raise NotAuthentic(_NOT_LOGGED_IN)
    scopes = SCOPES & frozenset(token.scopes)
    return viewer(await _known(services, token.member), services.workspaces, way="api", scopes=scopes, client=client)


def token_is_live(token: ApiToken, now: datetime) -> bool:
    """Whether it is neither revoked nor expired."""
    return token.revoked_at is None and (token.expires_at is None or token.expires_at > now)


# --- login ------------------------------------------------------------------------------------------------------------


async def login_path(services: Services, name: str = OPERATOR.name) -> str:
    """The path of a new link that signs a member in, once and within ten minutes; NotFound."""
    member = await services.people.member(name)
    secret = secrets.token_urlsafe(32)
    expires_at = services.clock.now() + timedelta(seconds=LINK_SECONDS)
    await services.access.save_login_link(
        LoginLink(sha256=token_sha256(secret), member=member.name, expires_at=expires_at)
    )
    return f"/login/{secret}"


async def linked_member(services: Services, secret: str, client: str) -> Member:
    """Whom a login link signs in; NotFound for a wrong one, Conflict for one that is expired or used."""
    link = await services.access.login_link(token_sha256(secret))
    if link is None:
        raise NotFound("This login link is not known. Look whether all of it was copied.")
    now = services.clock.now()
    reason = "used" if link.used_at is not None else "expired" if link.expires_at <= now else None
    if reason is None:
        try:
            return await services.people.member(link.member)
        except NotFound:
            reason = "removed"
    row = NewAudit(at=now, who=link.member, what="login_refused", detail={"link": reason}, way="console", client=client)
    await services.access.audit(row)
    raise Conflict(_REFUSALS[reason], code=f"link_{reason}")


async def log_in(services: Services, secret: str, client: str, *, replaces: str = "") -> str:
    """Use a login link up; the secret for the browser's cookie. Errors as of `linked_member`.

    The session of the cookie that the browser `replaces` ends.
    """
    member = await linked_member(services, secret, client)
    now, cookie = services.clock.now(), secrets.token_urlsafe(32)
    session = NewBrowserSession(
        member=member.name,
        sha256=token_sha256(cookie),
        csrf_token=secrets.token_urlsafe(32),
        seen_at=now,
        rotated_at=now,
    )
    row = NewAudit(at=now, who=member.name, what="login", way="console", client=client)
    if not await services.access.log_in(token_sha256(secret), session, row):
        raise Conflict(_REFUSALS["used"], code="link_used")
    if replaced := await services.access.browser_session(token_sha256(replaces)):
        await services.access.log_out(replaced.browser_id, replace(row, who=replaced.member, what="logout"))
    await services.access.remove_browser_sessions(now - IDLE)
    return cookie


async def log_out(services: Services, browser: Browser) -> None:
    """End a browser's session."""
    await services.access.log_out(browser.browser_id, audit.row(services, browser.viewer, "logout"))


async def by_cookie(services: Services, secret: str, client: str) -> Browser:
    """The browser with this cookie; NotAuthentic when it has to sign in."""
    digest, now = token_sha256(secret), services.clock.now()
    session, seen = await _signed_in(services, digest, now, client)
    fresh = secrets.token_urlsafe(32)
    changed = renewed(session, digest, token_sha256(fresh), now)
    saved = changed is not None and await services.access.save_browser_session(changed, replaces=session.sha256)
    rotated = saved and changed is not None and changed.sha256 != session.sha256
    return Browser(
        viewer=seen,
        browser_id=session.browser_id,
        csrf_token=session.csrf_token,
        secret=fresh if rotated else None,
    )


async def looked_at(services: Services, secret: str, client: str) -> Viewer:
    """The viewer in the browser with this cookie, which this does not count as having been seen; NotAuthentic."""
    return (await _signed_in(services, token_sha256(secret), services.clock.now(), client))[1]


async def _signed_in(services: Services, digest: str, now: datetime, client: str) -> tuple[BrowserSession, Viewer]:
    session = await services.access.browser_session(digest)
    if session is None or not browser_is_live(session, digest, now):
        raise NotAuthentic(_NOT_LOGGED_IN)
    member = await _known(services, session.member)
    return session, viewer(member, services.workspaces, way="console", client=client)


def browser_is_live(session: BrowserSession, digest: str, now: datetime) -> bool:
    """Whether a session lets in the browser that showed the secret with this SHA-256."""
    replaced = digest != session.sha256 and session.previous_until is not None and session.previous_until <= now
    return not replaced and session.seen_at + IDLE > now


def renewed(session: BrowserSession, digest: str, fresh_sha256: str, now: datetime) -> BrowserSession | None:
    """A session as it is after a request with the secret of `digest`; None when nothing needs to be stored.

    Once a day the secret changes. The old one holds until the browser has shown the new one, because the answer that
    carried it may have been lost; then both hold for a minute, because of requests that were under way.
    """
    seen = replace(session, seen_at=now)
    if digest != session.sha256:
        lost = session.previous_until is None and session.rotated_at + OVERLAP <= now
        return replace(seen, sha256=fresh_sha256, rotated_at=now) if lost else None
    if session.rotated_at + ROTATION <= now:
        return replace(seen, sha256=fresh_sha256, rotated_at=now, previous_sha256=session.sha256, previous_until=None)
    if session.previous_sha256 is not None and session.previous_until is None:
        return replace(seen, previous_until=now + OVERLAP)
    return seen if session.seen_at + SEEN <= now else None


_REFUSALS = {
    "used": "This login link was used before; each signs in one browser, once.",
    "expired": "This login link has expired; links hold for ten minutes.",
    "removed": "This login link is for somebody who was removed.",
}


async def _known(services: Services, name: str) -> Member:
    """Whoever was removed is a stranger at once, whatever they hold."""
    try:
        return await services.people.member(name)
    except NotFound:
        raise NotAuthentic(_NOT_LOGGED_IN) from None
