"""The first schema.

Revision ID: 0001
"""

from __future__ import annotations

from alembic import op
from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    Table,
    Text,
    UniqueConstraint,
    false,
    text,
)

revision = "0001"
down_revision = None
Id = BigInteger().with_variant(Integer(), "sqlite")
metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
        "pk": "pk_%(table_name)s",
    }
)


def _of_task() -> Column[int]:
    return Column("task_id", Id, ForeignKey("tasks.task_id", ondelete="CASCADE"), nullable=False)


def _partial(name: str, *columns: Column[object], where: str, unique: bool = False) -> Index:
    return Index(name, *columns, unique=unique, sqlite_where=text(where), postgresql_where=text(where))


received = Table(
    "received",
    metadata,
    Column("dedup_key", Text, primary_key=True),
    Column("fingerprint", Text),
    Column("task_id", BigInteger, nullable=False),
    Column("session_id", BigInteger, nullable=False),
    Column("received_at", BigInteger, nullable=False, index=True),
    sqlite_with_rowid=False,
)

sessions = Table(
    "sessions",
    metadata,
    Column("session_id", Id, primary_key=True),
    Column("channel", Text, nullable=False),
    Column("conversation", Text, nullable=False),
    Column("thread", Text, nullable=False, server_default=""),
    Column("workspace", Text, nullable=False),
    Column("title", Text, nullable=False, server_default=""),
    Column("model", Text),
    Column("archived", Boolean, nullable=False, server_default=false()),
    Column("whole_from", Integer, nullable=False, server_default="1"),
    Column("summary_from", Integer, nullable=False, server_default="1"),
    Column("last_seq", Integer, nullable=False),
    sqlite_autoincrement=True,
)
_partial(
    "uq_sessions_address",
    sessions.c.channel,
    sessions.c.conversation,
    sessions.c.thread,
    where="archived IS false",
    unique=True,
)

tasks = Table(
    "tasks",
    metadata,
    Column("task_id", Id, primary_key=True),
    Column("session_id", Id, ForeignKey("sessions.session_id"), nullable=False),
    Column("seq", Integer, nullable=False),
    Column("origin", Text, nullable=False),
    Column("requester", Text, nullable=False),
    Column("reply_to", Text, nullable=False),
    Column("workspace", Text, nullable=False),
    Column("prompt", Text, nullable=False),
    Column("files", Text, nullable=False),
    Column("status", Text, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("run_after", BigInteger, nullable=False),
    Column("epoch", Integer, nullable=False, server_default="0"),
    Column("lease_owner", Text),
    Column("lease_until", BigInteger),
    Column("crashes", Integer, nullable=False, server_default="0"),
    Column("entries", Integer, nullable=False, server_default="0"),
    Column("entries_at_crash", Integer),
    Column("cancel_requested", Boolean, nullable=False, server_default=false()),
    Column("follow_up_of", BigInteger),
    Column("model", Text),
    Column("error_code", Text),
    Column("error_text", Text),
    Column("answer", Text),
    Column("finished_at", BigInteger),
    UniqueConstraint("session_id", "seq"),
    sqlite_autoincrement=True,
)
_partial("uq_tasks_active", tasks.c.session_id, where="status IN ('running', 'waiting_approval')", unique=True)
_partial("ix_tasks_open", tasks.c.session_id, tasks.c.seq, where="status IN ('queued', 'running', 'waiting_approval')")
_partial("ix_tasks_queued", tasks.c.task_id, where="status = 'queued'")
_partial("ix_tasks_running", tasks.c.lease_until, where="status = 'running'")

journal = Table(
    "journal",
    metadata,
    _of_task(),
    Column("seq", Integer, nullable=False),
    Column("kind", Text, nullable=False),
    Column("data", Text, nullable=False),
    Column("at", BigInteger, nullable=False),
    UniqueConstraint("task_id", "seq"),
)

calls = Table(
    "calls",
    metadata,
    _of_task(),
    Column("call_id", Text, nullable=False),
    Column("turn", Integer, nullable=False),
    Column("position", Integer, nullable=False),
    Column("tool", Text, nullable=False),
    Column("capability", Text, nullable=False),
    Column("arguments", Text, nullable=False),
    Column("sha256", Text, nullable=False),
    Column("status", Text, nullable=False),
    Column("approval_id", BigInteger),
    Column("item", Integer),
    Column("joined_to", Text),
    Column("targets", Text, nullable=False),
    Column("preview", Text, nullable=False),
    Column("title", Text, nullable=False),
    Column("reason", Text, nullable=False),
    Column("decided_by", Text),
    UniqueConstraint("task_id", "call_id"),
)

approvals = Table(
    "approvals",
    metadata,
    Column("approval_id", Id, primary_key=True),
    _of_task(),
    Column("token", Text, nullable=False, unique=True),
    Column("kind", Text, nullable=False),
    Column("status", Text, nullable=False),
    Column("approvers", Text, nullable=False),
    Column("call_ids", Text, nullable=False),
    Column("note", Text, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("expires_at", BigInteger, nullable=False),
    Column("decided_by", Text),
    Column("decided_at", BigInteger),
    Index(None, "task_id"),
    sqlite_autoincrement=True,
)
_partial("ix_approvals_open", approvals.c.expires_at, where="status = 'open'")

artifacts = Table(
    "artifacts",
    metadata,
    Column("artifact_id", Id, primary_key=True),
    _of_task(),
    Column("session_id", Id, nullable=False),
    Column("name", Text, nullable=False),
    Column("path", Text, nullable=False),
    Column("media_type", Text, nullable=False),
    Column("size_bytes", BigInteger, nullable=False),
    Column("sha256", Text, nullable=False),
    Column("version", Integer, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    UniqueConstraint("session_id", "path", "version"),
    Index(None, "task_id"),
    sqlite_autoincrement=True,
)

deliveries = Table(
    "deliveries",
    metadata,
    Column("delivery_id", Id, primary_key=True),
    Column("task_id", Id, ForeignKey("tasks.task_id", ondelete="CASCADE"), index=True),
    Column("kind", Text, nullable=False),
    Column("channel", Text, nullable=False),
    Column("conversation", Text, nullable=False),
    Column("thread", Text, nullable=False),
    Column("text", Text, nullable=False),
    Column("buttons", Text, nullable=False),
    Column("approval_id", BigInteger),
    Column("dedup_key", Text, nullable=False, unique=True),
    Column("status", Text, nullable=False),
    Column("attempts", Integer, nullable=False, server_default="0"),
    Column("next_attempt_at", BigInteger, nullable=False),
    Column("expires_at", BigInteger, nullable=False),
    Column("leased_until", BigInteger),
    Column("sent_as", Text),
    sqlite_autoincrement=True,
)
_partial(
    "ix_deliveries_pending",
    deliveries.c.channel,
    deliveries.c.conversation,
    deliveries.c.thread,
    deliveries.c.delivery_id,
    where="status = 'pending'",
)
_partial("ix_deliveries_card", deliveries.c.approval_id, where="approval_id IS NOT NULL")

usage = Table(
    "usage",
    metadata,
    Column("usage_id", Id, primary_key=True),
    _of_task(),
    Column("requester", Text, nullable=False),
    Column("at", BigInteger, nullable=False),
    Column("model", Text, nullable=False),
    Column("kind", Text, nullable=False),
    Column("input_tokens", Integer, nullable=False),
    Column("output_tokens", Integer, nullable=False),
    Column("cached_tokens", Integer, nullable=False),
    Column("cost_usd", BigInteger),
    Index(None, "task_id"),
    Index("ix_usage_spent", "at", "requester", "cost_usd"),
)

hooks = Table(
    "hooks",
    metadata,
    Column("name", Text, primary_key=True),
    Column("token_sha256", Text, nullable=False),
    Column("workspace", Text),
    Column("deliver", Text, nullable=False),
    Column("rate_per_minute", Integer),
    Column("callback_secret", Text),
)


def upgrade() -> None:
    metadata.create_all(op.get_bind())
