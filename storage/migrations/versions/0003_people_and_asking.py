"""People, rules per call, edits and votes; a row for every event.

Revision ID: 0003
"""

from __future__ import annotations

import json
from collections import defaultdict

from alembic import op
from sqlalchemy import BigInteger, Column, Integer, MetaData, Table, Text, text

revision = "0003"
down_revision = "0002"
metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
        "pk": "pk_%(table_name)s",
    }
)

received = Table(
    "received",
    metadata,
    Column("dedup_key", Text, primary_key=True),
    Column("kind", Text, nullable=False),
    Column("outcome", Text, nullable=False),
    Column("who", Text, nullable=False),
    Column("received_at", BigInteger, nullable=False, index=True),
    Column("task_id", BigInteger),
    Column("session_id", BigInteger),
    Column("fingerprint", Text),
    Column("said", Text, nullable=False, server_default=""),
    sqlite_with_rowid=False,
)

persons = Table(
    "persons",
    metadata,
    Column("folded", Text, primary_key=True),
    Column("name", Text, nullable=False),
    Column("roles", Text, nullable=False),
    Column("timezone", Text),
    Column("budget_day_usd", BigInteger),
    Column("added_at", BigInteger, nullable=False),
    Column("added_by", Text, nullable=False),
)

links = Table(
    "links",
    metadata,
    Column("identity", Text, primary_key=True),
    Column("member", Text, nullable=False, index=True),
    Column("shown_name", Text, nullable=False),
    Column("linked_at", BigInteger, nullable=False),
    Column("linked_by", Text, nullable=False),
)

pairings = Table(
    "pairings",
    metadata,
    Column("identity", Text, primary_key=True),
    Column("shown_name", Text, nullable=False),
    Column("code", Text, nullable=False, unique=True),
    Column("asked_at", BigInteger, nullable=False),
    Column("expires_at", BigInteger, nullable=False),
)


def upgrade() -> None:
    # Made anew, because SQLite cannot make a column nullable.
    op.execute("CREATE TABLE received_before AS SELECT * FROM received")
    op.drop_table("received")
    metadata.create_all(op.get_bind())
    _carry_events()
    _add_columns()
    _carry_cards()
    op.drop_column("approvals", "approvers")
    op.drop_column("deliveries", "buttons")


def _carry_events() -> None:
    """All there was were requests. Of a task that is gone nobody knows who asked."""
    op.execute(
        "INSERT INTO received (dedup_key, kind, outcome, who, received_at, task_id, session_id, fingerprint)"
        " SELECT known.dedup_key, CASE WHEN tasks.origin = 'webhook' THEN 'webhook' ELSE 'message' END, 'task',"
        " coalesce(tasks.requester, ''), known.received_at, known.task_id, known.session_id, known.fingerprint"
        " FROM received_before AS known LEFT JOIN tasks ON tasks.task_id = known.task_id"
    )
    op.drop_table("received_before")


def _add_columns() -> None:
    for of_call in (Column("rule", Text), Column("original", Text), Column("edited_by", Text), _list("votes")):
        op.add_column("calls", of_call)
    for of_card in (_list("shown_at"), _list("kept")):
        op.add_column("approvals", of_card)
    op.add_column("approvals", Column("revision", Integer, nullable=False, server_default="1"))
    op.add_column("approvals", Column("remind_at", BigInteger))
    still_open = text("status = 'open'")
    op.create_index(
        "ix_approvals_remind", "approvals", ["remind_at"], sqlite_where=still_open, postgresql_where=still_open
    )


def _list(name: str) -> Column[str]:
    return Column(name, Text, nullable=False, server_default="[]")


def _carry_cards() -> None:
    """Who could decide a card can decide each of its calls; it was shown where it was sent."""
    connection = op.get_bind()
    connection.exec_driver_sql(
        """UPDATE calls SET rule = (
            SELECT '{"groups":[' || approvals.approvers || '],"other":false,"quorum":1,"expires_seconds":'
                || ((approvals.expires_at - approvals.created_at) / 1000000) || ',"always_ask":false}'
            FROM approvals WHERE approvals.approval_id = calls.approval_id
        )"""
    )
    op.execute("UPDATE approvals SET remind_at = created_at + (expires_at - created_at) * 3 / 4 WHERE status = 'open'")
    places: dict[int, list[dict[str, str | None]]] = defaultdict(list)
    for card, channel, conversation, thread in connection.execute(
        text(
            "SELECT approval_id, channel, conversation, thread FROM deliveries"
            " WHERE kind = 'approval' AND approval_id IS NOT NULL ORDER BY delivery_id"
        )
    ):
        places[card].append({"channel": channel, "conversation": conversation, "thread": thread or None})
    if places:
        connection.execute(
            text("UPDATE approvals SET shown_at = :shown_at WHERE approval_id = :card"),
            [{"card": card, "shown_at": json.dumps(shown)} for card, shown in places.items()],
        )
