"""Who may come in and what they did: API tokens, login links, browser sessions, the audit."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, Protocol

Act = Literal[
    "login", "login_refused", "logout", "token_made", "token_revoked", "file_uploaded", "memory_written",
    "approval_decided", "approval_edited", "approval_asked_again", "press_refused", "person_added", "person_changed",
    "person_removed",
    "identity_linked", "identity_unlinked", "pairing_admitted", "pairing_refused", "pairing_rejected",
]  # fmt: skip
"""What the audit tells about."""


@dataclass(frozen=True, kw_only=True, slots=True)
class NewToken:
    """An API token to be made. Only the SHA-256 of its secret is stored; `expires_at` None never ends."""

    member: str
    label: str
    sha256: str
    scopes: tuple[str, ...]
    created_at: datetime
    expires_at: datetime | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class ApiToken(NewToken):
    """An API token."""

    token_id: int
    revoked_at: datetime | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class LoginLink:
    """A link that signs a member in once. Only the SHA-256 of its secret is stored."""

    sha256: str
    member: str
    expires_at: datetime
    used_at: datetime | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class NewBrowserSession:
    """A browser that signed in; the SHA-256 is that of its cookie's secret."""

    member: str
    sha256: str
    csrf_token: str
    seen_at: datetime
    rotated_at: datetime


@dataclass(frozen=True, kw_only=True, slots=True)
class BrowserSession(NewBrowserSession):
    """A browser session. After a rotation the previous secret holds until `previous_until`; None means until the
    browser shows that it got the new one."""

    browser_id: int
    previous_sha256: str | None = None
    previous_until: datetime | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class NewAudit:
    """An act to be recorded: who, what, to what. `detail` holds no content. `way` and `client` (an IP address) say
    where it came from."""

    at: datetime
    who: str
    what: Act
    subject: str = ""
    detail: dict[str, Any] = field(default_factory=dict)
    way: str = ""
    client: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Audit(NewAudit):
    """A row of the audit."""

    audit_id: int


class Access(Protocol):
    """The rows of access. Where a change comes with an audit row, both are committed or neither."""

    async def save_token(self, token: NewToken, audit: NewAudit) -> ApiToken:
        """Make an API token; the token's id becomes the audit row's subject."""
        ...

    async def token(self, token_id: int) -> ApiToken | None:
        """One API token, revoked and expired ones too."""
        ...

    async def tokens(self, member: str) -> list[ApiToken]:
        """A member's API tokens, oldest first."""
        ...

    async def revoke_token(self, token_id: int, audit: NewAudit) -> bool:
        """End a token; False when there is none or it was revoked before."""
        ...

    async def save_login_link(self, link: LoginLink) -> None:
        """Make a login link; links long past their time are removed."""
        ...

    async def login_link(self, sha256: str) -> LoginLink | None:
        """One login link, used and expired ones too."""
        ...

    async def log_in(self, link_sha256: str, session: NewBrowserSession, audit: NewAudit) -> bool:
        """Use up a link and make a browser session; False when somebody used the link before."""
        ...

    async def browser_session(self, sha256: str) -> BrowserSession | None:
        """The session whose current or previous secret has this SHA-256."""
        ...

    async def save_browser_session(self, session: BrowserSession, replaces: str) -> bool:
        """Store a changed session; False when its current SHA-256 is not `replaces` any more."""
        ...

    async def log_out(self, browser_id: int, audit: NewAudit) -> None:
        """Remove a browser session."""
        ...

    async def remove_browser_sessions(self, seen_before: datetime) -> None:
        """Remove those that were not seen since a time."""
        ...

    async def audit(self, row: NewAudit) -> None:
        """Record an act."""
        ...

    async def audits(
        self, *, limit: int = 50, before: int | None = None, who: str | None = None, what: str | None = None
    ) -> list[Audit]:
        """The newest rows first; the next page goes on `before` the last id."""
        ...
