"""The commit count is read from the log, not guessed."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from bench.commits import log_state


@pytest.mark.parametrize("commits", [1, 7])
def test_transactions_are_counted_and_not_their_pages(tmp_path: Path, commits: int) -> None:
    """A transaction of many pages counts once, and one that was rolled back not at all."""
    path = tmp_path / "some.sqlite3"
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.execute("PRAGMA journal_mode = WAL")
        database.execute("CREATE TABLE texts (text TEXT)")
        salts, before = log_state(path)
        for _ in range(commits):
            database.execute("BEGIN")
            database.executemany("INSERT INTO texts VALUES (?)", [("x" * 4000,)] * 20)
            database.execute("COMMIT")
        database.execute("BEGIN")
        database.execute("INSERT INTO texts VALUES ('gone')")
        database.execute("ROLLBACK")
        assert log_state(path) == (salts, before + commits)
