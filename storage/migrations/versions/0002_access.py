"""Who may come in: API tokens, login links, browser sessions; and the audit of what people did.

Revision ID: 0002
"""

from __future__ import annotations

from alembic import op
from sqlalchemy import BigInteger, Column, Integer, MetaData, Table, Text

revision = "0002"
down_revision = "0001"
Id = BigInteger().with_variant(Integer(), "sqlite")
metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
        "pk": "pk_%(table_name)s",
    }
)

tokens = Table(
    "tokens",
    metadata,
    Column("token_id", Id, primary_key=True),
    Column("member", Text, nullable=False, index=True),
    Column("label", Text, nullable=False),
    Column("sha256", Text, nullable=False),
    Column("scopes", Text, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("expires_at", BigInteger),
    Column("revoked_at", BigInteger),
    sqlite_autoincrement=True,
)

login_links = Table(
    "login_links",
    metadata,
    Column("sha256", Text, primary_key=True),
    Column("member", Text, nullable=False),
    Column("expires_at", BigInteger, nullable=False),
    Column("used_at", BigInteger),
)

browser_sessions = Table(
    "browser_sessions",
    metadata,
    Column("browser_id", Id, primary_key=True),
    Column("member", Text, nullable=False),
    Column("sha256", Text, nullable=False, unique=True),
    Column("csrf_token", Text, nullable=False),
    Column("seen_at", BigInteger, nullable=False),
    Column("rotated_at", BigInteger, nullable=False),
    Column("previous_sha256", Text, unique=True),
    Column("previous_until", BigInteger),
    sqlite_autoincrement=True,
)

audit = Table(
    "audit",
    metadata,
    Column("audit_id", Id, primary_key=True),
    Column("at", BigInteger, nullable=False),
    Column("who", Text, nullable=False),
    Column("what", Text, nullable=False),
    Column("subject", Text, nullable=False),
    Column("detail", Text, nullable=False),
    Column("way", Text, nullable=False),
    Column("client", Text, nullable=False),
    sqlite_autoincrement=True,
)


def upgrade() -> None:
    metadata.create_all(op.get_bind())
