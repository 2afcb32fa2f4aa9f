"""API tokens, login links, browser sessions and the audit."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from datetime import datetime, timedelta

from sqlalchemy import Connection, bindparam, delete, insert, or_, select, update

from agent.ports.access import (
    ApiToken,
    Audit,
    BrowserSession,
    LoginLink,
    NewAudit,
    NewBrowserSession,
    NewToken,
)
from storage.columns import UtcTime
from storage.database import Database
from storage.store.rows import AnyRow
from storage.tables import audit, browser_sessions, login_links, tokens

LINKS_KEPT = timedelta(days=1)
"""How long after its time a link is still told apart from a wrong one."""

TOKEN = select(tokens).where(tokens.c.token_id == bindparam("token"))
TOKENS = select(tokens).where(tokens.c.member == bindparam("who")).order_by(tokens.c.token_id)
NEW_TOKEN = insert(tokens).returning(tokens.c.token_id)
REVOKE = (
    update(tokens)
    .where(tokens.c.token_id == bindparam("token"), tokens.c.revoked_at.is_(None))
    .values(revoked_at=bindparam("now", type_=UtcTime))
    .returning(tokens.c.token_id)
)
LINK = select(login_links).where(login_links.c.sha256 == bindparam("digest"))
OLD_LINKS = delete(login_links).where(login_links.c.expires_at < bindparam("before", type_=UtcTime))
USE_LINK = (
    update(login_links)
    .where(
        login_links.c.sha256 == bindparam("digest"),
        login_links.c.used_at.is_(None),
        login_links.c.expires_at > bindparam("now", type_=UtcTime),
    )
    .values(used_at=bindparam("now", type_=UtcTime))
    .returning(login_links.c.member)
)
BROWSER = select(browser_sessions).where(
    or_(browser_sessions.c.sha256 == bindparam("digest"), browser_sessions.c.previous_sha256 == bindparam("digest"))
)
SAVE_BROWSER = (
    update(browser_sessions)
    .where(browser_sessions.c.browser_id == bindparam("browser"), browser_sessions.c.sha256 == bindparam("replaces"))
    .returning(browser_sessions.c.browser_id)
)
OLD_BROWSERS = delete(browser_sessions).where(browser_sessions.c.seen_at < bindparam("before", type_=UtcTime))
NEWEST_AUDITS = select(audit).order_by(audit.c.audit_id.desc())


@dataclass(frozen=True, slots=True)
class SqlAccess:
    """Implements Access."""

    database: Database

    # --- API tokens ---

    async def save_token(self, token: NewToken, audit: NewAudit) -> ApiToken:
        return await self.database.write(lambda connection: _save_token(connection, token, audit))

    async def token(self, token_id: int) -> ApiToken | None:
        return await self.database.read(lambda connection: _token(connection, token_id))

    async def tokens(self, member: str) -> list[ApiToken]:
        return await self.database.read(
            lambda connection: [_as_token(row) for row in connection.execute(TOKENS, {"who": member})]
        )

    async def revoke_token(self, token_id: int, audit: NewAudit) -> bool:
        return await self.database.write(lambda connection: _revoke_token(connection, token_id, audit))

    # --- browsers ---

    async def save_login_link(self, link: LoginLink) -> None:
        await self.database.write(lambda connection: _save_login_link(connection, link))

    async def login_link(self, sha256: str) -> LoginLink | None:
        return await self.database.read(lambda connection: _login_link(connection, sha256))

    async def log_in(self, link_sha256: str, session: NewBrowserSession, audit: NewAudit) -> bool:
        return await self.database.write(lambda connection: _log_in(connection, link_sha256, session, audit))

    async def browser_session(self, sha256: str) -> BrowserSession | None:
        return await self.database.read(lambda connection: _browser_session(connection, sha256))

    async def save_browser_session(self, session: BrowserSession, replaces: str) -> bool:
        return await self.database.write(lambda connection: _save_browser_session(connection, session, replaces))

    async def log_out(self, browser_id: int, audit: NewAudit) -> None:
        await self.database.write(lambda connection: _log_out(connection, browser_id, audit))

    async def remove_browser_sessions(self, seen_before: datetime) -> None:
        await self.database.write(lambda connection: connection.execute(OLD_BROWSERS, {"before": seen_before}))

    # --- the audit ---

    async def audit(self, row: NewAudit) -> None:
        await self.database.write(lambda connection: record_act(connection, row))

    async def audits(
        self, *, limit: int = 50, before: int | None = None, who: str | None = None, what: str | None = None
    ) -> list[Audit]:
        query = NEWEST_AUDITS.limit(limit)
        if before is not None:
            query = query.where(audit.c.audit_id < before)
        if who is not None:
            query = query.where(audit.c.who == who)
        if what is not None:
            query = query.where(audit.c.what == what)
        return await self.database.read(
            lambda connection: [Audit(**row._asdict()) for row in connection.execute(query)]
        )


def _save_token(connection: Connection, token: NewToken, row: NewAudit) -> ApiToken:
    token_id: int = connection.execute(NEW_TOKEN, asdict(token)).scalar_one()
    record_act(connection, replace(row, subject=str(token_id)))
    return ApiToken(token_id=token_id, **asdict(token))


def _token(connection: Connection, token_id: int) -> ApiToken | None:
    row = connection.execute(TOKEN, {"token": token_id}).first()
    return _as_token(row) if row else None


def _revoke_token(connection: Connection, token_id: int, row: NewAudit) -> bool:
    if connection.execute(REVOKE, {"token": token_id, "now": row.at}).first() is None:
        return False
    record_act(connection, row)
    return True


def _save_login_link(connection: Connection, link: LoginLink) -> None:
    connection.execute(OLD_LINKS, {"before": link.expires_at - LINKS_KEPT})
    connection.execute(insert(login_links), asdict(link))


def _login_link(connection: Connection, sha256: str) -> LoginLink | None:
    row = connection.execute(LINK, {"digest": sha256}).first()
    return LoginLink(**row._asdict()) if row else None


def _log_in(connection: Connection, link_sha256: str, session: NewBrowserSession, row: NewAudit) -> bool:
    if connection.execute(USE_LINK, {"digest": link_sha256, "now": row.at}).first() is None:
        return False
    connection.execute(insert(browser_sessions), asdict(session))
    record_act(connection, row)
    return True


def _browser_session(connection: Connection, sha256: str) -> BrowserSession | None:
    row = connection.execute(BROWSER, {"digest": sha256}).first()
    return BrowserSession(**row._asdict()) if row else None


def _save_browser_session(connection: Connection, session: BrowserSession, replaces: str) -> bool:
    values = asdict(session)
    statement = SAVE_BROWSER.values({name: value for name, value in values.items() if name != "browser_id"})
    found = connection.execute(statement, {"browser": session.browser_id, "replaces": replaces})
    return found.first() is not None


def _log_out(connection: Connection, browser_id: int, row: NewAudit) -> None:
    connection.execute(delete(browser_sessions).where(browser_sessions.c.browser_id == browser_id))
    record_act(connection, row)


def record_act(connection: Connection, row: NewAudit) -> None:
    """Into the audit, in the transaction of what was done."""
    connection.execute(insert(audit), asdict(row))


def _as_token(row: AnyRow) -> ApiToken:
    fields = row._asdict()
    fields["scopes"] = tuple(row.scopes)
    return ApiToken(**fields)
