"""What database drivers raise, as errors of the product."""

from __future__ import annotations

from sqlalchemy.exc import DBAPIError, IntegrityError, SQLAlchemyError

from agent.errors import DiskFull, StorageError

MEANINGS = (
    # SQLite: parts of its messages
    ("database is locked", "The database is locked by another program; end that program or try again."),
    ("database or disk is full", "The disk is full: nothing was stored; make room and try again."),
    ("readonly database", "The database cannot be written: check the owner and mode of the data directory."),
    ("unable to open database file", "The database cannot be opened: check the path, owner and mode of its directory."),
    ("disk I/O error", "The disk reports an error: nothing was stored; check the disk and its free space."),
    ("disk image is malformed", "The database file is damaged; restore a backup."),
    ("file is not a database", "The database file is not one of SQLite; check storage.url and bot.data_dir."),
    # What PostgreSQL says is told by its SQLSTATE.
    ("28P01", "PostgreSQL refuses the password; check storage.url."),
    ("28000", "PostgreSQL refuses the login; check storage.url and pg_hba.conf."),
    ("3D000", "PostgreSQL has no such database; create it or check storage.url."),
    ("25006", "PostgreSQL is read-only (a standby?); check storage.url."),
    ("42501", "PostgreSQL denies access to the tables; grant this user the rights of their owner."),
    ("53100", "PostgreSQL's disk is full: nothing was stored; make room and try again."),
    ("53300", "PostgreSQL has no connection left; raise max_connections or run fewer processes."),
    ("57P03", "PostgreSQL is starting up or shutting down; try again."),
)


FULL = {"database or disk is full", "53100"}


class Clash(StorageError):
    """Two writers met on one unique row and this one lost; nothing of it was stored."""


def translated(error: Exception) -> StorageError:
    """The error to raise instead of a driver's."""
    if isinstance(error, IntegrityError):
        return Clash(f"The database refused a row: {error.orig}.")
    origin = (error.orig or error) if isinstance(error, DBAPIError) else error
    said = f"{getattr(origin, 'sqlstate', None) or ''} {origin}"
    for sign, meaning in MEANINGS:
        if sign in said:
            return DiskFull(meaning) if sign in FULL else StorageError(meaning)
    if isinstance(error, OSError):
        return StorageError(f"The database cannot be reached ({error}); check storage.url and that it runs.")
    return StorageError(f"The database failed: {origin}.")


FOREIGN = (SQLAlchemyError, OSError)
"""What is translated; anything else is a mistake of our own and stays as it is."""
