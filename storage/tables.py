"""The tables. A change here needs a revision below `migrations/`; a test compares the two."""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    ColumnElement,
    ForeignKey,
    FromClause,
    Index,
    Integer,
    MetaData,
    Table,
    Text,
    TextClause,
    UniqueConstraint,
    false,
    literal_column,
    text,
)

from storage.columns import Id, Json, Prose, Usd, UtcTime

metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
        "pk": "pk_%(table_name)s",
    }
)


def status_in(table: FromClause, *statuses: str) -> ColumnElement[bool]:
    """A condition that an engine recognises as a partial index's own: written out, not bound."""
    if len(statuses) == 1:
        return table.c.status == literal_column(f"'{statuses[0]}'")
    return table.c.status.in_([literal_column(f"'{status}'") for status in statuses])


def _of_task() -> Column[int]:
    return Column("task_id", Id, ForeignKey("tasks.task_id", ondelete="CASCADE"), nullable=False)


def _partial(
    name: str, *columns: Column[object], where: ColumnElement[bool] | TextClause, unique: bool = False
) -> Index:
    # storage/schema.py adds PostgreSQL's: named here, every start on SQLite would load that dialect, 0.02 s.
    return Index(name, *columns, unique=unique, sqlite_where=where)


received = Table(
    "received",
    metadata,
    Column("dedup_key", Text, primary_key=True),
    Column("kind", Text, nullable=False),
    Column("outcome", Text, nullable=False),
    Column("who", Text, nullable=False),
    Column("received_at", UtcTime, nullable=False, index=True),
    # No foreign keys: a key stays known for 30 days, also when its task is gone.
    Column("task_id", BigInteger),
    Column("session_id", BigInteger),
    Column("fingerprint", Text),
    Column("said", Prose, nullable=False, server_default=""),
    sqlite_with_rowid=False,
)

sessions = Table(
    "sessions",
    metadata,
    Column("session_id", Id, primary_key=True),
    Column("channel", Text, nullable=False),
    Column("conversation", Text, nullable=False),
    # Empty is the conversation itself: NULLs would not be unique.
    Column("thread", Text, nullable=False, server_default=""),
    Column("workspace", Text, nullable=False),
    Column("title", Prose, nullable=False, server_default=""),
    Column("model", Text),
    Column("archived", Boolean, nullable=False, server_default=false()),
    Column("whole_from", Integer, nullable=False, server_default="1"),
    Column("summary_from", Integer, nullable=False, server_default="1"),
    Column("last_seq", Integer, nullable=False),
    sqlite_autoincrement=True,
)
LIVE = text("archived IS false")
_partial("uq_sessions_address", sessions.c.channel, sessions.c.conversation, sessions.c.thread, where=LIVE, unique=True)

tasks = Table(
    "tasks",
    metadata,
    Column("task_id", Id, primary_key=True),
    Column("session_id", Id, ForeignKey("sessions.session_id"), nullable=False),
    Column("seq", Integer, nullable=False),
    Column("origin", Text, nullable=False),
    Column("requester", Text, nullable=False),
    Column("reply_to", Json, nullable=False),
    Column("workspace", Text, nullable=False),
    Column("prompt", Prose, nullable=False),
    Column("files", Json, nullable=False),
    Column("status", Text, nullable=False),
    Column("created_at", UtcTime, nullable=False),
    Column("run_after", UtcTime, nullable=False),
    Column("epoch", Integer, nullable=False, server_default="0"),
    Column("lease_owner", Text),
    Column("lease_until", UtcTime),
    Column("crashes", Integer, nullable=False, server_default="0"),
    # The length of the journal, so that the next seq needs no query.
    Column("entries", Integer, nullable=False, server_default="0"),
    Column("entries_at_crash", Integer),
    Column("cancel_requested", Boolean, nullable=False, server_default=false()),
    Column("follow_up_of", BigInteger),
    Column("model", Text),
    Column("error_code", Text),
    Column("error_text", Prose),
    Column("answer", Prose),
    Column("finished_at", UtcTime),
    Column("message_id", Text),
    Column("awaited_files", Json, nullable=False, server_default="[]"),
    UniqueConstraint("session_id", "seq"),
    sqlite_autoincrement=True,
)
QUEUED = status_in(tasks, "queued")
RUNNING = status_in(tasks, "running")
OPEN = status_in(tasks, "queued", "running", "waiting_approval")
ACTIVE = status_in(tasks, "running", "waiting_approval")
_partial("uq_tasks_active", tasks.c.session_id, where=ACTIVE, unique=True)
_partial("ix_tasks_open", tasks.c.session_id, tasks.c.seq, where=OPEN)
_partial("ix_tasks_queued", tasks.c.task_id, where=QUEUED)
_partial("ix_tasks_running", tasks.c.lease_until, where=RUNNING)

journal = Table(
    "journal",
    metadata,
    _of_task(),
    Column("seq", Integer, nullable=False),
    Column("kind", Text, nullable=False),
    # JSON, but read as text: one damaged row must not keep the others from being read.
    Column("data", Text, nullable=False),
    Column("at", UtcTime, nullable=False),
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
    Column("arguments", Prose, nullable=False),
    Column("sha256", Text, nullable=False),
    Column("status", Text, nullable=False),
    Column("approval_id", BigInteger),
    Column("item", Integer),
    Column("joined_to", Text),
    Column("targets", Json, nullable=False),
    Column("preview", Prose, nullable=False),
    Column("title", Prose, nullable=False),
    Column("reason", Prose, nullable=False),
    Column("decided_by", Text),
    Column("rule", Json),
    Column("original", Prose),
    Column("edited_by", Text),
    Column("votes", Json, nullable=False, server_default="[]"),
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
    Column("call_ids", Json, nullable=False),
    Column("note", Prose, nullable=False),
    Column("created_at", UtcTime, nullable=False),
    Column("expires_at", UtcTime, nullable=False),
    Column("decided_by", Text),
    Column("decided_at", UtcTime),
    Column("shown_at", Json, nullable=False, server_default="[]"),
    # Items as this card showed them, once a newer card shows their calls anew.
    Column("kept", Json, nullable=False, server_default="[]"),
    Column("revision", Integer, nullable=False, server_default="1"),
    Column("remind_at", UtcTime),
    Index(None, "task_id"),
    sqlite_autoincrement=True,
)
UNDECIDED = status_in(approvals, "open")
_partial("ix_approvals_open", approvals.c.expires_at, where=UNDECIDED)
_partial("ix_approvals_remind", approvals.c.remind_at, where=UNDECIDED)

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
    Column("created_at", UtcTime, nullable=False),
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
    Column("text", Prose, nullable=False),
    Column("approval_id", BigInteger),
    Column("dedup_key", Text, nullable=False, unique=True),
    Column("status", Text, nullable=False),
    Column("attempts", Integer, nullable=False, server_default="0"),
    Column("next_attempt_at", UtcTime, nullable=False),
    Column("expires_at", UtcTime, nullable=False),
    Column("leased_until", UtcTime),
    Column("sent_as", Text),
    Column("parts", Json, nullable=False, server_default="[]"),
    sqlite_autoincrement=True,
)
PENDING = status_in(deliveries, "pending")
_partial(
    "ix_deliveries_pending",
    deliveries.c.channel,
    deliveries.c.conversation,
    deliveries.c.thread,
    deliveries.c.delivery_id,
    where=PENDING,
)
_partial("ix_deliveries_card", deliveries.c.approval_id, where=deliveries.c.approval_id.is_not(None))

live_messages = Table(
    "live_messages",
    metadata,
    Column("task_id", Id, ForeignKey("tasks.task_id", ondelete="CASCADE"), primary_key=True),
    Column("channel", Text, primary_key=True),
    Column("conversation", Text, primary_key=True),
    Column("thread", Text, primary_key=True),
    Column("sent_as", Text, nullable=False),
)

leases = Table(
    "leases",
    metadata,
    Column("name", Text, primary_key=True),
    Column("owner", Text, nullable=False),
    Column("until", UtcTime, nullable=False),
)

usage = Table(
    "usage",
    metadata,
    Column("usage_id", Id, primary_key=True),
    _of_task(),
    Column("requester", Text, nullable=False),
    Column("at", UtcTime, nullable=False),
    Column("model", Text, nullable=False),
    Column("kind", Text, nullable=False),
    Column("input_tokens", Integer, nullable=False),
    Column("output_tokens", Integer, nullable=False),
    Column("cached_tokens", Integer, nullable=False),
    Column("cost_usd", Usd),
    Index(None, "task_id"),
    # Holds all that a day's budget needs, so that it is read from the index alone.
    Index("ix_usage_spent", "at", "requester", "cost_usd"),
)

hooks = Table(
    "hooks",
    metadata,
    Column("name", Text, primary_key=True),
    Column("token_sha256", Text, nullable=False),
    Column("workspace", Text),
    Column("deliver", Json, nullable=False),
    Column("rate_per_minute", Integer),
    Column("callback_secret", Text),
)

tokens = Table(
    "tokens",
    metadata,
    Column("token_id", Id, primary_key=True),
    Column("member", Text, nullable=False, index=True),
    Column("label", Prose, nullable=False),
    Column("sha256", Text, nullable=False),
    Column("scopes", Json, nullable=False),
    Column("created_at", UtcTime, nullable=False),
    Column("expires_at", UtcTime),
    Column("revoked_at", UtcTime),
    sqlite_autoincrement=True,
)

login_links = Table(
    "login_links",
    metadata,
    Column("sha256", Text, primary_key=True),
    Column("member", Text, nullable=False),
    Column("expires_at", UtcTime, nullable=False),
    Column("used_at", UtcTime),
)

browser_sessions = Table(
    "browser_sessions",
    metadata,
    Column("browser_id", Id, primary_key=True),
    Column("member", Text, nullable=False),
    Column("sha256", Text, nullable=False, unique=True),
    Column("csrf_token", Text, nullable=False),
    Column("seen_at", UtcTime, nullable=False),
    Column("rotated_at", UtcTime, nullable=False),
    Column("previous_sha256", Text, unique=True),
    Column("previous_until", UtcTime),
    sqlite_autoincrement=True,
)

audit = Table(
    "audit",
    metadata,
    Column("audit_id", Id, primary_key=True),
    Column("at", UtcTime, nullable=False),
    Column("who", Text, nullable=False),
    Column("what", Text, nullable=False),
    Column("subject", Prose, nullable=False),
    Column("detail", Json, nullable=False),
    Column("way", Text, nullable=False),
    Column("client", Text, nullable=False),
    sqlite_autoincrement=True,
)

persons = Table(
    "persons",
    metadata,
    # The name without upper and lower case, folded here: the engines fold letters beyond ASCII differently.
    Column("folded", Text, primary_key=True),
    Column("name", Text, nullable=False),
    Column("roles", Json, nullable=False),
    Column("timezone", Text),
    Column("budget_day_usd", Usd),
    Column("added_at", UtcTime, nullable=False),
    Column("added_by", Text, nullable=False),
)

links = Table(
    "links",
    metadata,
    Column("identity", Text, primary_key=True),
    Column("member", Text, nullable=False, index=True),
    Column("shown_name", Prose, nullable=False),
    Column("linked_at", UtcTime, nullable=False),
    Column("linked_by", Text, nullable=False),
)

pairings = Table(
    "pairings",
    metadata,
    Column("identity", Text, primary_key=True),
    Column("shown_name", Prose, nullable=False),
    Column("code", Text, nullable=False, unique=True),
    Column("asked_at", UtcTime, nullable=False),
    Column("expires_at", UtcTime, nullable=False),
)
