"""What chat platforms need: files to be fetched, a request's own message, parts sent, live messages, leases by name.

Revision ID: 0004
"""

from __future__ import annotations

from alembic import op
from sqlalchemy import BigInteger, Column, ForeignKey, Integer, MetaData, Table, Text

revision = "0004"
down_revision = "0003"
Id = BigInteger().with_variant(Integer(), "sqlite")
metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
        "pk": "pk_%(table_name)s",
    }
)
Table("tasks", metadata, Column("task_id", Id, primary_key=True))

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
    Column("until", BigInteger, nullable=False),
)


def upgrade() -> None:
    metadata.create_all(op.get_bind(), tables=[live_messages, leases])
    op.add_column("tasks", Column("message_id", Text))
    op.add_column("tasks", Column("awaited_files", Text, nullable=False, server_default="[]"))
    op.add_column("deliveries", Column("parts", Text, nullable=False, server_default="[]"))
